#include "cmd/shared/ranks.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/table/table.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "cmd/shared/names.h"
#include "cmd/shared/summary.h"
#include "collect/disk/place.h"
#include "render/text/tables.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"
#include "trace/read/merge.h"
#include "trace/read/reader.h"
#include "trace/write/session.h"

/* A trace in a folder of ranks, as the recorder's own stream tells it. */
struct rank {
	char name[NAME_MAX + 1]; /* of its directory */
	uint64_t rank, pid, cpu_ns;
	char host[128], status[64];
	const char *state;
	bool has_rank, has_cpu;
};

struct ranks {
	struct rank *items;
	uint32_t nr, cap;
};

/* A number and nothing else. */
static bool rank_parse(const char *text, uint64_t *rank)
{
	char *end;

	errno = 0;
	*rank = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

static void rank_note(struct rank *r, const char *key, const char *value)
{
	if (!strcmp(key, "rank")) {
		r->has_rank = rank_parse(value, &r->rank);
	} else if (!strcmp(key, "pid")) {
		r->pid = strtoull(value, NULL, 10);
	} else if (!strcmp(key, "host")) {
		snprintf(r->host, sizeof r->host, "%.*s", (int)strcspn(value, ","), value);
	}
}

static void rank_end(struct rank *r, const struct af_ev_process_end *end)
{
	/*
	 * Only for the program does the recorder know both; older traces have WAIT, with its
	 * children.
	 */
	if (end->source != AF_USAGE_WAIT && (end->source != AF_USAGE_ENDED || end->status == -1))
		return;
	if (end->source == AF_USAGE_WAIT) {
		r->cpu_ns = end->user_ns + end->kernel_ns;
		r->has_cpu = true;
	}
	if (WIFSIGNALED(end->status))
		snprintf(r->status, sizeof r->status, "signal %d (%s)", WTERMSIG(end->status),
		         strsignal(WTERMSIG(end->status)));
	else
		snprintf(r->status, sizeof r->status, "%d", WEXITSTATUS(end->status));
}

/* The recorder's stream answers in a few kilobytes, without reading the whole trace. */
static bool rank_read(struct rank *r, int dir_fd)
{
	struct af_file f;
	struct af_trace *t;
	struct af_event ev;
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_process_end end;
	struct af_ev_usage usage;
	const uint64_t wanted =
	    1ull << AF_KIND_NOTE | 1ull << AF_KIND_PROCESS_END | 1ull << AF_KIND_USAGE;

	if (af_file_map_at(&f, dir_fd, "recorder"))
		return false;
	const struct af_stream_bytes bytes = {f.data, f.size};
	int rc = af_trace_open_memory(&t, &bytes, 1, wanted);
	while (!rc && af_trace_next(t, &ev)) {
		if (ev.kind == AF_KIND_NOTE && af_event_decode(&ev, NULL, 0, tails))
			rank_note(r, (const char *)tails[0].data, (const char *)tails[1].data);
		if (ev.kind == AF_KIND_PROCESS_END && af_event_decode(&ev, &end, sizeof end, tails))
			rank_end(r, &end);
		if (ev.kind == AF_KIND_USAGE && af_event_decode(&ev, &usage, sizeof usage, tails) &&
		    !usage.process && usage.whose == AF_USAGE_CHILDREN) {
			r->cpu_ns = usage.user_ns + usage.kernel_ns;
			r->has_cpu = true;
		}
	}
	if (!rc)
		af_trace_close(t);
	af_file_unmap(&f);
	return r->has_rank;
}

static int ranks_order(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->name, y->name);
}

/* Is it a backup, "rank-0000.old", or a snapshot, "rank-0000.1", of a trace beside it? */
static bool is_copy(int fd, const char *name)
{
	char of[NAME_MAX + 1];
	const char *dot = strrchr(name, '.');

	if (!dot || dot == name ||
	    (strcmp(dot, ".old") != 0 && (!dot[1] || dot[1 + strspn(dot + 1, "0123456789")])))
		return false;
	snprintf(of, sizeof of, "%.*s", (int)(dot - name), name);
	return af_trace_has(fd, of);
}

