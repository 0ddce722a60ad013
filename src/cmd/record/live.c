#include "cmd/record/live.h"
#include "base/keys.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/functions/top.h"
#include "analyse/passes/rows.h"
#include "analyse/table/table.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "cmd/record/watch.h"
#include "cmd/shared/load.h"
#include "render/text/columns.h"
#include "render/text/label.h"
#include "render/text/tables.h"
#include "trace/write/stream.h"

enum {
	LIVE_FUNCTIONS = 5,
	LIVE_ROWS = LIVE_FUNCTIONS + 3,
	LIVE_LOOK_MS = 200,
	LIVE_FDS = 1024,
	LIVE_LEAST_ROWS = 3 * LIVE_ROWS, /* of a terminal, for the program to have most of it */
};

/* The figures in the line now, and those before. */
struct live {
	struct af_watch watch;
	struct af_keys before; /* function → self time at the last look */
	uint64_t begin_ns, launches;
	uint64_t polled_ns;
	uint32_t rows, columns; /* of the terminal, 0: there is none */
	struct af_buf out;
};

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif

static volatile sig_atomic_t live_over;

static void live_stop(int signal)
{
	(void)signal;
	live_over = 1;
}

struct hot {
	const char *name;
	uint64_t self, recent;
};

static int hot_order(const void *a, const void *b)
{
	const struct hot *x = a, *y = b;

	if (x->recent != y->recent)
		return x->recent < y->recent ? 1 : -1;
	return x->self < y->self ? 1 : x->self > y->self ? -1 : strcmp(x->name, y->name);
}

/* The functions by what they had themselves since the last look. */
static struct hot *hot_functions(struct live *l, const struct af_table *t, uint32_t *nr)
{
	struct hot *hot = af_xcalloc(t ? t->nr_rows + 1 : 1, sizeof *hot);

	*nr = t ? t->nr_rows : 0;
	for (uint32_t i = 0; i < *nr; i++) {
		const struct af_top_row *row = AF_ROW_AT(struct af_top_row, t, i);
		const char *name = row->function.text;
		uint64_t self = row->self.value;
		uint64_t *before = af_keys_at(&l->before, AF_KEY_TEXT(name), NULL);
		hot[i] = (struct hot){name, self, self > *before ? self - *before : 0};
		*before = self;
	}
	AF_SORT(hot, *nr, hot_order);
	return hot;
}

/* A line of the panel, or the next part of the one line there is. */
static void live_part(struct live *l, struct af_buf *part, bool head)
{
	if (!l->rows) {
		if (part->len && l->out.len)
			af_buf_str(&l->out, head ? "" : "; ");
		af_buf_add(&l->out, part->data, part->len);
	} else {
		af_buf_str(&l->out, head ? "\033[7m" : "");
		af_buf_str(part, "");
		af_columns_text(&l->out, part->data, l->columns, head);
		af_buf_str(&l->out, head ? "\033[0m\n" : "\n");
	}
	part->len = 0;
}

static void tell_functions(struct live *l, const struct af_results *r, struct af_buf *part)
{
	const struct af_table *t = af_tables_find(&r->tables, "cpu_top");
	const struct af_tree *cpu = &r->trees[AF_VIEW_CPU];
	uint64_t all = cpu->nr ? cpu->total[AF_WEIGHT_TIME][0] : 0, recent = 0;
	uint32_t nr;
	struct hot *hot = hot_functions(l, t, &nr);

	for (uint32_t i = 0; i < nr; i++)
		recent += hot[i].recent;
	for (uint32_t i = 0; i < LIVE_FUNCTIONS; i++) {
		if (i < nr && (!i || hot[i].recent)) {
			struct af_buf now = {0}, ever = {0};
			if (recent)
				af_label_percent(&now, hot[i].recent, recent);
			else
				af_buf_str(&now, "idle");
			af_label_percent(&ever, hot[i].self, all);
			if (l->rows)
				af_buf_fmt(part, "%8s now %8s ever  ", now.data, ever.data);
			af_buf_terminal(part, hot[i].name, strlen(hot[i].name), "");
			if (!l->rows)
				af_buf_fmt(part, " %s", now.data);
			af_buf_free(&now);
			af_buf_free(&ever);
		}
		if (l->rows || part->len)
			live_part(l, part, false);
	}
	free(hot);
}

/* Devices, and calls that launch work, a second since the last look. */
static void tell_devices(struct live *l, const struct af_results *r, struct af_buf *part)
{
	const struct af_table *devices = af_tables_find(&r->tables, "devices"),
			      *kernels = af_tables_find(&r->tables, "kernels");
	uint64_t launches = 0, ns = af_now_ns() - (l->polled_ns ? l->polled_ns : l->begin_ns);

	for (uint32_t i = 0; devices && i < devices->nr_rows; i++) {
		const struct af_device_row *row = AF_ROW_AT(struct af_device_row, devices, i);
		af_buf_fmt(part, "%s%s busy ", i ? ", " : "", row->device.text);
		af_cell_text(part, AF_CELL_PERCENT, row->busy_percent.value);
	}
	for (uint32_t i = 0; kernels && i < kernels->nr_rows; i++)
		launches += AF_ROW_AT(struct af_kernel_row, kernels, i)->calls.value;
	if (kernels && kernels->nr_rows) {
		af_buf_str(part, ", ");
		af_label_commas(part, launches);
		af_buf_str(part, " kernels (");
		af_label_commas(part, launches > l->launches
		                          ? af_tables_ratio(launches - l->launches, ns, 1e9)
		                          : 0);
		af_buf_fmt(part, " a second), most time in %s",
		           AF_ROW_AT(struct af_kernel_row, kernels, 0)->kernel.text);
	}
	l->launches = launches;
	if (!part->len)
		af_buf_str(part, "no work of a device");
	live_part(l, part, false);
}

