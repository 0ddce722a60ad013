#include "analyse/set/read.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/threads.h"

enum { THREADS_MOST = 256, AHEAD = 2 /* results that wait, for each thread */ };

/* A result that waits for its turn. */
struct waiting {
	void *result;
	struct af_err why;
	bool done;
};

struct reading {
	const struct af_set_reading *how;
	pthread_mutex_t lock;
	pthread_cond_t moved;    /* a member was taken */
	uint32_t next, taken;    /* members that were begun, that were taken */
	struct waiting *waiting; /* of @room members from @taken on, by their number modulo it */
	uint32_t room;
	bool taking; /* a thread is at it */
	int rc;
};

unsigned af_set_threads(uint64_t wanted)
{
	if (!wanted)
		wanted = af_threads_allowed();
	return wanted < THREADS_MOST ? (unsigned)wanted : THREADS_MOST;
}

unsigned af_set_threads_each(unsigned threads, uint32_t nr)
{
	return nr && nr < threads ? threads / nr : 1;
}

/* Under the lock, which is open while a result is taken: others go on reading. */
static void take_what_is_there(struct reading *r)
{
	const struct af_set_reading *how = r->how;

	if (r->taking)
		return;
	r->taking = true;
	while (!r->rc && r->taken < how->nr && r->waiting[r->taken % r->room].done) {
		const uint32_t member = r->taken;
		struct waiting w = r->waiting[member % r->room];
		r->waiting[member % r->room] = (struct waiting){0};
		pthread_mutex_unlock(&r->lock);
		int rc =
		    how->take(how->arg, &how->set->members[how->first + member], w.result, &w.why);
		if (how->progress)
			how->progress(how->arg, member + 1, how->nr);
		pthread_mutex_lock(&r->lock);
		r->rc = rc;
		r->taken = member + 1;
		pthread_cond_broadcast(&r->moved);
	}
	r->taking = false;
}

static void *read_members(void *arg)
{
	struct reading *r = arg;
	const struct af_set_reading *how = r->how;

	pthread_mutex_lock(&r->lock);
	while (!r->rc && r->next < how->nr) {
		if (r->next - r->taken >= r->room) {
			pthread_cond_wait(&r->moved, &r->lock);
			continue;
		}
		const uint32_t member = r->next++;
		struct waiting w = {.done = true};
		pthread_mutex_unlock(&r->lock);
		w.result = how->read(how->arg, &how->set->members[how->first + member], &w.why);
		pthread_mutex_lock(&r->lock);
		r->waiting[member % r->room] = w;
		take_what_is_there(r);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

int af_set_read(const struct af_set_reading *how)
{
	const unsigned nr = how->threads < how->nr ? how->threads : how->nr;
	struct reading r = {.how = how, .room = (nr + !nr) * AHEAD};
	pthread_t threads[THREADS_MOST];
	unsigned started = 0;

	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.moved, NULL);
	r.waiting = af_xcalloc(r.room, sizeof *r.waiting);
	/* This thread is one of them; where one cannot be had, the others do its part. */
	while (started + 1 < nr && started < THREADS_MOST &&
	       !pthread_create(&threads[started], NULL, read_members, &r))
		started++;
	read_members(&r);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < r.room; i++)
		if (r.waiting[i].done && r.waiting[i].result)
			how->drop(r.waiting[i].result);
	free(r.waiting);
	pthread_cond_destroy(&r.moved);
	pthread_mutex_destroy(&r.lock);
	return r.rc;
}
