/*
 * threads [SCALE]: four threads with different work, and two thousand that live for microseconds.
 *
 * Truth: threads named live-1 to live-4 run concurrently in one, two, three and four, with 40, 30,
 * 20 and 10 % of the four's CPU time (0.8 s in all); one thread, one function. Then 2000 threads
 * start and end, each with some 5 us in tiny. No thread id is promised to be unique.
 *
 * Exit status: 0, or 1 when a thread did not run or the measured shares are not these.
 */
#include "burn.h"

#include <pthread.h>
#include <stdatomic.h>

enum { NR_LONG = 4, NR_TINY = 2000 };

BURN_SINK;

static unsigned long rounds;
static int64_t long_ns[NR_LONG];
static atomic_int nr_tiny_done;

/* Each defines the body of one long thread: its name, its place, its microseconds per round. */
#define LONG_THREAD(name, place, us, factor)                                                       \
	BURN_FUNCTION(name, factor)                                                                \
	static void *name##_thread(void *unused)                                                   \
	{                                                                                          \
		int64_t ns = -burn_thread_ns();                                                    \
                                                                                                   \
		pthread_setname_np(pthread_self(), "live-" #place);                                \
		for (unsigned long i = 0; i < rounds; i++)                                         \
			name(us);                                                                  \
		long_ns[(place)-1] = ns + burn_thread_ns();                                        \
		return unused;                                                                     \
	}

LONG_THREAD(one, 1, 400, BURN_A)
LONG_THREAD(two, 2, 300, BURN_B)
LONG_THREAD(three, 3, 200, BURN_C)
LONG_THREAD(four, 4, 100, BURN_D)
BURN_FUNCTION(tiny, BURN_E)

static void *tiny_thread(void *unused)
{
	tiny(5);
	atomic_fetch_add(&nr_tiny_done, 1);
	return unused;
}

static void run_long(void)
{
	void *(*const bodies[NR_LONG])(void *) = {one_thread, two_thread, three_thread,
	                                          four_thread};
	pthread_t threads[NR_LONG];

	for (int i = 0; i < NR_LONG; i++)
		if (pthread_create(&threads[i], NULL, bodies[i], NULL))
			exit(1);
	for (int i = 0; i < NR_LONG; i++)
		pthread_join(threads[i], NULL);
}

/* Ten at a time: some are joined, some are detached and end when they like. */
static void run_tiny(void)
{
	for (int i = 0; i < NR_TINY; i += 10) {
		pthread_t threads[10];

		for (int j = 0; j < 10; j++)
			if (pthread_create(&threads[j], NULL, tiny_thread, NULL))
				exit(1);
		for (int j = 0; j < 10; j++)
			if (j % 2)
				pthread_join(threads[j], NULL);
			else
				pthread_detach(threads[j]);
	}
	for (int i = 0; i < 1000 && atomic_load(&nr_tiny_done) < NR_TINY; i++)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
}

int main(int argc, char **argv)
{
	int64_t all = 0;
	int wrong;

	rounds = (unsigned long)(800 * burn_scale(argc, argv));
	run_long();
	run_tiny();
	wrong = atomic_load(&nr_tiny_done) != NR_TINY;
	for (int i = 0; i < NR_LONG; i++)
		all += long_ns[i];
	for (int i = 0; i < NR_LONG; i++) {
		static const char *const names[] = {"one", "two", "three", "four"};

		truth_share(names[i], long_ns[i], all);
		wrong |= share_is_wrong(long_ns[i], all, 0.4 - 0.1 * i);
	}
	truth_number("tiny_threads", atomic_load(&nr_tiny_done));
	truth_number("cpu_ms", all / 1000000);
	return wrong;
}
