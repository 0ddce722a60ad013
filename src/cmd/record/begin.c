#include "cmd/record/begin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/proc.h"
#include "cmd/record/record.h"
#include "cmd/record/unrecorded.h"
#include "collect/ranks/groups.h"
#include "collect/session/session.h"

int af_begin_rank(const struct af_record_options *o, char **words, struct af_recorded *done,
                  struct af_err *err)
{
	const struct af_launch *l = &done->launch;
	const struct af_rank_selection *s = &o->selection;

	af_job_find(&done->job);
	af_launch_find(&done->launch, &done->job);
	int rc = af_rank_select(s, &done->job, l, err);
	if (rc < 0)
		return rc;
	if (!rc && !words[0])
		return af_fail_plain(err, -EINVAL,
		                     "--ranks, --hosts and --every need a program to run");
	if (rc && s->hosts && !strcmp(s->hosts, "one") && !l->has_node && !l->has_local)
		fprintf(stderr,
		        "aflame %s: --hosts one: the launcher does not tell which ranks "
		        "share a host, so rank 0 alone is recorded\n",
		        done->who);
	return rc ? 0 : af_unrecorded_become(words, err);
}

static void note_groups(struct af_recording *r, const struct af_record_options *o,
                        const struct af_recorded *done)
{
	const char *given = o->groups ? o->groups : getenv(AF_GROUPS_ENV);
	struct af_rank_groups groups;
	struct af_err err = {0};
	char key[AF_GROUP_KEY + 8];

	if (af_rank_groups_find(&groups, given, &done->job, &done->launch, &err))
		fprintf(stderr, "aflame %s: recorded without the groups: %s\n", done->who, err.msg);
	for (uint32_t i = 0; i < groups.nr; i++) {
		snprintf(key, sizeof key, "group.%s", groups.all[i].key);
		af_session_note(r, key, "%s", groups.all[i].value);
	}
}

/* Facts of the job, for whoever reads the traces of all its ranks. */
static void note_rank(struct af_recording *r, const struct af_record_options *o,
                      const struct af_recorded *done)
{
	char selection[512];

	af_session_note(r, "rank", "%s", done->job.rank);
	af_session_note(r, "job", "%s", done->job.key);
	if (done->launch.has_size)
		af_session_note(r, "ranks.size", "%llu", (unsigned long long)done->launch.size);
	if (done->job.restarts)
		af_session_note(r, "ranks.restarts", "%llu",
		                (unsigned long long)done->job.restarts);
	af_rank_selection_text(&o->selection, selection, sizeof selection);
	if (*selection)
		af_session_note(r, "ranks.selection", "%s", selection);
}

/*
 * Which machine it was, and its clocks: CLOCK_MONOTONIC is one on all that runs since a boot, but
 * for offsets of time namespaces ("monotonic SECONDS NANOSECONDS", time_namespaces(7)).
 */
static void note_machine(struct af_recording *r)
{
	char boot[AF_BOOT_ID_SIZE], offsets[256];
	long long s, ns;
	struct utsname u;

	uname(&u);
	af_session_note(r, "host", "%s, %s %s, %ld CPUs", u.nodename, u.sysname, u.release,
	                sysconf(_SC_NPROCESSORS_ONLN));
	af_boot_id(boot);
	if (*boot)
		af_session_note(r, "boot_id", "%s", boot);
	if (af_proc_read(0, "timens_offsets", offsets, sizeof offsets) &&
	    sscanf(offsets, "monotonic %lld %lld", &s, &ns) == 2)
		af_session_note(r, "timens", "monotonic %lld %lld", s, ns);
}

void af_begin_notes(struct af_recording *r, const struct af_record_options *o,
                    const struct af_recorded *done, const char *sampler, int nr_words, char **words)
{
	char cmd[1024] = "";

	for (int i = 0; i < nr_words; i++) {
		size_t used = strlen(cmd);
		snprintf(cmd + used, sizeof cmd - used, "%s%s", i ? " " : "", words[i]);
	}
	af_session_note(r, "cmd", "%s", o->command ? o->command : cmd);
	note_machine(r);
	af_session_note(r, "aflame", "%s", AFLAME_VERSION);
	if (done->job.is_rank)
		note_rank(r, o, done);
	note_groups(r, o, done);
	af_session_note(r, "collector.cpu", "%s", sampler);
	af_session_note(r, "sample.period_ns", "%llu",
	                (unsigned long long)r->control->sample_period_ns);
	if (r->options->flags & AF_SESSION_WALL)
		af_session_note(r, "sample.clock", "wall");
	if (r->options->flags & AF_SESSION_OPENCL)
		af_session_note(r, "collector.opencl", "recorded by a loader layer");
	if (r->options->launches_every > 1)
		af_session_note(r, "launches", "one in %u, by chance, as --launches asked",
		                r->options->launches_every);
	if (*r->options->functions_less)
		af_session_note(r, "functions.less", "%s", r->options->functions_less);
	if (*r->options->launch_metrics_why)
		af_session_note(r, "ze.metrics", "launches are not measured: %s",
		                r->options->launch_metrics_why);
	if (o->alloc)
		af_session_note(r, "collector.alloc", "malloc and its relatives");
	const char *other = getenv("CUDA_INJECTION64_PATH"), *outer = getenv(AF_SESSION_ENV);
	/* The variables of this recording stand in place of those of the outer one. */
	if (outer && *outer)
		af_session_note(r, "outer",
		                "another recording, which has no calls of this one's processes "
		                "but those seen from outside");
	else if (r->options->flags & AF_SESSION_CUDA && other && *other)
		af_session_note(r, "collector.cuda", "in place of CUDA_INJECTION64_PATH=%s", other);
}
