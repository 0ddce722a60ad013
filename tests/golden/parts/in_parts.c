/*
 * in_parts TRACE: the names of the passes that read the trace in parts, each by itself, as the
 * environment divides it (AFLAME_PART_BYTES).
 */
#include <stdio.h>

#include "analyse/pass/pass.h"
#include "analyse/tally/tally.h"
#include "base/err.h"

static bool in_parts(const struct af_pass_ops *pass, const char *dir)
{
	const struct af_pass_ops *const passes[] = {pass, NULL};
	struct af_reading *kept = NULL;
	const struct af_analyse_how how = {.kept = &kept};
	struct af_query query = AF_QUERY_ALL;
	struct af_tally calls = {0};
	struct af_results r;
	struct af_err err = {0};
	bool is;

	query.answers = pass->answers;
	query.own = &calls;
	if (af_analyse_how(dir, passes, &query, &r, &how, &err))
		printf("%s: %s\n", pass->name, err.msg);
	is = kept != NULL;
	af_reading_close(kept);
	af_results_close(&r);
	af_tally_free(&calls);
	return is;
}

int main(int argc, char **argv)
{
	static const struct af_pass_ops *const all[] = {
	    &af_pass_flame,  &af_pass_wakers, &af_pass_blocked, &af_pass_devices,
	    &af_pass_calls,  &af_pass_mpi,    &af_pass_tally,   &af_pass_coverage,
	    &af_pass_memory, &af_pass_idle,   &af_pass_who,     &af_pass_run,
	    &af_pass_phases, &af_pass_usage,  &af_pass_counters};

	if (argc != 2) {
		fprintf(stderr, "usage: in_parts TRACE\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (in_parts(all[i], argv[1]))
			printf("%s\n", all[i]->name);
	return 0;
}
