#include "collect/writer/heartbeat.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/write.h"
#include "collect/session/control.h"
#include "collect/session/session.h"

enum { NS_PER_S = 1000000000 };

static void beat_tick(struct af_heartbeat *h)
{
	h->tick(h->arg, !h->was_on);
	h->was_on = true;
	h->nr_ticks++;
}

/* Tick if it is time. Those that were due meanwhile were missed. */
static void beat_turn(struct af_heartbeat *h, uint64_t now)
{
	if (!atomic_load(&h->on)) {
		h->was_on = false;
		return;
	}
	if (!h->was_on)
		h->next_ns = now;
	if (now < h->next_ns)
		return;
	uint64_t late = (now - h->next_ns) / h->period_ns;
	h->next_ns += (late + 1) * h->period_ns;
	h->nr_missed += late;
	if (late)
		h->missed(h->arg, late);
	beat_tick(h);
}

/* Those that were due up to now and will not be made. */
static void beat_end(struct af_heartbeat *h, uint64_t now)
{
	uint64_t late = now < h->next_ns ? 0 : (now - h->next_ns) / h->period_ns + 1;

	h->nr_missed += late;
	if (late)
		h->missed(h->arg, late);
	beat_tick(h);
}

static void beat_wait(const struct af_heartbeat *h)
{
	struct pollfd ready = {.fd = h->wake, .events = POLLIN};
	uint64_t now = af_now_ns(), nr;
	uint64_t left = !h->was_on ? NS_PER_S : h->next_ns > now ? h->next_ns - now : 0;
	struct timespec t = {.tv_sec = (time_t)(left / NS_PER_S), .tv_nsec = left % NS_PER_S};

	if (ppoll(&ready, 1, &t, NULL) > 0)
		while (read(h->wake, &nr, sizeof nr) == sizeof nr)
			;
}

static void *beat_until_end(void *arg)
{
	struct af_heartbeat *h = arg;

	while (!atomic_load(&h->stop)) {
		beat_turn(h, af_now_ns());
		beat_wait(h);
	}
	return NULL;
}

static void beat_wake(struct af_heartbeat *h)
{
	const uint64_t one = 1;

	af_write_all(h->wake, &one, sizeof one);
}

bool af_heartbeat_open(struct af_heartbeat *h)
{
	h->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return h->wake >= 0;
}

void af_heartbeat_begin(struct af_heartbeat *h)
{
	h->began = true;
	atomic_store(&h->on, af_control_state(h->r) == AF_SESSION_ON);
	beat_turn(h, af_now_ns());
}

static void thread_start(struct af_heartbeat *h)
{
	sigset_t all, was;

	/* Signals are the recorder's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	h->runs = !pthread_create(&h->thread, NULL, beat_until_end, h);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

void af_heartbeat_pump(struct af_heartbeat *h)
{
	bool on = af_control_state(h->r) == AF_SESSION_ON;

	if (!h->began || h->stopped)
		return;
	bool switched = atomic_exchange(&h->on, on) != on;
	if (!h->runs)
		thread_start(h);
	else if (switched)
		beat_wake(h);
	if (!h->runs)
		beat_turn(h, af_now_ns());
}

static void thread_end(struct af_heartbeat *h)
{
	if (!h->runs)
		return;
	atomic_store(&h->stop, 1);
	beat_wake(h);
	pthread_join(h->thread, NULL);
	h->runs = false;
}

void af_heartbeat_stop(struct af_heartbeat *h)
{
	if (h->stopped)
		return;
	h->stopped = true;
	thread_end(h);
	if (h->was_on && atomic_load(&h->on))
		beat_end(h, af_now_ns());
}

void af_heartbeat_close(struct af_heartbeat *h)
{
	thread_end(h);
	if (h->wake >= 0)
		close(h->wake);
	h->wake = -1;
}
