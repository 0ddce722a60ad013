/*
 * exits normal|nosync|abort|_exit|SIGINT|SIGTERM|SIGKILL|segv: launches for two seconds, waits for
 * each batch, prints its truth and ends so. `settled` launches had ended more than a second before
 * that; of nosync the last batch is under way when main returns.
 */
#include "truth.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum { BATCH = 50, BATCHES = 40, SETTLED = 18, PAUSE_NS = 50000000 };

CALLPATH void launches(unsigned long long ns)
{
	for (int i = 0; i < BATCH; i++)
		k1<<<1, 1>>>(ns);
}

static volatile int *volatile nowhere = (volatile int *)8;

static void end_by(const char *how)
{
	static const struct {
		const char *name;
		int signal;
	} signals[] = {{"SIGINT", SIGINT}, {"SIGTERM", SIGTERM}, {"SIGKILL", SIGKILL}};

	for (auto &s : signals) {
		if (strcmp(how, s.name))
			continue;
		kill(getpid(), s.signal);
		for (;;)
			pause();
	}
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "_exit"))
		_exit(9);
	if (!strcmp(how, "segv"))
		*nowhere = 1;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "normal";
	const struct timespec pause_time = {0, PAUSE_NS};

	for (int i = 0; i < BATCHES; i++) {
		launches(2000);
		CHECK(cudaDeviceSynchronize());
		nanosleep(&pause_time, NULL);
	}
	launched("launches", "k1", BATCH * BATCHES);
	fact("settled", BATCH * SETTLED);
	if (!strcmp(how, "nosync")) {
		launches(1000000);
		launched("launches", "k1", BATCH);
	}
	truth_print();
	end_by(how);
	return 9;
}
