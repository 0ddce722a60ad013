#include "trace/read/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "trace/read/files.h"
#include "trace/read/merge.h"
#include "trace/read/near.h"
#include "trace/write/objects.h"
#include "trace/write/session.h"

/* The names of the stream files, sorted as numbers sort (s2 before s10). */
struct names {
	char **items;
	uint32_t nr;
};

static void names_free(struct names *n)
{
	for (uint32_t i = 0; i < n->nr; i++)
		free(n->items[i]);
	free(n->items);
}

static int names_order(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int names_list(struct names *n, int dirfd, const char *dir, struct af_err *err)
{
	DIR *d = af_dir_list(dirfd);

	if (!d)
		return af_fail(err, -errno, "cannot list %s", dir);
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.' || !strcmp(e->d_name, AF_METADATA_FILE))
			continue;
		n->items = af_xrealloc(n->items, (n->nr + 1) * sizeof *n->items);
		n->items[n->nr++] = af_xstrdup(e->d_name);
	}
	closedir(d);
	AF_SORT(n->items, n->nr, names_order);
	return 0;
}

/* Another user's: nobody but he reads it, and root. */
static int dir_refused(const char *dir, struct af_err *err)
{
	struct stat st;

	if (stat(dir, &st) || st.st_uid == geteuid())
		return af_fail(err, -EACCES, "cannot open the trace %s", dir);
	return af_fail_plain(
	    err, -EACCES,
	    "permission denied: the trace %s belongs to user %u%s: read it as that "
	    "user or as root (sudo), or have it given: chown -R %u %s",
	    dir, st.st_uid, st.st_uid ? "" : " (root)", geteuid(), dir);
}

static int open_dir(const char *dir, struct af_err *err)
{
	int fd = af_trace_dir_open(dir);

	if (fd >= 0)
		return fd;
	if (fd == -ENOENT)
		return af_fail_plain(
		    err, -ENOENT,
		    "no trace in %s: run `aflame record -- CMD` first, or name the "
		    "trace directory",
		    dir);
	if (fd == -ENOTDIR)
		return af_fail_plain(err, -ENOTDIR,
		                     "%s is a file, and a trace is a directory: name the directory "
		                     "that `aflame record` wrote",
		                     dir);
	if (fd == -EACCES)
		return dir_refused(dir, err);
	return af_fail(err, fd, "cannot open the trace %s", dir);
}

static int read_metadata(struct af_trace *t, const char *dir, struct af_err *err)
{
	struct af_file f;
	int rc = af_file_map_at(&f, t->dirfd, AF_METADATA_FILE);

	if (rc == -ENOENT && af_trace_has(t->dirfd, AF_SESSION_FILE))
		return af_fail_plain(err, -EBUSY,
		                     "the recording in %s is not finished: it has not written its "
		                     "metadata yet, or was killed before it could",
		                     dir);
	if (rc == -ENOENT)
		return af_fail_plain(err, -ENOENT,
		                     "%s is not a trace: it has no file named metadata", dir);
	if (rc)
		return af_fail(err, rc, "cannot read %s/metadata", dir);
	rc = af_metadata_read(&t->env, (const char *)f.data, f.size, dir, err);
	af_file_unmap(&f);
	return rc;
}

/* A stream is a regular file; objects/, for example, is none. */
static int map_streams(struct af_trace *t, const struct names *n, const char *dir,
                       struct af_err *err)
{
	t->files = af_xcalloc(n->nr + 1, sizeof *t->files);
	t->cursors = af_xcalloc(n->nr + 1, sizeof *t->cursors);
	for (uint32_t i = 0; i < n->nr; i++) {
		struct af_file *f = &t->files[t->nr_streams];
		int rc = af_file_map_at(f, t->dirfd, n->items[i]);
		if (rc == -EISDIR || rc == -EINVAL || rc == -ELOOP)
			continue;
		if (rc)
			return af_fail(err, rc, "cannot read %s/%s", dir, n->items[i]);
		if (f->data)
			madvise((void *)f->data, f->size, MADV_SEQUENTIAL);
		struct af_cursor *c = &t->cursors[t->nr_streams++];
		af_cursor_open(c, &t->filter, f->data, f->size, n->items[i]);
		c->mapped = true;
	}
	return 0;
}

