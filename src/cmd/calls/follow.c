#include "cmd/calls/follow.h"

#include <errno.h>
#include <time.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "cmd/record/watch.h"
#include "cmd/shared/names.h"
#include "collect/disk/place.h"
#include "trace/read/files.h"

enum { FOLLOW_POLL_NS = 100000000, FOLLOW_REST = 4, FOLLOW_QUIET = 5 };

/* A recorder that was killed leaves a trace that says that it is being recorded. */
static bool is_left(const char *dir)
{
	scope_close int fd = af_trace_dir_open(dir);

	return fd < 0 || !af_place_is_recorded(fd);
}

/* A pause, of at least some times the CPU time since @spent_ns. */
static void follow_rest(uint64_t spent_ns)
{
	uint64_t ns = FOLLOW_REST * (af_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - spent_ns);

	if (ns < FOLLOW_POLL_NS)
		ns = FOLLOW_POLL_NS;
	nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000),
	                             .tv_nsec = (long)(ns % 1000000000)},
	          NULL);
}

int af_follow(const char *dir, af_follow_read *read, void *arg, struct af_err *err)
{
	unsigned nr_quiet = 0; /* times that nothing came */
	struct af_watch watch;
	struct af_err none = {0};
	char path[PATH_MAX];
	uint64_t nr_new;

	for (bool recorded = !af_watch_open(&watch, dir, &none);;) {
		uint64_t spent_ns = af_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		if (!recorded || is_left(dir)) {
			int rc = af_trace_prepare(dir, err);
			return rc ? rc : read(arg, dir, true, &nr_new, err);
		}
		nr_new = 0;
		int rc = read(arg, dir, false, &nr_new, &none);
		nr_quiet = nr_new ? 0 : nr_quiet + 1;
		if (!rc && nr_quiet >= FOLLOW_QUIET && af_watch_next(&watch, path)) {
			if (watch.ended)
				return read(arg, path, true, &nr_new, err);
			rc = read(arg, path, false, &nr_new, &none);
		}
		if (rc == -EPIPE)
			return rc;
		follow_rest(spent_ns);
	}
}
