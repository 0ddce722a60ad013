#include "collect/disk/place.h"

#include <ctype.h>
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
#include "base/system/fs.h"
#include "base/write.h"
#include "collect/disk/job.h"
#include "collect/disk/room.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"
#include "trace/write/objects.h"
#include "trace/write/session.h"

enum { FOLDER_TRIES = 100, NAMES_TRIED = 1000, YOUNG_S = 10 };

/* Is @dir_fd what is called @name now? */
static bool is_at(int dir_fd, int at, const char *name)
{
	struct stat was, is;

	return !fstat(dir_fd, &was) && !fstatat(at, name, &is, AT_SYMLINK_NOFOLLOW) &&
	       is.st_dev == was.st_dev && is.st_ino == was.st_ino;
}

/* A folder with the job's key in it, under a name that nobody else takes. */
static int folder_build(int at, const char *base, const struct af_job_rank *job,
                        char name[NAME_MAX + 1])
{
	char text[256];
	int rc = af_unique_name(name, base);

	if (rc)
		return rc;
	scope_close int fd = af_trace_make(at, name);
	scope_close int file = fd < 0 ? fd : af_create_private(fd, AF_JOB_FILE);
	snprintf(text, sizeof text, "%s%s\n", AF_JOB_HEAD, job->key);
	return file < 0 ? file : af_write_all(file, text, strlen(text));
}

enum { RANKS_AT_ONCE = 64 };

/* The folder of another job, while its ranks are looked at. */
struct still {
	const struct af_place *p;
	int fd;
	uint32_t nr;
};

/*
 * 1: a rank of it is recorded. -ESTALE: another rank of our job has moved the folder meanwhile, so
 * that a thousand ranks do not all look at a thousand traces.
 */
static int rank_is_live(void *arg, int dir_fd, const char *name)
{
	struct still *s = arg;

	if (++s->nr % RANKS_AT_ONCE == 0 && !is_at(s->fd, s->p->job_in_fd, s->p->job_name))
		return -ESTALE;
	scope_close int fd = af_trace_folder(dir_fd, name);
	return fd >= 0 && af_room_is_live(fd);
}

/* 0: the name is free now, whoever did it. */
static int folder_move_away(struct af_place *p, int fd, const char *shown, struct af_err *err)
{
	char old[NAME_MAX + 1];
	struct stat st;

	if (fstat(fd, &st))
		return af_fail(err, -errno, "cannot look at %s", shown);
	struct still still = {.p = p, .fd = fd};
	int recorded = af_room_each(fd, rank_is_live, &still);
	if (recorded < 0)
		return 0; /* another rank has moved it */
	if (recorded || af_room_is_live(fd))
		return af_fail_plain(err, -EBUSY,
		                     "another recording in %s goes on: choose another name with "
		                     "-o, as %s-%%j",
		                     shown, shown);
	if ((size_t)snprintf(old, sizeof old, "%s.old-%llu", p->job_name,
	                     (unsigned long long)st.st_ino) >= sizeof old)
		return af_fail_plain(err, -ENAMETOOLONG, "the name %s is too long", shown);
	if (!renameat(p->job_in_fd, p->job_name, p->job_in_fd, old))
		p->out_of_range = st.st_ino;
	else if (errno != ENOENT && !af_name_is_taken(p->job_in_fd, old))
		return af_fail(err, -errno, "cannot keep the old %s as %s", shown, old);
	return 0;
}

/* One look at the name: > 0 try again, 0: *@fd is the job's folder. */
static int folder_try(struct af_place *p, const struct af_job_rank *job, char *built,
                      const char *shown, int *fd, struct af_err *err)
{
	char key[AF_JOB_KEY_SIZE];
	struct stat st;
	scope_close int now = af_trace_folder(p->job_in_fd, p->job_name);

	if (now == -ENOTDIR || now == -ELOOP)
		return af_room_taken(shown, 0, err);
	if (now < 0 && now != -ENOENT)
		return af_room_taken(shown, now, err);
	if (now >= 0 && !fstat(now, &st) && st.st_uid == geteuid() && af_room_job(now, key) &&
	    !strcmp(key, job->key)) {
		*fd = give_fd(now);
		return 0;
	}
	int is = now >= 0 ? af_room_is_trace(now) : 0;
	if (is) {
		int rc = af_room_check_here(now, shown, err);
		rc = rc ? rc : folder_move_away(p, now, shown, err);
		return rc < 0 ? rc : 1;
	}
	if (!*built) {
		int rc = folder_build(p->job_in_fd, p->job_name, job, built);
		return rc ? af_fail(err, rc, "cannot make the folder %s", shown) : 1;
	}
	/* Onto an empty directory, too. */
	if (!renameat(p->job_in_fd, built, p->job_in_fd, p->job_name)) {
		*built = 0;
		return 1;
	}
	if (!af_name_is_taken(p->job_in_fd, p->job_name))
		return af_fail(err, -errno, "cannot make the folder %s", shown);
	return now < 0 || !is_at(now, p->job_in_fd, p->job_name) ? 1 : af_room_taken(shown, 0, err);
}

