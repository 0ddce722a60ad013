#include "cmd/names.h"

#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/recover.h"
#include "sym/sym.h"
#include "trace/stream.h"

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

int af_names_add(const char *dir, uint64_t *spent_ns, struct af_err *err)
{
	uint64_t begin_ns = af_now_ns(), shown_ns = begin_ns + 400000000;
	uint64_t first_ns = shown_ns;
	int rc = af_sym_bake(dir, isatty(2) ? names_progress : NULL, &shown_ns, err);

	if (shown_ns != first_ns)
		fprintf(stderr, "\r\033[K");
	if (spent_ns)
		*spent_ns = af_now_ns() - begin_ns;
	return rc ? af_while(err, rc, "while naming addresses") : 0;
}

int af_trace_prepare(const char *dir, struct af_err *err)
{
	int rc = af_recover(dir, err);

	if (rc <= 0)
		return rc;
	if (rc == 2) {
		fprintf(
		    stderr,
		    "aflame: %s is unfinished and cannot be finished here (a read-only disk, or "
		    "its recorder was killed on another host): what is there is shown\n",
		    dir);
		return 0;
	}
	fprintf(stderr, "aflame: the recorder of %s was killed: finishing the trace\n", dir);
	rc = af_names_add(dir, NULL, err);
	if (!rc)
		af_recovered(dir);
	return rc;
}