static void ranks_find(struct ranks *all, int fd)
{
	DIR *dir = af_dir_list(fd);

	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (e->d_name[0] == '.' || is_copy(fd, e->d_name))
			continue;
		scope_close int one = af_trace_folder(fd, e->d_name);
		struct rank r = {.status = ""};
		if (one < 0 || !rank_read(&r, one))
			continue;
		snprintf(r.name, sizeof r.name, "%s", e->d_name);
		AF_GROW(all->items, all->nr, all->cap);
		all->items[all->nr++] = r;
	}
	if (dir)
		closedir(dir);
	if (all->nr)
		qsort(all->items, all->nr, sizeof *all->items, ranks_order);
}

/* Sets the state. First finishes a trace that a killed recorder left, as any reader does. */
static void rank_state(struct rank *r, int fd, const char *dir)
{
	char path[PATH_MAX];
	struct af_err err = {0};
	scope_close int one = af_trace_folder(fd, r->name);
	bool unfinished = one >= 0 && af_trace_has(one, AF_SESSION_FILE);

	if (one < 0 || (size_t)snprintf(path, sizeof path, "%s/%s", dir, r->name) >= sizeof path) {
		r->state = "cannot be opened";
		return;
	}
	if (unfinished && af_place_is_recorded(one)) {
		r->state = "still being recorded";
		return;
	}
	if (unfinished && af_trace_prepare(path, &err))
		fprintf(stderr, "aflame: %s\n", err.msg);
	r->state = af_trace_has(one, AF_SESSION_FILE) ? "not finished"
	           : af_trace_has(one, "recovered")   ? "recovered"
	                                              : "complete";
	rank_read(r, one); /* it may have ended since */
}

#define RANK_COLUMNS(C)                                                                            \
	C(rank, "Rank", AF_CELL_COUNT, .show = AF_SHOW_ALWAYS)                                     \
	C(host, "Host", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)                                      \
	C(pid, "Pid", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)                                        \
	C(exit_status, "Exit status", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)                        \
	C(cpu_time_ns, "CPU time", AF_CELL_NS, .show = AF_SHOW_ALWAYS)                             \
	C(state, "State", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)                                    \
	C(trace, "Trace", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)
struct rank_row {
	RANK_COLUMNS(AF_ROW_CELL)
};