static int folder_join(struct af_place *p, const struct af_job_rank *job, const char *shown,
                       struct af_err *err)
{
	char built[NAME_MAX + 1] = "";
	int rc = 1, fd = -1;

	for (int i = 0; rc > 0 && i < FOLDER_TRIES; i++)
		rc = folder_try(p, job, built, shown, &fd, err);
	if (*built)
		af_trace_remove(p->job_in_fd, built);
	if (rc > 0)
		return af_fail_plain(err, -EBUSY,
		                     "several jobs fight for the folder %s: choose "
		                     "another name with -o, as %s-%%j",
		                     shown, shown);
	return rc ? rc : fd;
}

/* Where it is, whatever it is called by now. */
static int path_find(struct af_place *p, const char *shown, struct af_err *err)
{
	char link[32], full[PATH_MAX];

	snprintf(link, sizeof link, "/proc/self/fd/%d", p->dir_fd);
	ssize_t n = readlink(link, full, sizeof full - 1);
	if (n <= 0)
		return af_fail(err, -errno, "cannot find %s again", shown);
	full[n] = 0;
	if ((size_t)snprintf(p->dir, sizeof p->dir, "%s", full) >= sizeof p->dir)
		return af_fail_plain(err, -ENAMETOOLONG, "the name %s is too long", full);
	return 0;
}

static int dir_make(struct af_place *p, const char *shown, enum af_room how, struct af_err *err)
{
	int rc = af_room_make(p->in_fd, p->name, shown, how, err);

	if (rc)
		return rc;
	p->dir_fd = af_trace_make(p->in_fd, p->name);
	if (p->dir_fd == -ESTALE)
		return af_fail_plain(err, -ESTALE,
		                     "somebody put another directory in the place of %s: choose "
		                     "another folder with -o",
		                     shown);
	if (p->dir_fd < 0)
		return af_fail(err, p->dir_fd, "cannot make the trace directory %s", shown);
	rc = path_find(p, shown, err);
	if (!rc && mkdirat(p->dir_fd, AF_OBJECTS_DIR, 0700))
		rc = af_fail(err, -errno, "cannot make %s/" AF_OBJECTS_DIR, shown);
	return rc;
}

static void place_close(struct af_place *p)
{
	int *const fds[] = {&p->dir_fd, &p->in_fd, &p->job_in_fd};

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

/* Has another recorder made the directory a moment ago, and nothing in it yet? */
static bool is_being_made(int at, const char *name)
{
	struct stat st;
	scope_close int fd = af_trace_folder(at, name);
	DIR *dir = fd < 0 || fstat(fd, &st) ? NULL : af_dir_list(fd);

	if (!dir)
		return false;
	bool empty = !af_dir_next(dir);
	closedir(dir);
	long long age_s = (long long)time(NULL) - st.st_mtim.tv_sec;
	return empty && age_s > -YOUNG_S && age_s < YOUNG_S;
}

/*
 * rank-0017 in the folder of the job. Where a launcher started two of one number, the second is
 * rank-0017b. A rank that begins anew keeps what it recorded before. A recorder inside a recorded
 * rank is no second rank, and gives way.
 */
static int rank_make(struct af_place *p, const char *folder, const struct af_place_asked *asked,
                     struct af_err *err)
{
	const struct af_job_rank *job = asked->job;
	char shown[PATH_MAX + 64], stem[64];
	int len = snprintf(stem, sizeof stem, "rank-%04llu", strtoull(job->rank, NULL, 10));

	if (job->restarts)
		snprintf(stem + len, sizeof stem - (size_t)len, ".restart-%llu",
		         (unsigned long long)job->restarts);
	for (char letter = 'a';; letter++) {
		char second[2] = {letter == 'a' ? 0 : letter, 0};
		snprintf(p->name, sizeof p->name, "%s%s", stem, second);
		snprintf(shown, sizeof shown, "%s/%s", folder, p->name);
		bool last = letter == 'z' || getenv(AF_SESSION_ENV);
		int rc =
		    !last && is_being_made(p->in_fd, p->name)
			? -EBUSY
			: dir_make(p, shown, asked->force ? AF_ROOM_REPLACE : AF_ROOM_KEEP, err);
		bool taken = rc == -EBUSY || (rc == -EEXIST && is_being_made(p->in_fd, p->name));
		if (!rc && letter > 'a')
			snprintf(p->why, sizeof p->why,
			         "another recorder of rank %s is at work on %.200s/%s", job->rank,
			         folder, stem);
		if (!taken || last)
			return rc;
	}
}

/* @path is a name without a slash at its end. */
static int place_at(struct af_place *p, const char *path, bool in_folder, bool parents,
                    const struct af_place_asked *asked, struct af_err *err)
{
	*p = (struct af_place){.dir_fd = -1, .in_fd = -1, .job_in_fd = -1};
	p->in_fd = parents ? af_parent_make(path, p->name) : af_parent_open(path, p->name);
	if (p->in_fd < 0)
		return af_fail(err, p->in_fd, "cannot make the trace directory %s", path);
	if (in_folder) {
		p->job_in_fd = give_fd(p->in_fd);
		strcpy(p->job_name, p->name);
		p->in_fd = folder_join(p, asked->job, path, err);
		if (p->in_fd < 0)
			return p->in_fd;
		return rank_make(p, path, asked, err);
	}
	return dir_make(p, path, asked->force ? AF_ROOM_REPLACE : AF_ROOM_KEEP, err);
}

/* A trailing slash would make the .old name a file inside. */
static int name_trim(char *name, size_t size, const char *path, struct af_err *err)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (!len)
		return af_fail_plain(err, -EINVAL, "the name of the trace is empty");
	if (len >= size)
		return af_fail_plain(err, -ENAMETOOLONG, "the name %s is too long", path);
	memmove(name, path, len);
	name[len] = 0;
	return 0;
}

