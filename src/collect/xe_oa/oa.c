#include "collect/xe_oa/oa.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/write.h"
#include "collect/session/control.h"
#include "collect/session/session.h"
#include "collect/xe_oa/private.h"

enum { PERIOD_NS = 100000000, NS_PER_S = 1000000000, NS_PER_MS = 1000000 };

/*
 * Readings are made by a thread of their own: the recorder may be busy for longer than a period.
 * From its start to its end the counters and the writer are the thread's.
 */
struct oa {
	struct af_recording *r;
	struct oa_counters counters;
	struct af_xe_writer writer;
	uint64_t period_ns;
	pthread_t thread;
	bool began, runs, stopped;
	int wake;            /* an eventfd */
	_Atomic uint32_t on; /* 0 or 1; RISC-V exchanges words without libatomic, not bytes */
	_Atomic bool stop;
	bool was_on;      /* at the last reading */
	uint64_t next_ns; /* when the next reading is due */
	uint64_t nr_readings, nr_missed;
};

static void oa_tick(struct oa *o)
{
	oa_read(&o->counters, &o->writer, !o->was_on);
	o->was_on = true;
	o->nr_readings++;
}

/* Read if it is time. Readings that were due meanwhile were missed. */
static void oa_turn(struct oa *o, uint64_t now)
{
	if (!atomic_load(&o->on)) {
		o->was_on = false;
		return;
	}
	if (!o->was_on)
		o->next_ns = now;
	if (now < o->next_ns)
		return;
	uint64_t late = (now - o->next_ns) / o->period_ns;
	o->next_ns += (late + 1) * o->period_ns;
	o->nr_missed += late;
	af_xe_readings_lost(&o->writer, late);
	oa_tick(o);
}

static void oa_wait(const struct oa *o)
{
	struct pollfd ready = {.fd = o->wake, .events = POLLIN};
	uint64_t now = af_now_ns(), nr;
	uint64_t left = !o->was_on ? NS_PER_S : o->next_ns > now ? o->next_ns - now : 0;
	struct timespec t = {.tv_sec = (time_t)(left / NS_PER_S), .tv_nsec = left % NS_PER_S};

	if (ppoll(&ready, 1, &t, NULL) > 0)
		while (read(o->wake, &nr, sizeof nr) == sizeof nr)
			;
}

static void *beat_until_end(void *arg)
{
	struct oa *o = arg;

	while (!atomic_load(&o->stop)) {
		oa_turn(o, af_now_ns());
		oa_wait(o);
	}
	return NULL;
}

static void oa_wake(struct oa *o)
{
	const uint64_t one = 1;

	af_write_all(o->wake, &one, sizeof one);
}

static void oa_free_all(struct oa *o)
{
	if (o->wake >= 0)
		close(o->wake);
	oa_free(&o->counters);
	free(o);
}

static void begin_note(const struct oa *o)
{
	struct af_buf b = {0};

	oa_describe(&o->counters, &b);
	if (b.len)
		af_session_note(o->r, "collector.xe_oa",
		                "every %g ms, by the driver's files and events: %s",
		                (double)o->period_ns / NS_PER_MS, b.data);
	af_buf_free(&b);
}

static void oa_open(void **self, struct af_recording *r)
{
	struct oa *o = af_xcalloc(1, sizeof *o);

	o->r = r;
	o->period_ns = r->options->heartbeat_ns ? r->options->heartbeat_ns : PERIOD_NS;
	o->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* Level Zero's metrics need the streams that are ours else. */
	bool streams = r->options->observe && !r->options->metric_group;
	oa_find(&o->counters, &af_xe_roots_usual, streams ? o->period_ns : 0);
	begin_note(o);
	if (!o->counters.nr || o->wake < 0 || !af_xe_writer_open(&o->writer, r)) {
		oa_free_all(o);
		return;
	}
	o->writer.beside = true;
	af_xe_counters_number(&o->writer, &o->counters.known);
	*self = o;
}

static void oa_begin(void *self)
{
	struct oa *o = self;

	o->began = true;
	atomic_store(&o->on, af_control_state(o->r) == AF_SESSION_ON);
	oa_turn(o, af_now_ns());
}

static void thread_start(struct oa *o)
{
	sigset_t all, was;

	/* Signals are the recorder's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	o->runs = !pthread_create(&o->thread, NULL, beat_until_end, o);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

/* The thread begins when privileges are dropped; where there can be none we read ourselves. */
static void oa_pump(void *self)
{
	struct oa *o = self;
	bool on = af_control_state(o->r) == AF_SESSION_ON;

	if (!o->began || o->stopped)
		return;
	bool switched = atomic_exchange(&o->on, on) != on;
	if (!o->runs)
		thread_start(o);
	else if (switched)
		oa_wake(o);
	if (!o->runs)
		oa_turn(o, af_now_ns());
}

static void thread_end(struct oa *o)
{
	if (!o->runs)
		return;
	atomic_store(&o->stop, true);
	oa_wake(o);
	pthread_join(o->thread, NULL);
	o->runs = false;
}

static void end_note(const struct oa *o)
{
	uint64_t failed = oa_nr_failed(&o->counters);
	struct af_buf b = {0};

	af_buf_fmt(&b, "read %llu times", (unsigned long long)o->nr_readings);
	if (o->nr_missed)
		af_buf_fmt(&b, ", and %llu times not in time", (unsigned long long)o->nr_missed);
	if (failed)
		af_buf_fmt(&b, "; %llu values could not be had", (unsigned long long)failed);
	af_session_note(o->r, "collector.xe_oa.readings", "%s", b.data);
	af_buf_free(&b);
}

/* A last reading covers what a short program leaves of a period. */
static void oa_stop(void *self)
{
	struct oa *o = self;

	if (o->stopped)
		return;
	o->stopped = true;
	thread_end(o);
	if (o->was_on && atomic_load(&o->on))
		oa_tick(o);
	af_xe_writer_close(&o->writer);
	end_note(o);
}

static void oa_close(void *self)
{
	struct oa *o = self;

	thread_end(o);
	af_xe_writer_close(&o->writer);
	oa_free_all(o);
}

const struct af_devices_ops af_xe_oa = {
    .open = oa_open,
    .begin = oa_begin,
    .pump = oa_pump,
    .stop = oa_stop,
    .close = oa_close,
};
