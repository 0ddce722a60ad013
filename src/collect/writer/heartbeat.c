#include "collect/writer/heartbeat.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/session/control.h"
#include "collect/session/session.h"

enum {
	NS_PER_S = 1000000000,
	/* Half of the shortest period that can be had: a shorter tick makes others miss none. */
	LONG_NS = 500000,
};

static void beat_tick(struct af_beat *b)
{
	b->tick(b->arg, !b->was_on);
	b->was_on = true;
	b->nr_ticks++;
}

static void beat_missed(struct af_beat *b, uint64_t count)
{
	b->nr_missed += count;
	if (count)
		b->missed(b->arg, count);
}

/* A tick that is due. Others that were due meanwhile were missed. */
static void beat_turn(struct af_beat *b, uint64_t now)
{
	uint64_t late = (now - b->next_ns) / b->period_ns;

	b->next_ns += (late + 1) * b->period_ns;
	beat_missed(b, late);
	beat_tick(b);
}

/* Those that were due up to now and will not be made, and the last one. */
static void beat_end(struct af_beat *b, uint64_t now)
{
	beat_missed(b, now < b->next_ns ? 0 : (now - b->next_ns) / b->period_ns + 1);
	b->last = true;
	beat_tick(b);
}

/*
 * Waits for @until_ns, or a change after the one that has number @seen; true: the time came. By
 * futex(2): behind a condition variable the mutex costs a second system call at each tick.
 */
static bool heartbeat_wait(struct af_heartbeat *h, uint32_t seen, uint64_t until_ns)
{
	const struct timespec t = {.tv_sec = (time_t)(until_ns / NS_PER_S),
	                           .tv_nsec = (long)(until_ns % NS_PER_S)};

	return syscall(SYS_futex, &h->nr_changes, FUTEX_WAIT_BITSET_PRIVATE, seen, &t, NULL,
	               FUTEX_BITSET_MATCH_ANY) &&
	       errno == ETIMEDOUT;
}

/* After a change of what threads wait for. */
static void heartbeat_changed(struct af_heartbeat *h)
{
	atomic_fetch_add(&h->nr_changes, 1);
	syscall(SYS_futex, &h->nr_changes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, was;

	/* Signals are the recorder's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	bool runs = !pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return runs;
}

static bool beat_is_long(struct af_beat *b, uint64_t time_ns)
{
	return b->takes && b->takes(b->arg, time_ns, !b->was_on) > LONG_NS;
}

/* Waits for the next tick; false: recording is off, or ends. */
static bool beat_wait(struct af_beat *b)
{
	struct af_heartbeat *h = b->of;
	uint32_t seen;

	do {
		seen = atomic_load(&h->nr_changes);
		if (!h->on || h->stop)
			return false;
	} while (!heartbeat_wait(h, seen, b->next_ns));
	return true;
}

/* The thread of a beat that takes long. It gives the beat back when its next tick does not. */
static void *beat_alone(void *arg)
{
	struct af_beat *b = arg;

	do
		beat_turn(b, af_now_ns());
	while (beat_is_long(b, b->next_ns) && beat_wait(b));
	b->away = false;
	heartbeat_changed(b->of);
	return NULL;
}

static void beat_join(struct af_beat *b)
{
	if (b->runs)
		pthread_join(b->thread, NULL);
	b->runs = false;
}

static bool beat_send_away(struct af_beat *b)
{
	beat_join(b); /* it gave the beat back, and is about to end */
	b->away = true;
	b->runs = thread_start(&b->thread, beat_alone, b);
	if (!b->runs)
		b->away = false;
	return b->runs;
}

/* The beats that have no thread of their own now, a bit each. */
static uint32_t beats_here(const struct af_heartbeat *h)
{
	uint32_t here = 0;

	for (uint32_t i = 0; i < h->nr; i++)
		here |= (uint32_t)!h->beats[i]->away << i;
	return here;
}

/* Ticks of all beats that are @here and due; returns when the next one of them is. */
static uint64_t beats_turn(struct af_heartbeat *h, uint32_t here, bool on, bool can_send)
{
	uint64_t now = af_now_ns(), next_ns = now + NS_PER_S;

	for (uint32_t i = 0; i < h->nr; i++) {
		struct af_beat *b = h->beats[i];
		if (!(here >> i & 1))
			continue;
		b->was_on &= on;
		if (!on)
			continue;
		if (!b->was_on)
			b->next_ns = now;
		if (now >= b->next_ns) {
			if (can_send && beat_is_long(b, now) && beat_send_away(b))
				continue;
			beat_turn(b, now);
		}
		next_ns = b->next_ns < next_ns ? b->next_ns : next_ns;
	}
	return next_ns;
}

static void *heartbeat_run(void *arg)
{
	struct af_heartbeat *h = arg;

	for (;;) {
		const uint32_t seen = atomic_load(&h->nr_changes);
		if (h->stop)
			return NULL;
		heartbeat_wait(h, seen, beats_turn(h, beats_here(h), h->on, h->nr > 1));
	}
}

void af_heartbeat_begin(struct af_heartbeat *h)
{
	h->began = true;
	for (uint32_t i = 0; i < h->nr; i++)
		h->beats[i]->of = h;
	h->on = af_control_state(h->r) == AF_SESSION_ON;
	beats_turn(h, beats_here(h), h->on, false);
}

void af_heartbeat_pump(struct af_heartbeat *h)
{
	bool on = af_control_state(h->r) == AF_SESSION_ON;

	if (!h->began || h->stopped || !h->nr)
		return;
	bool switched = h->on != on;
	h->on = on;
	if (switched)
		heartbeat_changed(h);
	if (h->runs)
		return;
	h->runs = thread_start(&h->thread, heartbeat_run, h);
	if (!h->runs)
		beats_turn(h, beats_here(h), on, false);
}

static void threads_end(struct af_heartbeat *h)
{
	if (!h->runs)
		return;
	h->stop = true;
	heartbeat_changed(h);
	pthread_join(h->thread, NULL);
	for (uint32_t i = 0; i < h->nr; i++)
		beat_join(h->beats[i]);
	h->runs = false;
}

void af_heartbeat_stop(struct af_heartbeat *h)
{
	if (h->stopped)
		return;
	h->stopped = true;
	threads_end(h);
	uint64_t now = af_now_ns();
	for (uint32_t i = 0; i < h->nr; i++)
		if (h->beats[i]->was_on && h->on)
			beat_end(h->beats[i], now);
}

void af_heartbeat_close(struct af_heartbeat *h)
{
	threads_end(h);
}
