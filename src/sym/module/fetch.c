#include "sym/module/fetch.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/scope.h"
#include "base/system/clock.h"

enum { FETCH_CLIENTS = 64 };

#define FETCH_STILL_NS (AF_FETCH_STILL_S * UINT64_C(1000000000))

/* The interface of libdebuginfod.so.1 (elfutils/debuginfod.h), which need not be installed. */
struct debuginfod_client;
typedef int fetch_progress_fn(struct debuginfod_client *c, long done, long all);

struct af_fetch {
	struct af_fetch_state state;
	void (*tick)(void *arg);
	void *arg;
	pthread_t opener;

	void *library;
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *c);
	int (*find)(struct debuginfod_client *c, const unsigned char *id, int len, char **path);
	void (*set_progress)(struct debuginfod_client *c, fetch_progress_fn *fn);

	/* A client is for one thread at a time, and keeps its connections. */
	pthread_mutex_t lock;
	struct debuginfod_client *idle[FETCH_CLIENTS];
	uint32_t nr_idle;
};

/* A transfer under way. */
struct fetch_one {
	struct af_fetch *fetch;
	long done, moved;
	uint64_t moved_ns; /* when so many bytes, `moved`, were there */
	bool still;
};

/* The library calls back on the thread that waits, and tells a client only. */
static _Thread_local struct fetch_one *fetch_current;

/* Called at least every second; not 0 ends the transfer. */
static int fetch_progress(struct debuginfod_client *c, long done, long all)
{
	struct fetch_one *one = fetch_current;
	uint64_t now_ns = af_clock_ns(CLOCK_MONOTONIC);

	(void)c;
	(void)all;
	if (done > one->done) {
		atomic_fetch_add(&one->fetch->state.bytes, (uint64_t)(done - one->done));
		one->done = done;
	}
	if (done - one->moved >= AF_FETCH_LEAST_KB << 10) {
		one->moved = done;
		one->moved_ns = now_ns;
	}
	if (one->fetch->tick && pthread_equal(pthread_self(), one->fetch->opener))
		one->fetch->tick(one->fetch->arg);
	one->still = now_ns - one->moved_ns > FETCH_STILL_NS;
	return one->still;
}

static bool fetch_load(struct af_fetch *f)
{
	f->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!f->library)
		return false;
	*(void **)&f->begin = dlsym(f->library, "debuginfod_begin");
	*(void **)&f->end = dlsym(f->library, "debuginfod_end");
	*(void **)&f->find = dlsym(f->library, "debuginfod_find_debuginfo");
	*(void **)&f->set_progress = dlsym(f->library, "debuginfod_set_progressfn");
	return f->begin && f->end && f->find && f->set_progress;
}

struct af_fetch *af_fetch_open(void (*tick)(void *arg), void *arg)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!urls || !*urls)
		return NULL;
	struct af_fetch *f = af_xcalloc(1, sizeof *f);
	f->tick = tick;
	f->arg = arg;
	f->opener = pthread_self();
	pthread_mutex_init(&f->lock, NULL);
	if (!fetch_load(f))
		atomic_store(&f->state.failed, -ENOSYS);
	return f;
}

void af_fetch_close(struct af_fetch *f)
{
	if (!f)
		return;
	while (f->nr_idle)
		f->end(f->idle[--f->nr_idle]);
	/* The library stays loaded: curl, below it, does not like to be unloaded. */
	pthread_mutex_destroy(&f->lock);
	free(f);
}

const struct af_fetch_state *af_fetch_state(const struct af_fetch *f)
{
	return &f->state;
}

static struct debuginfod_client *fetch_take(struct af_fetch *f)
{
	struct debuginfod_client *c = NULL;

	/* The first client initialises libraries that do not expect company. */
	pthread_mutex_lock(&f->lock);
	if (f->nr_idle)
		c = f->idle[--f->nr_idle];
	else
		c = f->begin();
	pthread_mutex_unlock(&f->lock);
	return c;
}

static void fetch_give(struct af_fetch *f, struct debuginfod_client *c)
{
	pthread_mutex_lock(&f->lock);
	if (f->nr_idle < FETCH_CLIENTS)
		f->idle[f->nr_idle++] = c;
	else
		f->end(c);
	pthread_mutex_unlock(&f->lock);
}

int af_fetch_debug(struct af_fetch *f, const uint8_t *build_id, uint32_t len, struct af_file *file)
{
	if (!f)
		return -ENOENT;
	int rc = atomic_load(&f->state.failed);
	struct debuginfod_client *c = rc ? NULL : fetch_take(f);
	if (!c)
		return rc ? rc : -ENOMEM;

	struct fetch_one one = {.fetch = f, .moved_ns = af_clock_ns(CLOCK_MONOTONIC)};
	fetch_current = &one;
	f->set_progress(c, fetch_progress);
	atomic_fetch_add(&f->state.under_way, 1);
	scope_close int fd = f->find(c, build_id, (int)len, NULL);
	atomic_fetch_sub(&f->state.under_way, 1);
	fetch_current = NULL;
	fetch_give(f, c);
	if (fd < 0) {
		rc = one.still ? -ETIMEDOUT : fd;
		if (rc != -ENOENT)
			atomic_store(&f->state.failed, rc);
		return rc;
	}
	rc = af_file_map_fd(file, fd);
	if (!rc)
		atomic_fetch_add(&f->state.files, 1);
	return rc;
}

void af_fetch_refuse(struct af_fetch *f)
{
	atomic_fetch_add(&f->state.refused, 1);
}
