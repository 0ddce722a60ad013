/* Work on numbered things by several threads. */
#include <pthread.h>

#include "base/system/threads.h"

struct each {
	void (*one)(void *arg, uint32_t i);
	void *arg;
	uint32_t nr, next;
};

static void *each_run(void *arg)
{
	struct each *e = arg;
	uint32_t i;

	while ((i = __atomic_fetch_add(&e->next, 1, __ATOMIC_RELAXED)) < e->nr)
		e->one(e->arg, i);
	return NULL;
}

void af_threads_each(uint32_t threads, uint32_t nr, void (*one)(void *arg, uint32_t i), void *arg)
{
	struct each each = {.one = one, .arg = arg, .nr = nr};
	pthread_t started[AF_THREADS_MOST];
	uint32_t nr_started = 0;

	while (nr_started < AF_THREADS_MOST && nr_started + 1 < threads && nr_started + 1 < nr &&
	       !pthread_create(&started[nr_started], NULL, each_run, &each))
		nr_started++;
	each_run(&each);
	while (nr_started)
		pthread_join(started[--nr_started], NULL);
}
