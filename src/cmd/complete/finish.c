/* aflame finish: completes the traces of a set, and writes the names of functions into them. */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyse/table/table.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "cmd/options/command.h"
#include "cmd/output/progress.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/names.h"
#include "cmd/shared/summary.h"
#include "collect/disk/recover.h"
#include "collect/disk/unnamed.h"
#include "collect/stage/members.h"
#include "render/text/tables.h"
#include "sym/sym.h"
#include "trace/read/files.h"
#include "trace/read/staged.h"
#include "trace/read/state.h"

struct finish_options {
	uint64_t jobs;
	bool json;
};

enum { JOBS_MAX = 256, POLL_MS = 50 };

enum finish_state {
	FINISH_WAITS, /* nobody has looked at it */
	FINISH_DONE_BEFORE,
	FINISH_NAMED,
	FINISH_BUSY,
	FINISH_RECORDED,
	FINISH_STAGED,
	FINISH_ELSEWHERE,
	FINISH_FAILED,
	NR_STATES
};

static const char *const states[NR_STATES] = {
    "not reached",          "complete before", "named",        "being named by another process",
    "still being recorded", "staged",          "not finished", "failed",
};

/* The outcome of a member, in memory that the processes share. */
struct finish_one {
	_Atomic int state; /* enum finish_state */
	uint64_t time_ns;
	char note[sizeof((struct af_err *)0)->msg];
};

struct finishing {
	struct af_members members;
	const char *dir;
	struct finish_one *ones;
	_Atomic uint32_t *next;
	size_t shared_bytes;
};

/* Whatever its recorder left, the trace is settled afterwards: FINISH_WAITS. */
static enum finish_state finish_settle(int fd, const char *shown, struct af_err *err)
{
	struct af_trace_status status;
	struct af_staged staged;

	if (af_staged_read(fd, &staged)) {
		af_fail_plain(err, -ENODATA, "it is on %s at %s: `aflame gather` moves it",
		              staged.host, staged.path);
		return FINISH_STAGED;
	}
	int rc = af_recover(fd, shown, err);
	if (rc == -EBUSY)
		return FINISH_RECORDED;
	if (rc == 1)
		rc = af_unnamed_mark(fd) ? af_fail(err, -errno, "cannot finish it") : 0;
	if (rc != 2)
		return rc ? FINISH_FAILED : FINISH_WAITS;
	af_trace_status(fd, &(uint64_t){0}, &status);
	if (status.state == AF_TRACE_LIVE) {
		af_fail_plain(err, -EBUSY, "%s", status.why);
		return FINISH_RECORDED;
	}
	af_fail_plain(err, -EPERM,
	              "its recorder ended on another host, or the disk is read-only: "
	              "run `aflame finish` on that host");
	return FINISH_ELSEWHERE;
}

static void finish_one(const struct finishing *f, uint32_t i, struct af_sym_shared *shared)
{
	struct finish_one *one = &f->ones[i];
	struct af_err err = {0};
	char shown[PATH_MAX];
	uint64_t begin_ns = af_clock_ns(CLOCK_MONOTONIC);
	scope_close int fd = af_trace_folder(f->members.fd, f->members.names[i]);

	snprintf(shown, sizeof shown, "%s%s%s", f->dir, f->members.single ? "" : "/",
	         f->members.single ? "" : f->members.names[i]);
	enum finish_state state = fd < 0 ? (af_fail(&err, fd, "cannot open it"), FINISH_FAILED)
	                                 : finish_settle(fd, shown, &err);
	if (state == FINISH_WAITS) {
		int rc = af_names_complete(fd, shown, true, shared, &err);
		state = !rc             ? FINISH_NAMED
		        : rc == -ENOENT ? FINISH_DONE_BEFORE
		        : rc == -EBUSY  ? FINISH_BUSY
		                        : FINISH_FAILED;
	}
	one->time_ns = af_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	if (state >= FINISH_RECORDED)
		snprintf(one->note, sizeof one->note, "%s", err.msg);
	one->state = (int)state;
}

/* Each process takes the next member, from a place of its own on each host, until there is none. */
static void finish_work(const struct finishing *f, uint32_t begin)
{
	struct af_sym_shared *shared = af_sym_shared_open();
	uint32_t i;

	while ((i = (*f->next)++) < f->members.nr)
		finish_one(f, (begin + i) % f->members.nr, shared);
	af_sym_shared_close(shared);
}

static uint32_t nr_looked_at(const struct finishing *f)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < f->members.nr; i++)
		nr += f->ones[i].state != FINISH_WAITS;
	return nr;
}

/* Processes, not threads: one that a hostile trace crashes takes no other with it. */
static int finish_all(const struct finishing *f, uint32_t jobs, struct af_err *err)
{
	struct af_progress progress = af_progress_begin("writing names");
	uint32_t begin = (uint32_t)(af_clock_ns(CLOCK_MONOTONIC) / 1000) % f->members.nr;
	uint32_t alive = 0;
	int rc = 0;

	fflush(NULL);
	while (!rc && alive < jobs) {
		pid_t pid = fork();
		if (!pid) {
			finish_work(f, begin);
			_exit(0);
		}
		rc = pid < 0 && !alive ? af_fail(err, -errno, "cannot start a process") : 0;
		if (pid < 0)
			break;
		alive++;
	}
	while (alive) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);
		if (pid < 0 && errno == ECHILD)
			break;
		alive -= pid > 0;
		af_progress_tell(&progress, nr_looked_at(f), f->members.nr);
		if (!pid)
			usleep(POLL_MS * 1000);
	}
	af_progress_end(&progress);
	return rc;
}

