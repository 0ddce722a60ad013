/* attributes TRACE: are works held for samples of devices, and in how many launch groups? */
#include <stdio.h>

#include "analyse/pass/pass.h"
#include "base/err.h"

static void attributes_finish(void *state, const struct af_world *w, struct af_results *out)
{
	(void)state;
	(void)w;
	if (out->attribution)
		printf("%u launch groups\n", out->attribution->nr_launch_groups);
	else
		printf("nothing is held\n");
}

int main(int argc, char **argv)
{
	static const struct af_pass_ops pass = {
	    .name = "attributes",
	    .question = "is work held for samples?",
	    .answers = AF_ANSWER_OWN,
	    .attributes = AF_ANSWER_OWN,
	    .state_size = 1,
	    .finish = attributes_finish,
	};
	static const struct af_pass_ops *const passes[] = {&pass, NULL};
	const struct af_query query = {.answers = AF_ANSWER_OWN};
	struct af_results r;
	struct af_err err = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: attributes TRACE\n");
		return 2;
	}
	int rc = af_analyse(argv[1], passes, &query, &r, NULL, NULL, &err);
	if (rc)
		fprintf(stderr, "%s\n", err.msg);
	af_results_close(&r);
	return rc ? 1 : 0;
}
