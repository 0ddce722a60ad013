#include "cmd/shared/together.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/set/read.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/scope.h"
#include "cmd/output/progress.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"

/* One reading by one process. */
struct together {
	const struct af_together *how;
	struct af_progress progress;
};

static bool is_trace(const char *path)
{
	scope_close int fd = af_trace_dir_open(path);

	return fd >= 0 && af_trace_is_one(fd);
}

bool af_together_idle(const char *path)
{
	return is_trace(path) && af_reduce_launched_rank() > 0;
}

static void *together_read(void *arg, const struct af_member *who, struct af_err *err)
{
	const struct together *t = arg;

	return t->how->read(t->how->sum, who, err);
}

static int together_take(void *arg, const struct af_member *who, void *result,
                         const struct af_err *why)
{
	const struct together *t = arg;

	return t->how->take(t->how->sum, who, result, why);
}

static void together_progress(void *arg, uint64_t done, uint64_t nr)
{
	struct together *t = arg;

	af_progress_tell(&t->progress, done, nr);
}

/* Process 0's list becomes that of all; @rc is what became of it there. */
static int together_hand_out(struct af_reduce *r, struct af_set *set, int rc, struct af_err *err)
{
	struct af_buf b = {0};
	const int64_t status = rc;

	if (!r->rank) {
		af_buf_add(&b, &status, sizeof status);
		if (!rc)
			af_set_write(set, &b);
	}
	int sent = af_reduce_broadcast(r, &b, err);
	struct af_cursor c = af_buf_cursor(&b);
	int64_t theirs = (int64_t)af_cursor_uint(&c, sizeof theirs);
	if (r->rank && !sent && (c.bad || theirs)) {
		rc = af_fail_plain(err, -ENODATA, "process 0 could not list the set");
	} else if (r->rank && !sent) {
		af_set_close(set);
		rc = af_set_read_bytes(set, c.at, (size_t)(c.end - c.at), err);
	}
	af_buf_free(&b);
	return rc ? rc : sent;
}

/* Without an MPI that it can use, another process reads all. */
static bool has_no_part(const struct af_reduce *r)
{
	return r->silent && r->size == 1;
}

/* A folder of 100,000 entries is not listed by each. */
int af_together_list(struct af_reduce *r, const char *path, struct af_set *set, struct af_err *err)
{
	*set = (struct af_set){0};
	if (has_no_part(r))
		return 0;
	int rc = r->rank ? 0 : af_set_open(set, path, err);
	return r->size > 1 ? together_hand_out(r, set, rc, err) : rc;
}

/* Shares the members out; the place of the part is that of its results among those of all. */
static int together_share(struct af_reduce *r, const struct af_set *set,
                          struct af_reduce_part *part, struct af_err *err)
{
	const char **hosts = af_xcalloc((size_t)set->nr + 1, sizeof *hosts);

	for (uint32_t i = 0; i < set->nr; i++)
		hosts[i] = set->members[i].host;
	int rc = af_reduce_share(r, hosts, set->nr, part, err);
	free(hosts);
	return rc;
}

int af_together_part(struct af_reduce *r, const struct af_together *how, struct af_set *set,
                     struct af_err *err)
{
	struct together t = {.how = how};
	struct af_reduce_part part;

	if (has_no_part(r))
		return 0;
	int rc = together_share(r, set, &part, err);
	if (!rc) {
		if (how->prepare)
			how->prepare(how->sum, set, part.first, part.nr);
		const struct af_set_reading reading = {
		    .set = set,
		    .first = part.first,
		    .nr = part.nr,
		    .threads = af_set_threads(how->jobs),
		    .read = together_read,
		    .take = together_take,
		    .drop = how->drop,
		    .progress = r->silent ? NULL : together_progress,
		    .arg = &t,
		};
		t.progress = af_progress_begin(how->what);
		rc = af_set_read(&reading);
		af_progress_end(&t.progress);
		rc = af_reduce_join(r, &part, &how->ops, how->sum, rc, err);
	}
	free(part.at);
	return rc;
}

void af_together_open(struct af_reduce *r)
{
	af_reduce_open(r);
	if (*r->alone && !r->silent)
		fprintf(stderr, "aflame: one process reads all: %s\n", r->alone);
}

int af_together_members(const struct af_together *how, struct af_set *set, bool *silent,
                        struct af_err *err)
{
	struct af_reduce r;
	int rc = 0;

	af_together_open(&r);
	*silent = r.silent;
	if (r.size > 1)
		rc = together_hand_out(&r, set, 0, err);
	rc = rc ? rc : af_together_part(&r, how, set, err);
	af_reduce_close(&r);
	return r.silent ? 0 : rc;
}

int af_together_read(const struct af_together *how, const char *path, struct af_set *set,
                     bool *silent, struct af_err *err)
{
	struct af_reduce r = {.size = 1};

	if (!is_trace(path))
		af_together_open(&r);
	*silent = r.silent;
	int rc = af_together_list(&r, path, set, err);
	rc = rc ? rc : af_together_part(&r, how, set, err);
	af_reduce_close(&r);
	/* Process 0 has the failure of all, and reports it. */
	return r.silent ? 0 : rc;
}
