#include "cmd/shared/names.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "collect/disk/recover.h"
#include "collect/disk/unnamed.h"
#include "sym/sym.h"
#include "trace/read/files.h"
#include "trace/read/origin.h"
#include "trace/read/staged.h"
#include "trace/write/stream.h"

struct naming {
	struct af_naming claim;
	uint64_t shown_ns;
	bool shows, shown;
};

static void names_progress(void *arg, const struct af_sym_progress *p)
{
	struct naming *n = arg;
	uint64_t now = af_now_ns();

	af_unnamed_renew(&n->claim);
	if (!n->shows || now - n->shown_ns < 100000000)
		return;
	n->shown_ns = now;
	n->shown = true;
	fprintf(stderr, "\raflame: naming addresses: %llu of %llu", (unsigned long long)p->resolved,
	        (unsigned long long)p->addresses);
	if (p->fetching)
		fprintf(stderr, ", asking debuginfod for %u files, %.1f MB so far", p->fetching,
		        (double)p->fetched_bytes / 1e6);
	fprintf(stderr, "\033[K");
}

static int names_symbolize(struct naming *n, int dirfd, const char *dir, bool quietly,
                           struct af_sym_shared *shared, struct af_err *err)
{
	n->shows = !quietly && isatty(2);
	n->shown_ns = af_now_ns() + 400000000;
	int rc = af_symbolize(dirfd, dir, shared, names_progress, n, err);
	if (n->shown)
		fprintf(stderr, "\r\033[K");
	return rc ? af_while(err, rc, "while naming addresses") : 0;
}

int af_names_add(int dirfd, const char *dir, uint64_t *spent_ns, struct af_err *err)
{
	struct naming n = {.claim = {.fd = -1}};
	uint64_t begin_ns = af_now_ns();
	int rc = names_symbolize(&n, dirfd, dir, false, NULL, err);

	if (spent_ns)
		*spent_ns = af_now_ns() - begin_ns;
	return rc;
}

int af_names_complete(int dirfd, const char *dir, bool quietly, struct af_sym_shared *shared,
                      struct af_err *err)
{
	struct naming n = {0};
	int rc = af_unnamed_begin(dirfd, &n.claim);

	if (rc)
		return rc == -ENOENT || rc == -EBUSY
		           ? rc
		           : af_fail(err, rc, "cannot write names to %s", dir);
	rc = names_symbolize(&n, dirfd, dir, quietly, shared, err);
	af_unnamed_end(dirfd, &n.claim, !rc);
	return rc;
}

/* The trace reads without them, too. */
static void names_lack(const char *dir, const struct af_err *err)
{
	fprintf(stderr, "aflame: %s has no names yet: %s\n", dir, err->msg);
}

/* The recorder had no room or no time for them. */
static void names_try_again(int dirfd, const char *dir)
{
	struct af_err err = {0};

	if (!af_origin_is_here(dirfd))
		return;
	int rc = af_names_complete(dirfd, dir, false, NULL, &err);
	if (rc && rc != -ENOENT && rc != -EBUSY && rc != -EPERM && rc != -EROFS)
		names_lack(dir, &err);
}

int af_trace_prepare(const char *dir, struct af_err *err)
{
	struct af_staged staged;
	scope_close int dirfd = af_trace_dir_open(dir);

	if (dirfd >= 0 && af_staged_read(dirfd, &staged))
		return af_fail_plain(err, -ENODATA,
		                     "%s is staged on %s at %s: `aflame gather %s` moves it here "
		                     "when its program has ended, if run on that host",
		                     dir, staged.host, staged.path, dir);
	int rc = dirfd < 0 ? 0 : af_recover(dirfd, dir, err);
	if (!rc && dirfd >= 0)
		names_try_again(dirfd, dir);
	if (rc <= 0)
		return rc;
	if (rc == 2) {
		fprintf(stderr,
		        "aflame: %s is unfinished and cannot be finished here (a read-only disk, a "
		        "copy, or a trace of another host): the existing part is shown\n",
		        dir);
		return 0;
	}
	fprintf(stderr, "aflame: the recorder of %s was killed: finishing the trace\n", dir);
	rc = af_unnamed_mark(dirfd);
	rc = rc ? af_fail(err, rc, "cannot finish the trace %s", dir)
	        : af_names_complete(dirfd, dir, false, NULL, err);
	if (rc == -ENOSPC || rc == -EDQUOT)
		names_lack(dir, err); /* the next command tries again */
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EBUSY ? 0 : rc;
}