int af_place_make(struct af_place *p, const struct af_place_asked *asked, struct af_err *err)
{
	const char *output = asked->output ? asked->output : AF_PLACE_DEFAULT;
	char path[sizeof p->dir - 32], other[sizeof path + 16];

	*p = (struct af_place){.dir_fd = -1, .in_fd = -1, .job_in_fd = -1};
	int pattern = af_job_name(path, sizeof path, output, asked->job, err);
	if (pattern < 0)
		return pattern;
	int trimmed = name_trim(path, sizeof path, path, err);
	if (trimmed)
		return trimmed;

	bool in_folder = asked->job->is_rank && !pattern;
	char why[sizeof p->why] = "";
	int rc = place_at(p, path, in_folder, pattern, asked, err);
	if (rc == -EEXIST && err)
		snprintf(why, sizeof why, "%s", err->msg);
	for (int i = 2; rc == -EEXIST && !asked->output && i < NAMES_TRIED; i++) {
		place_close(p);
		snprintf(other, sizeof other, "%s-%d", path, i);
		rc = place_at(p, other, in_folder, false, asked, err);
		strcpy(p->why, why);
	}
	if (rc) {
		af_place_unmake(p);
		place_close(p);
	}
	return rc;
}

int af_place_make_at(struct af_place *p, const char *path, enum af_room how, struct af_err *err)
{
	char name[sizeof p->dir];

	*p = (struct af_place){.dir_fd = -1, .in_fd = -1, .job_in_fd = -1};
	int rc = name_trim(name, sizeof name, path, err);
	if (rc)
		return rc;
	p->in_fd = af_parent_open(name, p->name);
	rc = p->in_fd < 0 ? af_fail(err, p->in_fd, "cannot make the trace directory %s", name)
	                  : dir_make(p, name, how, err);
	if (rc) {
		af_place_unmake(p);
		place_close(p);
	}
	return rc;
}

void af_place_unmake(struct af_place *p)
{
	if (p->dir_fd < 0)
		return;
	af_trace_clear(p->dir_fd);
	if (is_at(p->dir_fd, p->in_fd, p->name))
		unlinkat(p->in_fd, p->name, AT_REMOVEDIR);
}

/* "aflame.data.old-1234" is what we set aside where 1234 is its inode. */
static int moved_sweep(void *arg, int dir_fd, const char *name)
{
	const struct af_place *p = arg;
	size_t len = strlen(p->job_name);
	struct stat st;

	if (strncmp(name, p->job_name, len) != 0 || strncmp(name + len, ".old-", 5) != 0 ||
	    !isdigit((unsigned char)name[len + 5]))
		return 0;
	scope_close int fd = af_trace_folder(dir_fd, name);
	if (fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() && st.st_ino != p->out_of_range &&
	    strtoull(name + len + 5, NULL, 10) == st.st_ino && af_room_is_trace(fd) > 0 &&
	    !af_place_is_recorded(fd))
		af_room_discard(dir_fd, name);
	return 0;
}

void af_place_leave(struct af_place *p)
{
	if (p->job_in_fd >= 0 && p->out_of_range)
		af_room_each(p->job_in_fd, moved_sweep, p);
	place_close(p);
}
