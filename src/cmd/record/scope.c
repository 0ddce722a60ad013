#include "cmd/record/scope.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "cmd/functions/functions.h"
#include "cmd/functions/heads.h"
#include "cmd/record/choose.h"
#include "cmd/record/record.h"
#include "collect/bpf/bpf.h"
#include "collect/probe/collect.h"
#include "collect/probe/cpu.h"
#include "collect/session/session.h"

/* PID[,PID…] */
static int pids_parse(const char *list, struct af_watch_options *watch, struct af_err *err)
{
	uint32_t *pids = NULL, nr = 0, cap = 0;

	for (const char *p = list; *p;) {
		char *end;
		unsigned long pid = strtoul(p, &end, 10);
		if (end == p || (*end && *end != ',') || !pid)
			return af_fail_plain(err, -EINVAL,
			                     "-p takes process ids separated by commas, not \"%s\"",
			                     list);
		if (pid > INT_MAX || (kill((pid_t)pid, 0) && errno == ESRCH))
			return af_fail_plain(err, -ESRCH, "no process %lu: it may have ended", pid);
		AF_GROW(pids, nr, cap);
		pids[nr++] = (uint32_t)pid;
		p = *end ? end + 1 : end;
	}
	watch->pids = pids;
	watch->nr_pids = nr;
	if (!nr)
		return af_fail_plain(err, -EINVAL, "-p needs a process id");
	return 0;
}

static int words_check(const struct af_record_options *o, int nr_words, struct af_err *err)
{
	if (o->pids && (o->all || nr_words))
		return af_fail_plain(err, -EINVAL,
		                     "-p records processes that run: %s does not go with it",
		                     o->all ? "-a" : "a program to start");
	if (o->min_block_ns && !o->off_cpu)
		return af_fail_plain(err, -EINVAL, "--min-block belongs to --off-cpu");
	return 0;
}

static bool calls_twice(const struct af_record_options *o)
{
	return o->cuda_calls && !strcmp(o->cuda_calls, "twice");
}

/* The option that requires the kernel's part; NULL: none does. */
static const char *needs_bpf(const struct af_record_options *o)
{
	if (o->pids)
		return "recording a running process";
	if (o->all)
		return "recording all processes";
	if (calls_twice(o))
		return "--cuda-calls=twice";
	if (o->uprobes.nr)
		return "--uprobe";
	return o->off_cpu ? "--off-cpu" : NULL;
}

/* Inside processes the sampler `perf` does the user's part, with whole stacks, where it works. */
static void sample_by_bpf(const struct af_record_options *o, struct af_session_options *s,
                          const char *words, char *why, size_t size)
{
	char inside[256] = "";
	struct af_err none = {0};
	bool perf = !o->pids && !af_cpu_perf_probe(inside, sizeof inside, &none);

	s->flags |= AF_SESSION_KERNEL;
	s->cpu_mode = perf ? AF_CPU_PERF : AF_CPU_OFF;
	s->sample_period_ns = 1000000000u / o->rate;
	snprintf(why, size, "bpf: %s, %llu a second", words, (unsigned long long)o->rate);
}

/* They live as long as the program, which records once. */
static struct af_functions functions;

static int functions_choose(const struct af_record_options *o, const char *program,
                            struct af_watch_options *watch, struct af_err *err)
{
	const struct af_functions_of of = {program, watch->pids, watch->nr_pids};
	int rc = af_functions_find(&functions, o->uprobes.items, o->uprobes.nr, &of, err);

	watch->functions = functions.all;
	watch->nr_functions = functions.nr;
	return rc;
}

/* May calls be recorded inside of the program, where the kernel's part does not work? */
static bool functions_go_inside(const struct af_record_options *o)
{
	return o->uprobes.nr && !o->pids && !o->all && !o->off_cpu && !calls_twice(o) &&
	       strcmp(af_cpu_sampler_of(o), "bpf") != 0;
}

static int functions_inside(struct af_session_options *s, struct af_err *err)
{
	static struct af_probe probes[AF_PROBES_MOST + AF_PROBES_EXITS_MOST];
	uint32_t nr = 0;
	int rc = af_functions_heads(&functions, probes, &nr, err);

	if (rc)
		return af_while(err, rc, "--uprobe");
	af_functions_less_text(&functions, s->functions_less, sizeof s->functions_less);
	s->flags |= AF_SESSION_PROBES;
	s->probes = probes;
	s->probed = functions.all;
	s->nr_probes = nr;
	s->nr_probed = functions.nr;
	s->watch.functions = NULL;
	s->watch.nr_functions = 0;
	return 0;
}

int af_scope_choose(const struct af_record_options *o, int nr_words, char **command,
                    struct af_session_options *s, struct af_scope *scope, char *why, size_t size,
                    struct af_err *err)
{
	const char *needed = needs_bpf(o);
	const char *sample = af_cpu_sampler_of(o);
	bool query = !strcmp(sample, "bpf"), automatic = !strcmp(sample, "auto");
	char words[256] = "";
	int rc = words_check(o, nr_words, err);

	*scope = (struct af_scope){0};
	if (!rc && o->pids)
		rc = pids_parse(o->pids, &s->watch, err);
	if (!rc && o->uprobes.nr)
		rc = functions_choose(o, nr_words ? command[0] : NULL, &s->watch, err);
	af_functions_less_text(&functions, s->functions_less, sizeof s->functions_less);
	if (rc || (!needed && !query && !automatic))
		return rc;
	struct af_watch_options watch = s->watch;
	/* Nothing else samples what we did not start. */
	scope->bpf = query || automatic || ((o->pids || o->all) && strcmp(sample, "none") != 0);
	watch.samples = scope->bpf;
	watch.all = o->all;
	watch.min_block_ns = o->min_block_ns;
	watch.calls_twice = calls_twice(o);
	if (o->off_cpu)
		watch.off_cpu =
		    !strcmp(o->off_cpu, "wakers") ? AF_OFF_CPU_WAKERS : AF_OFF_CPU_BLOCKED;
	rc = af_bpf_prepare(&watch, o->rate ? 1000000000u / o->rate : 0, words, sizeof words, err);
	if (rc)
		scope->bpf = false;
	if (rc == -EINVAL) /* the kernel's word, not the user's */
		rc = -ENOTSUP;
	if (rc && functions_go_inside(o)) {
		*err = (struct af_err){0};
		return functions_inside(s, err);
	}
	if (rc && needed)
		return af_while(err, rc, "%s needs the collector bpf", needed);
	if (rc && query)
		return af_while(err, rc, "--sample bpf does not work here");
	if (rc) {
		snprintf(scope->left_out, sizeof scope->left_out, "%s", err->msg);
		*err = (struct af_err){0};
		return 0;
	}
	s->watch = watch;
	s->watcher = &af_bpf_watcher;
	if (!scope->bpf)
		return 0;
	if (!o->rate || o->rate > 20000)
		return af_fail_plain(err, -EINVAL, "--rate takes 1 to 20000 samples a second");
	sample_by_bpf(o, s, words, why, size);
	return 0;
}