static void tell_losses(struct live *l, const struct af_results *r, struct af_buf *part)
{
	const struct af_table *lost = af_tables_find(&r->tables, "lost");

	af_buf_str(part, "lost: ");
	if (!lost || !lost->nr_rows)
		af_buf_str(part, "nothing");
	for (uint32_t i = 0; lost && i < lost->nr_rows; i++) {
		const struct af_lost_row *row = AF_ROW_AT(struct af_lost_row, lost, i);
		af_buf_str(part, i ? ", " : "");
		if (row->count.value) {
			af_label_commas(part, row->count.value);
			af_buf_char(part, ' ');
		}
		af_buf_str(part, row->what.text);
	}
	live_part(l, part, false);
}

static void tell(struct live *l, const struct af_results *r)
{
	const struct af_tree *cpu = &r->trees[AF_VIEW_CPU];
	struct af_buf part = {0};
	uint64_t now = af_now_ns();

	l->out.len = 0;
	af_buf_str(&part, l->rows ? " " : "");
	af_buf_fmt(&part, "aflame: %.1f s", (double)(now - l->begin_ns) / 1e9);
	if (cpu->nr && cpu->total[AF_WEIGHT_TIME][0]) {
		af_buf_str(&part, ", on CPUs ");
		af_cell_text(&part, AF_CELL_NS, cpu->total[AF_WEIGHT_TIME][0]);
	}
	if (l->rows)
		af_buf_fmt(&part, "   (more: aflame tui --live %s)", l->watch.dir);
	live_part(l, &part, true);
	tell_functions(l, r, &part);
	tell_devices(l, r, &part);
	tell_losses(l, r, &part);
	l->polled_ns = now;
	af_buf_free(&part);
}

/*
 * The program writes in the rows above, which scroll; ours are drawn in one write, with the cursor
 * kept, so what it writes is not torn.
 */
static void panel_draw(struct live *l)
{
	struct af_buf b = {0};
	uint32_t row = l->rows - LIVE_ROWS + 1;

	af_buf_str(&b, "\0337");
	for (const char *p = l->out.data; p && *p; p = strchr(p, '\n') + 1) {
		af_buf_fmt(&b, "\033[%u;1H\033[2K", row++);
		af_buf_add(&b, p, strcspn(p, "\n"));
	}
	af_buf_str(&b, "\0338");
	af_buf_flush(&b, STDERR_FILENO);
	af_buf_free(&b);
}

static void panel_leave(const struct live *l)
{
	struct af_buf b = {0};

	if (!l->rows)
		return;
	af_buf_str(&b, "\0337\033[r\0338\033[J");
	af_buf_flush(&b, STDERR_FILENO);
	af_buf_free(&b);
}

/* Also when the terminal has another size now. */
static void panel_enter(struct live *l)
{
	struct winsize size;
	struct af_buf b = {0};

	if (!isatty(STDERR_FILENO) || ioctl(STDERR_FILENO, TIOCGWINSZ, &size))
		return;
	if (l->rows == size.ws_row && l->columns == size.ws_col)
		return;
	panel_leave(l);
	l->rows = size.ws_row >= LIVE_LEAST_ROWS && size.ws_col >= 40 ? size.ws_row : 0;
	l->columns = size.ws_col;
	if (!l->rows)
		return;
	for (unsigned i = 0; i < LIVE_ROWS; i++)
		af_buf_char(&b, '\n');
	af_buf_fmt(&b, "\033[%uA\0337\033[1;%ur\0338", (unsigned)LIVE_ROWS, l->rows - LIVE_ROWS);
	af_buf_flush(&b, STDERR_FILENO);
	af_buf_free(&b);
}

static void live_say(struct live *l)
{
	if (l->rows) {
		panel_draw(l);
		return;
	}
	af_buf_char(&l->out, '\n');
	af_buf_flush(&l->out, STDERR_FILENO);
}

/* The process's whole life: until the recorder ends it, or the recording. */
_Noreturn static void live_run(const char *dir, int recorder)
{
	static const struct af_query query = {.answers = AF_ANSWER_TABLES};
	struct live l = {.begin_ns = af_now_ns()};
	struct sigaction stop = {.sa_handler = live_stop};
	struct af_results r;
	struct af_err err;

	/*
	 * Descriptors of the recorder, above all its lock on the trace, must not outlive it here.
	 */
	if (syscall(SYS_close_range, 3u, ~0u, 0u))
		for (int fd = 3; fd < LIVE_FDS; fd++)
			close(fd);
	prctl(PR_SET_NAME, "aflame-watch");
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGINT, SIG_IGN); /* it is for the program */
	signal(SIGQUIT, SIG_IGN);
	sigaction(SIGTERM, &stop, NULL);
	setpriority(PRIO_PROCESS, 0, 19);
	int rc = getppid() == recorder ? af_watch_open(&l.watch, dir, &err) : -ESRCH;
	if (!rc)
		panel_enter(&l);
	while (!rc && !live_over) {
		rc = af_watch_poll(&l.watch, &query, &r, &err);
		if (rc == 1 && !l.watch.ended) {
			panel_enter(&l);
			tell(&l, &r);
			live_say(&l);
			af_results_close(&r);
			rc = 0;
		}
		if (!rc && !live_over)
			poll(NULL, 0, LIVE_LOOK_MS);
	}
	panel_leave(&l);
	_exit(0);
}

int af_live_show(const char *dir, struct af_err *err)
{
	int recorder = getpid();

	fflush(NULL);
	int pid = fork();
	if (!pid)
		live_run(dir, recorder);
	return pid < 0 ? af_fail(err, -errno, "cannot start a process for --live") : pid;
}

void af_live_hide(int pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}
