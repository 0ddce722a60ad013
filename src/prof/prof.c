/*
 * libaflame-prof's functions (aflame/prof.h): one profile of a process at a time, whose calls run
 * one after the other in the library's own thread.
 */
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "inject/core/inject.h"
#include "inject/core/moments.h"
#include "inject/nvtx/ranges.h"
#include "inject/sampler/masks.h"
#include "inject/sampler/signals.h"
#include "inject/sampler/stack.h"
#include "prof/private.h"

enum { PERIOD_LEAST_US = 50, PERIOD_MOST_US = 10000000, DEPTH_LEAST = 8, DEPTH_MOST = 512 };

/* The open profile. One of a parent process is not ours. */
static struct {
	pthread_mutex_t lock;
	struct af_prof *profile;
	bool has_moments;
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint32_t af_prof_library_version(void)
{
	return AF_PROF_LIBRARY_MAJOR << 16 | AF_PROF_LIBRARY_MINOR;
}

static void thread_ends(struct af_thread_context *t, const struct af_regs *regs)
{
	(void)regs;
	af_regions_thread_ends(t);
}

static const struct af_moments moments = {
    .starts = af_signals_start,
    .forked = af_stack_after_fork,
    .run = af_stack_run,
    .thread_ends = thread_ends,
    .thread_over = af_stack_thread_ends,
};

/* A child gets a copy in which nothing is half changed. */
static void fork_begins(void)
{
	pthread_mutex_lock(&opened.lock);
	if (opened.profile)
		pthread_mutex_lock(&opened.profile->events.lock);
}

static void fork_ends(void)
{
	if (opened.profile)
		pthread_mutex_unlock(&opened.profile->events.lock);
	pthread_mutex_unlock(&opened.lock);
}

/* The profile is the parent's: it stays in the child's memory. */
static void fork_child(void)
{
	struct af_prof *p = opened.profile;

	pthread_mutex_init(&opened.lock, NULL);
	opened.profile = NULL;
	if (!p)
		return;
	prof_events_forked(&p->events);
	close(p->shm_fd);
	close(p->dir_fd);
	if (p->stream.fd >= 0)
		close(p->stream.fd);
}

static int find_recorder(struct dl_phdr_info *info, size_t size, void *found)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	*(bool *)found |= !strcmp(slash ? slash + 1 : info->dlpi_name, "libaflame.so");
	return 0;
}

/* `aflame record` has loaded its library: two samplers would hear each other's signals. */
static bool is_recorded(void)
{
	const char *session = getenv(AF_SESSION_ENV);
	bool found = false;

	if (session && *session)
		dl_iterate_phdr(find_recorder, &found);
	return found;
}

static bool is_thread(int tid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/task/%d", tid);
	return tid > 0 && !access(path, F_OK);
}

static int options_check(const struct af_prof_options *o, struct af_err *err)
{
	if (o->period_us && (o->period_us < PERIOD_LEAST_US || o->period_us > PERIOD_MOST_US))
		return af_fail_plain(err, -EINVAL, "the period is %u us: it may be %d to %d us",
		                     o->period_us, PERIOD_LEAST_US, PERIOD_MOST_US);
	if (o->depth && (o->depth < DEPTH_LEAST || o->depth > DEPTH_MOST))
		return af_fail_plain(err, -EINVAL, "the depth is %u frames: it may be %d to %d",
		                     o->depth, DEPTH_LEAST, DEPTH_MOST);
	if (o->tid && !is_thread(o->tid))
		return af_fail_plain(err, -ESRCH, "this process has no thread %d", o->tid);
	return 0;
}

static int options_take(struct af_prof *p, const struct af_prof_options *options,
                        struct af_err *err)
{
	size_t size = options ? options->size : 0;

	if (options && !size)
		return af_fail_plain(err, -EINVAL,
		                     "options.size is 0: set it to sizeof(struct af_prof_options)");
	memcpy(&p->o, options ? options : &p->o, size < sizeof p->o ? size : sizeof p->o);
	return options_check(&p->o, err);
}

static void profile_poll(void *p)
{
	prof_record_poll(p);
}

static void profile_free(struct af_prof *p)
{
	prof_worker_close(&p->worker);
	prof_record_close(p);
	prof_symbols_close(&p->symbols);
	if (p->has_results)
		af_results_close(&p->results);
	free(p);
}

static int profile_begin(struct af_prof *p, struct af_err *err)
{
	static bool watches_forks;

	if (!opened.has_moments)
		af_moments_set(&moments);
	opened.has_moments = true;
	if (!watches_forks)
		watches_forks = !pthread_atfork(fork_begins, fork_ends, fork_child);
	p->events.period_ns = (p->o.period_us ? p->o.period_us : 1000) * 1000ull;
	p->events.only = p->o.tid;
	prof_events_choose(&p->events);
	int rc = prof_record_open(p, err);
	if (rc)
		return rc;
	af_signals_sample(prof_events_signal(&p->events));
	af_masks_adopt();
	rc = prof_worker_open(&p->worker, profile_poll, p);
	if (rc)
		return af_fail(err, rc, "cannot make a thread");
	p->events.own = p->worker.tid;
	return 0;
}

static int profile_open(struct af_prof **ret, const struct af_prof_options *options,
                        struct af_err *err)
{
	if (opened.profile)
		return af_fail_plain(err, -EBUSY,
		                     "this process has an open profile: close it first");
	if (is_recorded())
		return af_fail_plain(err, -EBUSY, "`aflame record` samples this process already");
	struct af_prof *p = af_xcalloc(1, sizeof *p);
	p->pid = getpid();
	p->shm_fd = p->dir_fd = p->stream.fd = -1;
	p->drain.shm_fd = p->drain.dir_fd = -1;
	prof_symbols_open(&p->symbols);
	int rc = options_take(p, options, err);
	if (!rc)
		rc = profile_begin(p, err);
	if (rc) {
		profile_free(p);
		return rc;
	}
	opened.profile = *ret = p;
	return 0;
}

