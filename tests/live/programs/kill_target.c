/*
 * Truth: threads are born and die without end; each makes events that aflame records (an event for
 * every dlclose) and counts them in a file that outlives the program, each after it was made.
 * Whoever is killed, the trace must hold at least as many as the file says, and at most one more a
 * thread.
 *
 *	kill_target FILE [THREADS]	never ends by itself: it is killed (or ends after 20 s)
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic unsigned long *made;

static void *worker(void *arg)
{
	long n = 1 + (long)arg % 400;

	for (long i = 0; i < n; i++) {
		dlclose(dlopen(NULL, RTLD_LAZY));
		atomic_fetch_add(made, 1);
	}
	return NULL;
}

static void *breeder(void *arg)
{
	unsigned seed = (unsigned)(long)arg;

	for (;;) {
		pthread_t t;
		if (!pthread_create(&t, NULL, worker, (void *)(long)rand_r(&seed)))
			pthread_join(t, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	int threads = argc > 2 ? atoi(argv[2]) : 3;

	if (fd < 0 || ftruncate(fd, sizeof *made)) {
		perror("kill_target FILE [THREADS]");
		return 2;
	}
	made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (made == MAP_FAILED)
		return 2;
	for (long i = 0; i < threads; i++) {
		pthread_t t;
		pthread_create(&t, NULL, breeder, (void *)(i + 1));
	}
	sleep(20);
	return 0;
}