static int trace_open(struct af_trace **ret, int dirfd, const char *dir, uint64_t wanted,
                      const struct af_near *near, struct af_err *err)
{
	int fd = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return af_fail(err, -errno, "cannot open the trace %s", dir);

	struct af_trace *t = af_xcalloc(1, sizeof *t);
	struct names names = {0};
	t->dirfd = fd;
	af_filter_init(&t->filter, wanted, &t->damage);
	int rc = read_metadata(t, dir, err);
	if (!rc)
		rc = names_list(&names, fd, dir, err);
	if (!rc)
		rc = map_streams(t, &names, dir, err);
	names_free(&names);
	if (rc) {
		af_trace_close(t);
		return rc;
	}
	if (near)
		af_merge_near(t, near);
	af_merge_start(t);
	*ret = t;
	return 0;
}

int af_trace_open_at(struct af_trace **ret, int dirfd, const char *dir, uint64_t wanted,
                     struct af_err *err)
{
	return trace_open(ret, dirfd, dir, wanted, NULL, err);
}

int af_trace_open_near(struct af_trace **ret, const char *dir, uint64_t wanted,
                       const struct af_near *near, struct af_err *err)
{
	scope_close int fd = open_dir(dir, err);

	return fd < 0 ? fd : trace_open(ret, fd, dir, wanted, near, err);
}

int af_trace_open(struct af_trace **ret, const char *dir, uint64_t wanted, struct af_err *err)
{
	return af_trace_open_near(ret, dir, wanted, NULL, err);
}

void af_trace_each_event(const struct af_trace *t, const char *name, uint64_t kinds,
                         void (*take)(void *arg, const struct af_event *ev), void *arg)
{
	struct af_trace_damage damage = {0}; /* is counted by those who read everything */
	struct af_filter filter;
	struct af_cursor c;

	af_filter_init(&filter, kinds, &damage);
	for (uint32_t i = 0; i < t->nr_streams; i++) {
		const struct af_cursor *of = &t->cursors[i];

		if (strcmp(of->name, name) != 0)
			continue;
		af_cursor_open(&c, &filter, of->data, of->size, name);
		while (af_cursor_next(&c)) {
			const struct af_event ev = {.kind = c.kind,
			                            .time_ns = c.time_ns,
			                            .payload = c.payload,
			                            .payload_size = c.payload_size};
			take(arg, &ev);
		}
	}
}

void af_trace_detach(struct af_trace *t)
{
	if (t->dirfd >= 0)
		close(t->dirfd);
	t->dirfd = -1;
}

void af_trace_close(struct af_trace *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->nr_streams; i++) {
		if (t->files)
			af_file_unmap(&t->files[i]);
		else
			af_cursor_drop(&t->cursors[i]);
	}
	if (t->lookup)
		t->lookup_free(t->lookup);
	free(t->files);
	free(t->cursors);
	free(t->heap);
	af_env_free(&t->env);
	af_trace_detach(t);
	free(t);
}

const struct af_trace_damage *af_trace_damage(const struct af_trace *t)
{
	return &t->damage;
}

bool af_trace_damage_text(const struct af_trace_damage *d, char *text, size_t size)
{
	const struct {
		uint64_t n;
		const char *what;
	} parts[] = {
	    {d->packets, "bad packets"},
	    {d->missing, "missing packets"},
	    {d->disordered, "packets out of order"},
	    {d->events, "malformed events"},
	    {d->retimed, "events with an impossible time"},
	    {d->bytes, "unreadable bytes"},
	};
	size_t used = 0;

	text[0] = 0;
	if (!d->first[0])
		return false;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!parts[i].n || used >= size)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%llu %s", used ? ", " : "",
		                         (unsigned long long)parts[i].n, parts[i].what);
	}
	if (used < size)
		snprintf(text + used, size - used, "; the first: %s", d->first);
	return true;
}

uint32_t af_trace_nr_streams(const struct af_trace *t)
{
	return t->nr_streams;
}

uint64_t af_trace_instance(const struct af_trace *t, uint32_t stream)
{
	return stream < t->nr_streams ? t->cursors[stream].packet.instance : 0;
}

uint64_t af_trace_start_ns(const struct af_trace *t)
{
	return t->start_ns;
}

uint64_t af_trace_size(const struct af_trace *t)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < t->nr_streams; i++)
		size += t->cursors[i].size;
	return size;
}

uint64_t af_trace_position(const struct af_trace *t)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < t->nr_streams; i++)
		at += t->cursors[i].at;
	return at;
}

const char *af_trace_env(const struct af_trace *t, const char *key)
{
	return af_env_get(&t->env, key);
}

int af_trace_object(const struct af_trace *t, const char *name, struct af_file *f,
                    struct af_err *err)
{
	return af_object_map(f, t->dirfd, name, err);
}
