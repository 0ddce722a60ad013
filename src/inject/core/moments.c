#include "inject/core/moments.h"

#include <errno.h>
#include <stddef.h>

static void nothing(void)
{
}

static void nothing_begins(bool exec)
{
	(void)exec;
}

static int not_run(void (*leave)(void *arg), void *arg)
{
	(void)leave;
	(void)arg;
	return -ENOMEM;
}

static void nothing_ends(struct af_thread *t, const struct af_regs *regs)
{
	(void)t;
	(void)regs;
}

static const struct af_moments none = {
    .starts = nothing,
    .forked = nothing,
    .process_begins = nothing_begins,
    .process_begun = nothing,
    .forbidden = nothing,
    .run = not_run,
    .thread_ends = nothing_ends,
    .thread_over = nothing,
};

static const struct af_moments *now = &none;

void af_moments_set(const struct af_moments *moments)
{
	now = moments;
}

const struct af_moments *af_moments(void)
{
	return now;
}
