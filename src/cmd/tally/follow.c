#include "cmd/tally/follow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "analyse/set/read.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/keys.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "cmd/record/watch.h"
#include "collect/disk/place.h"
#include "trace/read/files.h"

enum { FOLLOW_REST = 4 /* a pause is at least so many times the CPU time before it */ };

/*
 * A member as far as it was read. What a rank does goes to disk when a packet is full; a recorder
 * that is watched copies the trace with the rest, if there is room.
 */
struct followed {
	struct tally_sums *sums; /* of one that grows, or NULL */
	char *path;
	struct af_watch watch; /* of that path */
	uint64_t bytes;        /* that it had when it was read without a copy */
	bool done;             /* it has ended, and is in the sums of those */
};

struct following {
	const struct tally_follow *how;
	struct af_keys by_name;
	struct followed *all;
	uint32_t nr, cap;
	struct tally_sums done;
};

static struct followed *followed_at(struct following *f, const struct af_member *who)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&f->by_name, AF_KEY_TEXT(who->name), &fresh);

	if (fresh) {
		AF_GROW(f->all, f->nr, f->cap);
		f->all[f->nr] = (struct followed){.path = af_xstrdup(who->path)};
		f->all[f->nr].watch = (struct af_watch){.dir = f->all[f->nr].path};
		*slot = f->nr++;
	}
	return &f->all[*slot];
}

/* The size of all files of a trace, which grows with it. */
static uint64_t bytes_of(const char *path)
{
	scope_close int fd = af_trace_dir_open(path);
	DIR *dir = fd < 0 ? NULL : af_dir_list(fd);
	uint64_t bytes = 0;
	struct stat st;

	for (struct dirent *e; dir && (e = af_dir_next(dir));)
		if (!fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	if (dir)
		closedir(dir);
	return bytes;
}

static void sums_drop(void *result)
{
	if (!result)
		return;
	tally_sums_free(result);
	free(result);
}

/* On any thread. A trace that is recorded is read as far as it is there. */
static void *follow_read(void *arg, const struct af_member *who, struct af_err *err)
{
	const struct following *f = arg;
	struct tally_sums *sums = af_xcalloc(1, sizeof *sums);

	sums->by = f->how->by;
	int rc = who->state == AF_MEMBER_LIVE
	             ? tally_sums_read_live(sums, who->path, who->label, err)
	             : tally_sums_read(sums, who->path, who->label, err);
	if (!rc)
		return sums;
	sums_drop(sums);
	return NULL;
}

static int follow_take(void *arg, const struct af_member *who, void *result,
                       const struct af_err *why)
{
	struct following *f = arg;
	struct followed *m = followed_at(f, who);
	const bool live = who->state == AF_MEMBER_LIVE;

	/* One that cannot be read yet keeps what was read of it. */
	if (live && !result)
		return 0;
	sums_drop(m->sums);
	m->sums = live ? result : NULL;
	m->done = !live;
	if (live)
		return 0;
	if (result)
		tally_sums_join(&f->done, result);
	else
		tally_sums_missing(&f->done, who->label, why->msg);
	sums_drop(result);
	return 0;
}

/* Has the member something new? Then it is at *@path, for as long as @set. */
static bool is_new(struct followed *m, const struct af_member *who, struct af_set *set,
                   const char **path)
{
	char copy[PATH_MAX];

	*path = who->path;
	if (m->done || who->state != AF_MEMBER_LIVE)
		return !m->done;
	if (af_watch_next(&m->watch, copy) && !m->watch.ended) {
		*path = af_arena_strdup(&set->arena, copy, strlen(copy));
		return true;
	}
	uint64_t bytes = m->watch.last ? m->bytes : bytes_of(who->path);
	bool grown = bytes != m->bytes;
	m->bytes = bytes;
	return grown;
}

/* Read the members of @set that are new, have grown or have ended. */
static uint32_t follow_set(struct following *f, struct af_set *set)
{
	struct af_set fresh = {.members = af_xcalloc((size_t)set->nr + 1, sizeof *fresh.members)};
	uint32_t nr_live = 0;

	for (uint32_t i = 0; i < set->nr; i++) {
		const struct af_member *who = &set->members[i];
		const char *path;
		nr_live += who->state == AF_MEMBER_LIVE;
		if (!is_new(followed_at(f, who), who, set, &path))
			continue;
		fresh.members[fresh.nr] = *who;
		fresh.members[fresh.nr++].path = path;
	}
	const struct af_set_reading reading = {
	    .set = &fresh,
	    .nr = fresh.nr,
	    .threads = af_set_threads(f->how->jobs),
	    .read = follow_read,
	    .take = follow_take,
	    .drop = sums_drop,
	    .arg = f,
	};
	if (fresh.nr)
		af_set_read(&reading);
	free(fresh.members);
	return nr_live;
}

static void follow_show(struct following *f, const struct tally_moment *at)
{
	struct tally_sums all = {.by = f->how->by};

	tally_sums_join(&all, &f->done);
	for (uint32_t i = 0; i < f->nr; i++)
		if (f->all[i].sums)
			tally_sums_join(&all, f->all[i].sums);
	f->how->show(f->how->arg, &all, at);
	tally_sums_free(&all);
}

static void follow_rest(uint64_t interval_ns, uint64_t spent_ns)
{
	uint64_t ns = FOLLOW_REST * (af_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - spent_ns);

	ns = ns < interval_ns ? interval_ns : ns;
	nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000),
	                             .tv_nsec = (long)(ns % 1000000000)},
	          NULL);
}

static bool is_recorded(const char *dir)
{
	scope_close int fd = af_trace_dir_open(dir);

	return fd >= 0 && af_place_is_recorded(fd);
}

static void following_free(struct following *f)
{
	for (uint32_t i = 0; i < f->nr; i++) {
		sums_drop(f->all[i].sums);
		free(f->all[i].path);
	}
	free(f->all);
	af_keys_free(&f->by_name);
	tally_sums_free(&f->done);
}

int tally_follow(const struct tally_follow *how, const char *dir, struct af_err *err)
{
	struct following f = {.how = how, .done.by = how->by};
	const uint64_t begin_ns = af_clock_ns(CLOCK_MONOTONIC);
	unsigned quiet = 0; /* times that nothing was recorded: ranks may still come */
	int rc = 0;

	while (quiet < 2) {
		const uint64_t spent_ns = af_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		struct af_set set;
		rc = af_set_open(&set, dir, err);
		struct tally_moment at = {.nr = set.nr};
		if (!rc)
			at.nr_live = follow_set(&f, &set);
		bool recorded = at.nr_live || is_recorded(dir);
		af_set_close(&set);
		if (rc && !recorded)
			break;
		at.ns = af_clock_ns(CLOCK_MONOTONIC) - begin_ns;
		if (!rc && recorded)
			follow_show(&f, &at);
		rc = 0;
		/* A finished job is answered at once. */
		if (!recorded && at.ns < how->interval_ns)
			break;
		quiet = recorded ? 0 : quiet + 1;
		if (quiet < 2)
			follow_rest(how->interval_ns, spent_ns);
	}
	following_free(&f);
	return rc;
}