int af_prof_open(struct af_prof **p, const struct af_prof_options *options, struct af_err *err)
{
	*p = NULL;
	pthread_mutex_lock(&opened.lock);
	int rc = profile_open(p, options, err);
	pthread_mutex_unlock(&opened.lock);
	return rc;
}

/* A call of the library, made in the worker. */
struct call {
	struct af_prof *p;
	struct af_err *err;
	int rc;
	const char *dir;
	const struct af_prof_format *format;
	const struct af_prof_sink *sink;
	struct af_prof_counters *counters;
};

static int call_make(struct call *call, void (*run)(void *arg))
{
	if (call->p->pid != getpid())
		return af_fail_plain(call->err, -ECHILD,
		                     "this profile is of the process that forked this one");
	prof_worker_run(&call->p->worker, run, call);
	return call->rc;
}

static void run_start(void *arg)
{
	struct call *c = arg;

	c->rc = c->p->started ? af_fail_plain(c->err, -EALREADY, "sampling is started already")
	                      : prof_record_start(c->p, c->err);
}

int af_prof_start(struct af_prof *p, struct af_err *err)
{
	struct call call = {.p = p, .err = err};

	return call_make(&call, run_start);
}

static void run_collect(void *arg)
{
	struct call *c = arg;

	c->rc = prof_record_collect(c->p, c->err);
	if (!c->rc)
		c->rc = prof_analyse(c->p, c->err);
}

int af_prof_collect(struct af_prof *p, struct af_err *err)
{
	struct call call = {.p = p, .err = err};

	return call_make(&call, run_collect);
}

static void run_stop(void *arg)
{
	struct call *c = arg;

	if (!c->p->started) {
		c->rc = af_fail_plain(c->err, -EALREADY, "sampling is not started");
		return;
	}
	prof_record_stop(c->p);
	run_collect(c);
}

int af_prof_stop(struct af_prof *p, struct af_err *err)
{
	struct call call = {.p = p, .err = err};

	return call_make(&call, run_stop);
}

int af_prof_symbol(struct af_prof *p, const struct af_prof_symbol *symbol, struct af_err *err)
{
	return prof_symbols_add(&p->symbols, symbol, err);
}

static void run_count(void *arg)
{
	struct call *c = arg;

	prof_record_count(c->p, c->counters);
}

void af_prof_count(struct af_prof *p, struct af_prof_counters *counters)
{
	struct af_prof_counters all = {0};
	struct call call = {.p = p, .counters = &all};
	size_t size = counters->size < sizeof all ? counters->size : sizeof all;

	call_make(&call, run_count);
	all.size = size;
	memcpy(counters, &all, size);
}

static int buffer_write(void *buffer, const void *data, size_t size)
{
	af_buf_add(buffer, data, size);
	return 0;
}

static void run_write(void *arg)
{
	struct call *c = arg;

	if (!c->p->has_results)
		run_collect(c);
	if (!c->rc)
		c->rc = prof_format(c->p, c->format, c->sink, c->err);
}

/* The sink is the caller's, so it is called in the caller's thread. */
static int buffer_give(const struct af_buf *b, const struct af_prof_sink *sink, struct af_err *err)
{
	enum { PIECE = 64 << 10 };
	int rc = 0;

	for (size_t at = 0; !rc && at < b->len; at += PIECE) {
		size_t size = b->len - at < PIECE ? b->len - at : PIECE;
		rc = sink->write(sink->context, b->data + at, size);
	}
	if (rc > 0)
		rc = -EIO;
	return rc ? af_fail(err, rc, "the sink did not take the profile") : 0;
}

int af_prof_write(struct af_prof *p, const struct af_prof_format *format,
                  const struct af_prof_sink *sink, struct af_err *err)
{
	struct af_buf b = {0};
	struct af_prof_sink into = {buffer_write, &b};
	struct call call = {.p = p, .err = err, .format = format, .sink = &into};
	int rc = call_make(&call, run_write);

	if (!rc)
		rc = buffer_give(&b, sink, err);
	af_buf_free(&b);
	return rc;
}

static void run_save(void *arg)
{
	struct call *c = arg;

	c->rc = prof_record_collect(c->p, c->err);
	if (!c->rc)
		c->rc = prof_record_save(c->p, c->dir, c->err);
}

int af_prof_save(struct af_prof *p, const char *dir, struct af_err *err)
{
	struct call call = {.p = p, .err = err, .dir = dir};

	return call_make(&call, run_save);
}

static void run_end(void *arg)
{
	struct call *c = arg;

	if (c->p->started)
		prof_record_stop(c->p);
	c->p->control->state = AF_SESSION_OVER;
}

void af_prof_close(struct af_prof *p)
{
	struct call call = {.p = p};

	if (!p || p->pid != getpid())
		return;
	call_make(&call, run_end);
	pthread_mutex_lock(&opened.lock);
	profile_free(p);
	opened.profile = NULL;
	pthread_mutex_unlock(&opened.lock);
}

/* The program ends with an open profile: nothing is left behind. */
__attribute__((destructor)) static void profile_end(void)
{
	struct af_prof *p = opened.profile;

	if (!p || p->pid != getpid())
		return;
	prof_record_abandon(p);
}
