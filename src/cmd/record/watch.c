#include "cmd/record/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "cmd/shared/load.h"
#include "trace/read/files.h"
#include "trace/write/session.h"
#include "trace/write/stream.h"

enum { WATCH_TOUCH_NS = 1000000000, WATCH_REST = 4 };

static bool is_recorded(const char *dir)
{
	scope_close int fd = af_trace_dir_open(dir);

	return fd >= 0 && af_trace_has(fd, AF_SESSION_FILE);
}

int af_watch_open(struct af_watch *w, const char *dir, struct af_err *err)
{
	*w = (struct af_watch){.dir = dir};
	if (is_recorded(dir))
		return 0;
	return af_fail_plain(err, -ENOENT,
	                     "%s is not being recorded now: leave --live out to read it", dir);
}

/* Somebody is here: without this the recorder makes no copies. */
static void watch_touch(struct af_watch *w, uint64_t now)
{
	if (w->touched_ns && now - w->touched_ns < WATCH_TOUCH_NS)
		return;
	w->touched_ns = now;
	int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	scope_close int dir = af_trace_dir_open(w->dir);
	scope_close int fd = openat(dir, AF_WATCHED_FILE, flags | O_CREAT, 0600);
	if (fd >= 0 && futimens(fd, NULL))
		w->touched_ns = 0; /* again */
}

/* The number of the newest copy that is newer than the last; 0: none. */
static uint32_t watch_newest(const struct af_watch *w)
{
	uint32_t newest = 0;
	scope_close int fd = af_trace_dir_open(w->dir);
	DIR *dir = fd < 0 ? NULL : af_dir_list(fd);

	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (strncmp(e->d_name, AF_LIVE_PREFIX, strlen(AF_LIVE_PREFIX)) != 0)
			continue;
		scope_close int copy = af_trace_folder(fd, e->d_name);
		if (copy < 0)
			continue;
		unsigned long n = strtoul(e->d_name + strlen(AF_LIVE_PREFIX), NULL, 10);
		newest = n > newest && n < UINT32_MAX ? (uint32_t)n : newest;
	}
	if (dir)
		closedir(dir);
	return newest > w->last ? newest : 0;
}

int af_watch_next(struct af_watch *w, char path[PATH_MAX])
{
	uint64_t now_ns = af_now_ns();
	char name[32];

	if (!is_recorded(w->dir)) {
		w->ended = true;
		snprintf(path, PATH_MAX, "%s", w->dir);
		return 1;
	}
	watch_touch(w, now_ns);
	uint32_t newest = now_ns < w->ready_ns ? 0 : watch_newest(w);
	if (!newest)
		return 0;
	w->last = newest;
	snprintf(name, sizeof name, AF_LIVE_PREFIX "%u", newest);
	snprintf(path, PATH_MAX, "%s/%s", w->dir, name);
	return 1;
}

int af_watch_poll(struct af_watch *w, const struct af_query *query, struct af_results *r,
                  struct af_err *err)
{
	uint64_t spent_ns = af_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	char path[PATH_MAX];

	if (!af_watch_next(w, path))
		return 0;
	int rc = af_load_quietly(path, query, r, err);
	w->ready_ns = af_now_ns() + WATCH_REST * (af_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - spent_ns);
	if (!rc)
		return 1;
	if (w->ended)
		return rc;
	/* A newer one has taken its place, or the recording ends. */
	af_results_close(r);
	return 0;
}
