#include "collect/place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/scope.h"
#include "collect/job.h"
#include "collect/recover.h"
#include "trace/session.h"

enum { JOB_KEY_SIZE = 256, FOLDER_TRIES = 100, NAMES_TRIED = 1000 };

static const char job_head[] = "aflame job ";

static int dir_open(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

static int file_open(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static bool has(int dir_fd, const char *name)
{
	return !faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Up to @size - 1 bytes of @name in @dir_fd; "" where there are none. 0 or -errno. */
static int text_read(int dir_fd, const char *name, char *text, size_t size)
{
	scope_close int fd = file_open(dir_fd, name);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	int rc = n < 0 ? -errno : 0;

	text[n > 0 ? n : 0] = 0;
	return rc;
}

/* The key of the job whose ranks are in @dir_fd; false: it is no folder of ranks. */
static bool job_read(int dir_fd, char key[JOB_KEY_SIZE])
{
	char text[512];

	text_read(dir_fd, AF_JOB_FILE, text, sizeof text);
	if (strncmp(text, job_head, sizeof job_head - 1) != 0)
		return false;
	text[strcspn(text, "\n")] = 0;
	text[sizeof job_head - 1 + JOB_KEY_SIZE - 1] = 0;
	strcpy(key, text + sizeof job_head - 1);
	return true;
}

static bool is_job(int dir_fd)
{
	char key[JOB_KEY_SIZE];

	return job_read(dir_fd, key);
}

/* Is it a trace of ours, or a folder of them? An unfinished one counts. -errno: nobody can tell. */
static int is_ours(int dir_fd)
{
	char head[8192];

	if (has(dir_fd, AF_SESSION_FILE) || is_job(dir_fd))
		return true;
	int rc = text_read(dir_fd, "metadata", head, sizeof head);
	if (rc == -ENOENT || rc == -EISDIR || rc == -ELOOP)
		return 0;
	return rc ? rc : strstr(head, "aflame") != NULL;
}

static bool trace_is_recorded(int dir_fd)
{
	scope_close int fd = file_open(dir_fd, AF_SESSION_FILE);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

/* Is @dir_fd what is called @name now? */
static bool is_at(int dir_fd, int at, const char *name)
{
	struct stat was, is;

	return !fstat(dir_fd, &was) && !fstatat(at, name, &is, AT_SYMLINK_NOFOLLOW) &&
	       is.st_dev == was.st_dev && is.st_ino == was.st_ino;
}

/* Calls @each for the directories in @dir_fd until it returns other than 0, and returns that. */
static int each_dir(int dir_fd, int (*each)(void *arg, int dir_fd, const char *name), void *arg)
{
	DIR *dir = af_dir_list(dir_fd);
	int rc = 0;

	if (!dir)
		return 0;
	for (struct dirent *e; !rc && (e = readdir(dir));) {
		bool may = e->d_type == DT_DIR || e->d_type == DT_UNKNOWN;
		if (may && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = each(arg, dir_fd, e->d_name);
	}
	closedir(dir);
	return rc;
}

static int rank_is_recorded(void *arg, int dir_fd, const char *name)
{
	(void)arg;
	scope_close int fd = dir_open(dir_fd, name);
	return fd >= 0 && trace_is_recorded(fd);
}

bool af_place_is_recorded(int dir_fd)
{
	return trace_is_recorded(dir_fd) ||
	       (is_job(dir_fd) && each_dir(dir_fd, rank_is_recorded, NULL));
}

/* What a killed recorder left in shared memory is found through its trace only. */
static int rank_recover(void *arg, int dir_fd, const char *name)
{
	(void)arg;
	scope_close int fd = dir_open(dir_fd, name);
	if (fd >= 0)
		af_recover_at(fd, name, NULL);
	return 0;
}

static int discard(int at, const char *name)
{
	scope_close int fd = dir_open(at, name);

	if (fd >= 0 && is_job(fd))
		each_dir(fd, rank_recover, NULL);
	else if (fd >= 0)
		af_recover_at(fd, name, NULL);
	return af_remove_tree_at(at, name);
}

static int taken(const char *shown, int why, struct af_err *err)
{
	if (why)
		return af_fail(
		    err, why, "%s exists, and whether it is an aflame trace cannot be seen", shown);
	return af_fail_plain(err, -EEXIST,
	                     "%s exists and is not an aflame trace: choose another name with -o",
	                     shown);
}

static int keep_as_old(int at, const char *name, const char *shown, struct af_err *err)
{
	char old[NAME_MAX + 1];

	if ((size_t)snprintf(old, sizeof old, "%s.old", name) >= sizeof old)
		return af_fail_plain(err, -ENAMETOOLONG, "the name %s is too long", shown);
	scope_close int fd = dir_open(at, old);
	int rc = fd >= 0 && is_ours(fd) > 0 ? discard(at, old) : 0;
	if (rc)
		return af_fail(err, rc, "cannot remove %s.old", shown);
	if (renameat(at, name, at, old))
		return af_fail(err, -errno,
		               "cannot keep the old trace as %s.old: make the folder writable, or "
		               "choose another name with -o",
		               shown);
	return 0;
}

/* Make room for the new trace: an old one steps aside, anything else is refused. */
static int make_room(int at, const char *name, const char *shown, bool force, struct af_err *err)
{
	scope_close int fd = dir_open(at, name);

	if (fd == -ENOENT)
		return 0;
	if (fd == -ENOTDIR || fd == -ELOOP)
		return af_fail_plain(
		    err, -EEXIST, "%s exists and is not a directory: choose another name with -o",
		    shown);
	if (fd < 0)
		return af_fail(err, fd, "cannot look at %s", shown);
	if (!unlinkat(at, name, AT_REMOVEDIR))
		return 0; /* it was empty */
	int ours = is_ours(fd);
	if (ours <= 0)
		return taken(shown, ours, err);
	if (af_place_is_recorded(fd))
		return af_fail_plain(err, -EBUSY,
		                     "%s is still being recorded: wait for the program to end, or "
		                     "choose another name with -o",
		                     shown);
	int rc = is_job(fd) ? 0 : af_recover_at(fd, shown, err);
	if (rc == 1)
		unlinkat(fd, AF_SESSION_FILE, 0);
	if (rc < 0 || !force)
		return rc < 0 ? rc : keep_as_old(at, name, shown, err);
	rc = discard(at, name);
	return rc ? af_fail(err, rc, "cannot remove the old trace %s", shown) : 0;
}

/* A folder with the job's key in it, under a name that nobody else takes. */
static int folder_build(int at, const char *base, const struct af_job_rank *job, char *name,
                        size_t size)
{
	uint64_t random;
	char text[256];

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return -EIO;
	if ((size_t)snprintf(name, size, ".%s.%016llx", base, (unsigned long long)random) >= size)
		return -ENAMETOOLONG;
	if (mkdirat(at, name, 0700))
		return -errno;
	scope_close int fd = dir_open(at, name);
	scope_close int file = fd < 0 ? fd : af_create_private(fd, AF_JOB_FILE);
	snprintf(text, sizeof text, "%s%s\n", job_head, job->key);
	return file < 0 ? file : af_write_all(file, text, strlen(text));
}

/* 0: the name is free now, whoever did it. */
static int folder_set_aside(struct af_place *p, int fd, const char *shown, struct af_err *err)
{
	char old[NAME_MAX + 1];
	struct stat st;

	if (fstat(fd, &st))
		return af_fail(err, -errno, "cannot look at %s", shown);
	if (af_place_is_recorded(fd))
		return af_fail_plain(err, -EBUSY,
		                     "another recording in %s goes on: choose another name with "
		                     "-o, as %s-%%j",
		                     shown, shown);
	if ((size_t)snprintf(old, sizeof old, "%s.old-%llu", p->job_name,
	                     (unsigned long long)st.st_ino) >= sizeof old)
		return af_fail_plain(err, -ENAMETOOLONG, "the name %s is too long", shown);
	if (!renameat(p->job_in_fd, p->job_name, p->job_in_fd, old))
		p->aside = st.st_ino;
	else if (errno != ENOENT && errno != EEXIST && errno != ENOTEMPTY)
		return af_fail(err, -errno, "cannot keep the old %s as %s", shown, old);
	return 0;
}

/* One look at the name: > 0 try again, 0: *@fd is the job's folder. */
static int folder_try(struct af_place *p, const struct af_job_rank *job, char *built,
                      const char *shown, int *fd, struct af_err *err)
{
	char key[JOB_KEY_SIZE];
	struct stat st;
	scope_close int now = dir_open(p->job_in_fd, p->job_name);

	if (now == -ENOTDIR || now == -ELOOP)
		return taken(shown, 0, err);
	if (now < 0 && now != -ENOENT)
		return af_fail(err, now, "cannot look at %s", shown);
	bool is = now >= 0 && job_read(now, key);
	if (is && (fstat(now, &st) || st.st_uid != geteuid()))
		return af_fail_plain(
		    err, -EPERM, "%s belongs to another user: choose another name with -o", shown);
	if (is && !strcmp(key, job->key)) {
		*fd = give_fd(now);
		return 0;
	}
	int ours = now >= 0 ? is_ours(now) : 0;
	if (ours < 0)
		return taken(shown, ours, err);
	if (ours) {
		int rc = folder_set_aside(p, now, shown, err);
		return rc < 0 ? rc : 1;
	}
	if (!*built) {
		int rc = folder_build(p->job_in_fd, p->job_name, job, built, NAME_MAX + 1);
		return rc ? af_fail(err, rc, "cannot make the folder %s", shown) : 1;
	}
	/* Onto an empty directory, too. */
	if (!renameat(p->job_in_fd, built, p->job_in_fd, p->job_name)) {
		*built = 0;
		return 1;
	}
	if (errno != ENOTEMPTY && errno != EEXIST)
		return af_fail(err, -errno, "cannot make the folder %s", shown);
	return now < 0 || !is_at(now, p->job_in_fd, p->job_name) ? 1 : taken(shown, 0, err);
}

static int folder_join(struct af_place *p, const struct af_job_rank *job, const char *shown,
                       struct af_err *err)
{
	char built[NAME_MAX + 1] = "";
	int rc = 1, fd = -1;

	for (int i = 0; rc > 0 && i < FOLDER_TRIES; i++)
		rc = folder_try(p, job, built, shown, &fd, err);
	if (*built)
		af_remove_tree_at(p->job_in_fd, built);
	if (rc > 0)
		return af_fail_plain(err, -EBUSY,
		                     "several jobs fight for the folder %s: choose "
		                     "another name with -o, as %s-%%j",
		                     shown, shown);
	return rc ? rc : fd;
}

static void parents_make(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = 0;
		mkdir(path, 0777);
	}
	mkdir(path, 0777);
}

/* The directory that @path lies in, and its name there. */
static int parent_open(const char *path, char name[NAME_MAX + 1], bool make)
{
	char parent[PATH_MAX] = ".";
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	if (strlen(base) > NAME_MAX)
		return -ENAMETOOLONG;
	strcpy(name, base);
	if (slash)
		snprintf(parent, sizeof parent, "%.*s", (int)(slash > path ? slash - path : 1),
		         path);
	if (make)
		parents_make(parent);
	int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Where it is, whatever it is called by now. */
static int path_find(struct af_place *p, const char *shown, struct af_err *err)
{
	char link[32], full[PATH_MAX];

	snprintf(link, sizeof link, "/proc/self/fd/%d", p->dir_fd);
	ssize_t n = readlink(link, full, sizeof full - 1);
	if (n > 0)
		full[n] = 0;
	else if (!realpath(shown, full))
		return af_fail(err, -errno, "cannot find %s again", shown);
	if ((size_t)snprintf(p->dir, sizeof p->dir, "%s", full) >= sizeof p->dir)
		return af_fail_plain(err, -ENAMETOOLONG, "the name %s is too long", full);
	return 0;
}

static int dir_make(struct af_place *p, const char *shown, bool force, struct af_err *err)
{
	int rc = make_room(p->in_fd, p->name, shown, force, err);

	if (rc)
		return rc;
	if (mkdirat(p->in_fd, p->name, 0700))
		return af_fail(err, -errno, "cannot make the trace directory %s", shown);
	p->dir_fd = dir_open(p->in_fd, p->name);
	if (p->dir_fd < 0)
		return af_fail(err, p->dir_fd, "cannot open %s", shown);
	rc = path_find(p, shown, err);
	if (!rc && mkdirat(p->dir_fd, "objects", 0700))
		rc = af_fail(err, -errno, "cannot make %s/objects", shown);
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

/* @path is a name without a slash at its end. */
static int place_at(struct af_place *p, const char *path, bool in_folder, bool parents,
                    const struct af_place_asked *asked, struct af_err *err)
{
	char shown[PATH_MAX + 32];

	*p = (struct af_place){.dir_fd = -1, .in_fd = -1, .job_in_fd = -1};
	snprintf(shown, sizeof shown, "%s", path);
	p->in_fd = parent_open(path, p->name, parents);
	if (p->in_fd < 0)
		return af_fail(err, p->in_fd, "cannot make the trace directory %s", path);
	if (in_folder) {
		p->job_in_fd = give_fd(p->in_fd);
		strcpy(p->job_name, p->name);
		p->in_fd = folder_join(p, asked->job, path, err);
		if (p->in_fd < 0)
			return p->in_fd;
		snprintf(p->name, sizeof p->name, "rank-%04llu",
		         strtoull(asked->job->rank, NULL, 10));
		snprintf(shown, sizeof shown, "%s/%s", path, p->name);
	}
	return dir_make(p, shown, asked->force, err);
}

int af_place_make(struct af_place *p, const struct af_place_asked *asked, struct af_err *err)
{
	const char *output = asked->output ? asked->output : AF_PLACE_DEFAULT;
	char path[sizeof p->dir - 32], other[sizeof path + 16];

	*p = (struct af_place){.dir_fd = -1, .in_fd = -1, .job_in_fd = -1};
	int pattern = af_job_name(path, sizeof path, output, asked->job, err);
	if (pattern < 0)
		return pattern;
	/* A trailing slash would make the .old name a file inside. */
	size_t len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		path[--len] = 0;
	if (!len)
		return af_fail_plain(err, -EINVAL, "the name of the trace is empty");

	bool in_folder = asked->job->is_rank && !pattern;
	int rc = place_at(p, path, in_folder, pattern, asked, err);
	for (int i = 2; rc == -EEXIST && !asked->output && i < NAMES_TRIED; i++) {
		place_close(p);
		snprintf(other, sizeof other, "%s-%d", path, i);
		rc = place_at(p, other, in_folder, false, asked, err);
		p->other_name = !rc;
	}
	if (rc) {
		if (p->dir_fd >= 0)
			af_place_unmake(p);
		place_close(p);
	}
	return rc;
}

void af_place_unmake(struct af_place *p)
{
	if (p->dir_fd >= 0 && is_at(p->dir_fd, p->in_fd, p->name))
		af_remove_tree_at(p->in_fd, p->name);
}

/* "aflame.data.old-1234" is what we set aside where 1234 is its inode. */
static int aside_sweep(void *arg, int dir_fd, const char *name)
{
	const struct af_place *p = arg;
	size_t len = strlen(p->job_name);
	struct stat st;

	if (strncmp(name, p->job_name, len) != 0 || strncmp(name + len, ".old-", 5) != 0 ||
	    !isdigit((unsigned char)name[len + 5]))
		return 0;
	scope_close int fd = dir_open(dir_fd, name);
	if (fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() && st.st_ino != p->aside &&
	    strtoull(name + len + 5, NULL, 10) == st.st_ino && is_ours(fd) > 0 &&
	    !af_place_is_recorded(fd))
		discard(dir_fd, name);
	return 0;
}

void af_place_leave(struct af_place *p)
{
	if (p->job_in_fd >= 0 && p->aside)
		each_dir(p->job_in_fd, aside_sweep, p);
	place_close(p);
}
