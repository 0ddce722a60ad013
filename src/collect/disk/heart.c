#include "collect/disk/heart.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "base/system/clock.h"
#include "trace/read/state.h"

void af_heart_open(struct af_heart *h, int fd)
{
	*h = (struct af_heart){.fd = fd, .beat_ns = af_clock_ns(CLOCK_MONOTONIC)};
}

/* The time is that of the file server, where there is one. On failure the next one may do. */
static void beat(int fd)
{
	futimens(fd, NULL);
}

void af_heart_poll(struct af_heart *h)
{
	uint64_t now = af_clock_ns(CLOCK_MONOTONIC);

	if (h->fd < 0 || now - h->beat_ns < AF_HEARTBEAT_NS)
		return;
	h->beat_ns = now;
	beat(h->fd);
}

static void *beat_until_end(void *arg)
{
	struct af_heart *h = arg;

	pthread_mutex_lock(&h->lock);
	while (!h->ends) {
		beat(h->fd);
		struct timespec next = af_clock_after(CLOCK_REALTIME, AF_HEARTBEAT_NS);
		pthread_cond_timedwait(&h->end, &h->lock, &next);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

void af_heart_keep(struct af_heart *h)
{
	sigset_t all, was;

	if (h->fd < 0 || h->kept || pthread_mutex_init(&h->lock, NULL) ||
	    pthread_cond_init(&h->end, NULL))
		return;
	sigfillset(&all); /* signals are the recorder's */
	pthread_sigmask(SIG_SETMASK, &all, &was);
	h->kept = !pthread_create(&h->thread, NULL, beat_until_end, h);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

void af_heart_close(struct af_heart *h)
{
	if (h->kept) {
		pthread_mutex_lock(&h->lock);
		h->ends = true;
		pthread_cond_signal(&h->end);
		pthread_mutex_unlock(&h->lock);
		pthread_join(h->thread, NULL);
		h->kept = false;
	}
	h->fd = -1;
}
