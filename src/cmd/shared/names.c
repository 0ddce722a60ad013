#include "cmd/shared/names.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "collect/disk/recover.h"
#include "sym/sym.h"
#include "trace/read/files.h"
#include "trace/write/stream.h"

static void names_progress(void *arg, const struct af_sym_progress *p)
{
	uint64_t *shown_ns = arg, now = af_now_ns();

	if (now - *shown_ns < 100000000)
		return;
	*shown_ns = now;
	fprintf(stderr, "\raflame: naming addresses: %llu of %llu", (unsigned long long)p->resolved,
	        (unsigned long long)p->addresses);
	if (p->fetching)
		fprintf(stderr, ", asking debuginfod for %u files, %.1f MB so far", p->fetching,
		        (double)p->fetched_bytes / 1e6);
	fprintf(stderr, "\033[K");
}

int af_names_add(int dirfd, const char *dir, uint64_t *spent_ns, struct af_err *err)
{
	uint64_t begin_ns = af_now_ns(), shown_ns = begin_ns + 400000000;
	uint64_t first_ns = shown_ns;
	int rc = af_symbolize(dirfd, dir, isatty(2) ? names_progress : NULL, &shown_ns, err);

	if (shown_ns != first_ns)
		fprintf(stderr, "\r\033[K");
	if (spent_ns)
		*spent_ns = af_now_ns() - begin_ns;
	return rc ? af_while(err, rc, "while naming addresses") : 0;
}

/* The trace reads without them, too. */
static void names_lack(const char *dir, const struct af_err *err)
{
	fprintf(stderr, "aflame: %s has no names yet: %s\n", dir, err->msg);
}

/* There was no room for them when it was recorded. */
static void names_try_again(int dirfd, const char *dir)
{
	struct af_err err = {0};
	scope_close int fd = af_unnamed_begin(dirfd);

	if (fd < 0)
		return;
	if (!af_names_add(dirfd, dir, NULL, &err))
		af_unnamed_end(dirfd);
	else
		names_lack(dir, &err);
}

int af_trace_prepare(const char *dir, struct af_err *err)
{
	scope_close int dirfd = af_trace_dir_open(dir);
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
	rc = af_names_add(dirfd, dir, NULL, err);
	if (rc == -ENOSPC || rc == -EDQUOT) {
		names_lack(dir, err);
		return 0; /* the next command tries again */
	}
	if (!rc)
		af_recovered(dirfd);
	return rc;
}
