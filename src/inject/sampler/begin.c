/*
 * Where libaflame.so begins in a process and where it ends: recording starts, and learns what the
 * samplers do meanwhile.
 */
#include <errno.h>

#include "inject/alloc/alloc.h"
#include "inject/api/open.h"
#include "inject/core/inject.h"
#include "inject/core/moments.h"
#include "inject/core/translator.h"
#include "inject/nvtx/ranges.h"
#include "inject/probe/probe.h"
#include "inject/python/python.h"
#include "inject/sampler/exec.h"
#include "inject/sampler/rest.h"
#include "inject/sampler/sampler.h"
#include "inject/sampler/signals.h"
#include "inject/sampler/stack.h"
#include "inject/sampler/usage.h"

static void starts(void)
{
	af_usage_process_begins();
	af_signals_start();
	if (af_translator_runs_others())
		af_exec_hide_us();
}

static void process_begun(void)
{
	af_api_start();
	af_sampler_start();
}

static void thread_ends(struct af_thread_context *t, const struct af_regs *regs)
{
	af_api_thread_ends(t);
	af_probe_thread_ends(t);
	af_usage_thread_ends(t);
	af_rest_write(t, regs);
	af_regions_thread_ends(t);
}

static const struct af_moments moments = {
    .starts = starts,
    .forked = af_stack_after_fork,
    .process_begins = af_rest_process_begins,
    .process_begun = process_begun,
    .flush = af_probe_flush,
    .forbidden = af_sampler_timer_stop,
    .run = af_stack_run,
    .thread_ends = thread_ends,
    .thread_over = af_stack_thread_ends,
};

/* Called by the program of `aflame prof` when all is ready for what is to be recorded. */
__attribute__((visibility("default"))) void aflame_begin(void);
void aflame_begin(void)
{
	struct af_session *s = af_inject_session();

	af_rest_begins();
	if (s)
		atomic_store(&s->has_begun, 1);
}

__attribute__((constructor)) static void begin(void)
{
	int saved = errno;

	af_alloc_start();
	af_moments_set(&moments);
	af_inject_start();
	af_alloc_started();
	af_probe_start();
	errno = saved;
}

/*
 * The entry point of LD_PRELOAD; a program that ends by _exit or a signal is seen by the recorder.
 */
__attribute__((destructor)) static void end(void)
{
	const char *python = af_python_status();

	if (!af_inject_may_call())
		return;
	if (*python)
		af_inject_note("python", python);
	af_usage_process_ends();
}