#define FINISH_COLUMNS(C)                                                                          \
	C(trace, "Trace", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)                                    \
	C(state, "State", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)                                    \
	C(time_ns, "Time", AF_CELL_NS, .show = AF_SHOW_ALWAYS)                                     \
	C(note, "Note", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)
struct finish_row {
	FINISH_COLUMNS(AF_ROW_CELL)
};

static void finish_print(const struct finishing *f, bool json)
{
	static const struct af_column columns[] = {FINISH_COLUMNS(AF_ROW_COLUMN)};
	struct af_tables tables = {0};
	struct af_buf b = {0};
	uint32_t nr[NR_STATES] = {0};
	struct af_table *t =
	    AF_TABLE(&tables, "finish", af_tables_text(&tables, "Traces of %s", f->dir), columns);

	for (uint32_t i = 0; i < f->members.nr; i++) {
		const struct finish_one *one = &f->ones[i];
		nr[one->state]++;
		if (!json && one->state <= FINISH_NAMED && one->state != FINISH_WAITS)
			continue;
		struct finish_row *row = af_table_row(&tables, t);
		row->trace.text = f->members.names[i];
		row->state.text = states[one->state];
		row->time_ns.value = one->time_ns;
		row->note.text = one->note;
	}
	if (json)
		af_tables_json(&b, &(struct af_document){.report = "finish"}, &tables, 0);
	else if (t->nr_rows)
		af_table_text(&b, t, 0, af_colour(stdout), NULL);
	for (int i = 0, shown = 0; !json && i < NR_STATES; i++)
		if (nr[i])
			af_buf_fmt(&b, "%s%u %s", shown++ ? ", " : "", nr[i], states[i]);
	if (!json)
		af_buf_char(&b, '\n');
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
	af_tables_free(&tables);
}

static int finish_result(const struct finishing *f, struct af_err *err)
{
	uint32_t failed = 0, i = 0;

	for (uint32_t n = f->members.nr; n--;)
		if (f->ones[n].state == FINISH_FAILED || f->ones[n].state == FINISH_WAITS) {
			failed++;
			i = n;
		}
	if (!failed)
		return 0;
	return af_fail_plain(err, -EIO, "%u traces have no names yet; the first is %s: %s", failed,
	                     f->members.names[i],
	                     f->ones[i].state == FINISH_WAITS ? "the process that wrote them ended"
	                                                      : f->ones[i].note);
}

static int finish_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct finish_options *o = state;
	struct finishing f = {.dir = af_trace_dir(nr_words, words)};

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "one set, not %s too", words[nr_words - 1]);
	if (!o->jobs || o->jobs > JOBS_MAX)
		return af_fail_plain(err, -EINVAL, "--jobs takes 1 to %d", JOBS_MAX);
	int rc = af_members_open(&f.members, f.dir, err);
	if (!rc) {
		f.shared_bytes = 4096 + (size_t)f.members.nr * sizeof *f.ones;
		void *shared = mmap(NULL, f.shared_bytes, PROT_READ | PROT_WRITE,
		                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (shared == MAP_FAILED) {
			rc = af_fail(err, -errno, "no memory for %u traces", f.members.nr);
		} else {
			f.next = shared;
			f.ones = (void *)((char *)shared + 4096);
			uint32_t jobs = o->jobs < f.members.nr ? (uint32_t)o->jobs : f.members.nr;
			rc = finish_all(&f, jobs, err);
			if (!rc) {
				finish_print(&f, o->json);
				rc = finish_result(&f, err);
			}
			munmap(shared, f.shared_bytes);
		}
	}
	af_members_close(&f.members);
	return rc;
}

static const struct af_option finish_options[] = {
    {AF_OPT_U64, "jobs", 'j', "N", "so many processes at once (1)",
     offsetof(struct finish_options, jobs)},
    {AF_OPT_FLAG, "json", 0, NULL, "for programs: all traces as JSON",
     offsetof(struct finish_options, json)},
    {AF_OPT_END},
};

const struct af_command af_command_finish = {
    .name = "finish",
    .usage = "[OPTIONS] [DIR]",
    .summary = "Complete the traces of a job, and write the names of functions",
    .details =
	"A job that is killed soon, or that uses `record --no-symbols`, leaves traces that have\n"
	"addresses but no names. finish writes the names into all traces of the set DIR\n"
	"(aflame.data), and completes what a killed recorder left on this host. Names come from\n"
	"the files of the machine that finish runs on; a file with another build-id gives none.\n"
	"\n"
	"Several may run at once, on one host or on many: each trace is named once. What a\n"
	"killed process left is taken over on its host at once, elsewhere after five minutes.",
    .examples = "aflame finish run1 -j 4\tin four processes\n"
		"srun -N 8 aflame finish run1\tshared by eight hosts",
    .options = finish_options,
    .state_size = sizeof(struct finish_options),
    .defaults = &(const struct finish_options){.jobs = 1},
    .run = finish_run,
};