static void ranks_table(const struct ranks *all, const char *dir, struct af_tables *f)
{
	static const struct af_column columns[] = {RANK_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t =
	    AF_TABLE(f, "ranks", af_tables_text(f, "The ranks in %s", dir), columns);

	for (uint32_t i = 0; i < all->nr; i++) {
		const struct rank *r = &all->items[i];
		struct rank_row *c = af_table_row(f, t);
		c->rank.value = r->rank;
		c->host.text = r->host;
		c->pid.text = r->pid ? af_tables_text(f, "%llu", (unsigned long long)r->pid) : "";
		c->exit_status.text = r->status;
		c->cpu_time_ns.value = r->cpu_ns;
		c->cpu_time_ns.unknown = !r->has_cpu;
		c->state.text = r->state;
		c->trace.text = r->name;
	}
}

static void ranks_list(struct ranks *all, int fd, const char *dir, FILE *out, bool json)
{
	struct af_tables f = {0};
	struct af_buf b = {0};

	for (uint32_t i = 0; i < all->nr; i++)
		rank_state(&all->items[i], fd, dir);
	ranks_table(all, dir, &f);
	if (json)
		af_tables_json(&b, &(struct af_document){.report = "ranks"}, &f, 0);
	else
		af_table_text(&b, f.first, 0, af_colour(out), NULL);
	fwrite(b.data, 1, b.len, out);
	if (!json)
		fprintf(out, "--rank N reads the trace of one\n");
	af_buf_free(&b);
	af_tables_free(&f);
}

/* "0-14, 16, 31" */
static void ranks_text(const struct ranks *all, struct af_buf *b)
{
	for (uint32_t i = 0; i < all->nr;) {
		uint64_t first = all->items[i].rank, last = first;
		for (i++; i < all->nr && all->items[i].rank <= last + 1; i++)
			last = all->items[i].rank;
		af_buf_fmt(b, "%s%llu", b->len ? ", " : "", (unsigned long long)first);
		if (last > first)
			af_buf_fmt(b, "-%llu", (unsigned long long)last);
	}
}

static int ranks_choose(const struct ranks *all, const char *rank, const char **dir,
                        struct af_err *err)
{
	const struct rank *found = NULL;
	char path[PATH_MAX];
	uint64_t number;

	if (!rank_parse(rank, &number))
		return af_fail_plain(err, -EINVAL, "--rank takes a number, not \"%s\"", rank);
	for (uint32_t i = 0; i < all->nr; i++) {
		const struct rank *r = &all->items[i];
		if (r->rank != number)
			continue;
		if (found)
			return af_fail_plain(err, -EINVAL,
			                     "%s has several traces of rank %s: name one of them, "
			                     "%s/%s or %s/%s",
			                     *dir, rank, *dir, found->name, *dir, r->name);
		found = r;
	}
	if (!found) {
		struct af_buf b = {0};
		ranks_text(all, &b);
		af_fail_plain(err, -ENOENT, "%s has no rank %s: the ranks are %.300s", *dir, rank,
		              b.data);
		af_buf_free(&b);
		return -ENOENT;
	}
	if ((size_t)snprintf(path, sizeof path, "%s/%s", *dir, found->name) >= sizeof path)
		return af_fail_plain(err, -ENAMETOOLONG, "the name %s is too long", *dir);
	static char *kept; /* as long as the program, like the words of the command line */
	*dir = kept = strdup(path);
	return *dir ? 0 : af_fail(err, -ENOMEM, "cannot keep the name of the trace");
}

static int folder_choose(const char **dir, int fd, const struct af_ranks_query *query,
                         struct af_err *err)
{
	struct ranks all = {0};
	int rc = 0;

	ranks_find(&all, fd);
	if (!all.nr && af_trace_has(fd, AF_JOB_FILE))
		rc = af_fail_plain(err, -ENOENT, "no rank in %s has begun to be recorded", *dir);
	else if (all.nr && query->rank)
		rc = ranks_choose(&all, query->rank, dir, err);
	else if (all.nr) {
		ranks_list(&all, fd, *dir, query->lists ? stdout : stderr,
		           query->lists && query->json);
		rc = query->lists ? 1
		                  : af_fail_plain(err, -EISDIR,
		                                  "%s has the traces of %u ranks: choose one with "
		                                  "--rank",
		                                  *dir, all.nr);
	} else if (query->rank)
		rc = af_fail_plain(err, -EINVAL, "%s is not a folder of ranks, which --rank needs",
		                   *dir);
	free(all.items);
	return rc;
}

int af_ranks_each(const char *dir, int (*each)(void *arg, const char *path, struct af_err *err),
                  void *arg, struct af_err *err)
{
	scope_close int fd = af_trace_dir_open(dir);
	struct ranks all = {0};
	char path[PATH_MAX];
	int nr = 0, rc = 0;

	if (fd < 0 || af_trace_has(fd, "metadata") || af_trace_has(fd, AF_SESSION_FILE))
		return 0;
	ranks_find(&all, fd);
	for (uint32_t i = 0; i < all.nr && (!rc || rc == -ENODATA); i++) {
		if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, all.items[i].name) >=
		    sizeof path)
			rc = af_fail_plain(err, -ENAMETOOLONG, "the name %s is too long", dir);
		else
			rc = each(arg, path, err);
		nr += !rc;
	}
	free(all.items);
	return rc && (rc != -ENODATA || !nr) ? rc : nr;
}

int af_ranks_choose(const char **dir, const struct af_ranks_query *query, struct af_err *err)
{
	scope_close int fd = af_trace_dir_open(*dir);

	if (fd < 0)
		return 0; /* the reader says what is wrong with it */
	bool trace = af_trace_has(fd, "metadata") || af_trace_has(fd, AF_SESSION_FILE);
	if (trace && query->rank)
		return af_fail_plain(err, -EINVAL,
		                     "%s is not a folder of ranks, which --rank needs", *dir);
	return trace ? 0 : folder_choose(dir, fd, query, err);
}
