/*
 * iaprof's profile, as its second generation wrote it and its `flame` read it, and what that would
 * print: see exchange/iaprof/import.c. Intervals are the windows in which samples were taken, of
 * 10 ms at least as iaprof has them, longer where samples are very many. An interval without
 * samples is written where one begins later than the one before it ended: they are written when
 * they end, and begin where others ended.
 *
 * The file of a symbol is the kernel's, where lines are known, and the line within it stands behind
 * the symbol, so calls that were inlined into it do not show. Texts lose semicolons and tabs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/flame/work.h"
#include "analyse/pass/pass.h"
#include "analyse/world/code_names.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "exchange/export/export.h"
#include "exchange/export/trace.h"
#include "sym/device/stalls.h"

#define IAPROF_INTERVAL_NS UINT64_C(10000000) /* iaprof's default */

/* The fields of a sample; PATH is all of them, as iaprof shows it. */
enum part { PART_COMM, PART_USTACK, PART_KSTACK, PART_FILE, PART_SYMBOL, PART_INSN, PARTS };

struct export_iaprof {
	bool folded;
	int fd, error;
	struct af_export_count *count;
	uint64_t nr_intervals, end_ns; /* that were written, until when */

	/* While the end of the trace is written. */
	const struct af_world *world;
	struct af_results *results;
	struct af_tree tree;
	struct flame_scratch scratch;
	struct af_strtab strings;
	struct af_map numbers; /* string → its number in the file */
	uint64_t nr_numbers;
	uint32_t now[PARTS], reported[PARTS]; /* strings, 0: none */
	uint32_t pid, reported_pid;
	struct af_buf out, path, user, kernel;
};

static uint32_t string_of(struct export_iaprof *x, const char *text, size_t len)
{
	return af_strtab_id(&x->strings, text, len);
}

/* One that is a frame or a name; @suffix stands behind it. */
static uint32_t string_name(struct export_iaprof *x, const char *text, const char *suffix)
{
	x->path.len = 0;
	export_frame_text(&x->path, text, strlen(text));
	af_buf_str(&x->path, suffix);
	return string_of(x, x->path.data ? x->path.data : "", x->path.len);
}

/* "function (file.py:12)" is "py::function:file.py:12": CPython's own form, with the line. */
static bool python_add(struct af_buf *b, const char *text, size_t len)
{
	const char *open = NULL;

	for (size_t i = 0; i + 1 < len; i++)
		if (text[i] == ' ' && text[i + 1] == '(')
			open = text + i;
	if (!open || text[len - 1] != ')')
		return false;
	af_buf_str(b, "py::");
	export_frame_text(b, text, (size_t)(open - text));
	af_buf_char(b, ':');
	export_frame_text(b, open + 2, (size_t)(text + len - 1 - open - 2));
	return true;
}

/* Frames of the operating system's kernel are a stack of their own: nothing comes behind them. */
static void stack_frame(void *arg, const char *text, size_t len, uint32_t kind, bool last)
{
	struct export_iaprof *x = arg;
	struct af_buf *b = kind == AF_FRAME_KERNEL || x->kernel.len ? &x->kernel : &x->user;

	(void)last;
	if (kind != AF_FRAME_PYTHON || !python_add(b, text, len))
		export_frame_text(b, text, len);
	af_buf_str(b, af_frame_suffix((enum af_frame)kind));
	af_buf_char(b, ';');
}

/* The process of @launch_group and the stack that launched it. */
static void group_set(struct export_iaprof *x, const struct af_launch_group *launch_group)
{
	const struct af_process *p = af_world_process(x->world, launch_group->is.process);

	x->pid = p ? p->pid : 0;
	x->now[PART_COMM] = x->pid && *p->name ? string_name(x, p->name, "") : 0;
	x->user.len = x->kernel.len = 0;
	if (launch_group->recorded && launch_group->is.path)
		export_stack(&x->tree,
		             flame_group_stack(&x->tree, &x->scratch, x->world, &launch_group->is,
		                               &x->results->query),
		             stack_frame, x);
	x->now[PART_USTACK] = x->user.len ? string_of(x, x->user.data, x->user.len) : 0;
	x->now[PART_KSTACK] = x->kernel.len ? string_of(x, x->kernel.data, x->kernel.len) : 0;
}

static const char *symbol_name(struct export_iaprof *x, const struct af_launch_group *launch_group,
                               uint32_t code)
{
	/* Where nothing was sampled there may be no code at all. */
	const struct af_device_code *c = code ? &x->world->codes[code] : NULL;
	bool kernel = launch_group->recorded && launch_group->is.op == AF_OP_KERNEL;
	const char *name = "";

	if (kernel && (!c || c->kernel == c->name))
		name = af_world_kernel(x->world, launch_group->is.process, launch_group->is.kernel);
	if (!*name && c)
		name = c->shown;
	return *name ? name : "[unknown kernel]";
}

static void place_set(struct export_iaprof *x, const struct af_launch_group *launch_group,
                      const struct af_attributed *f)
{
	struct af_code_names *names = x->results->code_names;
	struct af_code_frame frames[AF_CODE_FRAMES], *outer;
	char line[24] = "";
	uint32_t nr = f->code ? af_code_names_frames(names, x->world, f->code, f->offset, frames,
	                                             AF_CODE_FRAMES)
	                      : 0;

	outer = nr ? &frames[nr - 1] : NULL;
	if (outer && outer->file && outer->line)
		snprintf(line, sizeof line, " line %u", outer->line);
	x->now[PART_FILE] =
	    string_name(x, outer && outer->file ? outer->file : "[unknown file]", "");
	x->now[PART_SYMBOL] = string_name(x, symbol_name(x, launch_group, f->code), line);
	const char *text = f->code ? af_code_names_text(names, x->world, f->code, f->offset) : NULL;
	x->now[PART_INSN] = string_name(x, text ? text : "[failed decode]", "");
}

/* The number of a string in the file, which gets it when it is new there; 0 has none. */
static uint64_t number_of(struct export_iaprof *x, uint32_t string)
{
	bool fresh;

	if (!string)
		return 0;
	uint64_t *number = af_map_at(&x->numbers, string, &fresh);
	if (fresh) {
		*number = ++x->nr_numbers;
		af_buf_fmt(&x->out, "string\t%llu\t", (unsigned long long)*number);
		af_buf_str(&x->out, af_strtab_get(&x->strings, string));
		af_buf_char(&x->out, '\n');
	}
	return *number;
}

/* As iaprof's flame puts it together. */
static void path_make(struct export_iaprof *x, uint32_t stall, uint64_t offset)
{
	static const struct {
		enum part part;
		const char *suffix;
	} tail[] = {{PART_FILE, "_[G];"}, {PART_SYMBOL, "_[G];"}, {PART_INSN, "_[g];"}};
	const struct af_strtab *s = &x->strings;
	struct af_buf *b = &x->path;

	b->len = 0;
	af_buf_str(b, x->now[PART_COMM] ? af_strtab_get(s, x->now[PART_COMM]) : "<missing string>");
	af_buf_fmt(b, ";%u;", x->pid);
	af_buf_str(b, af_strtab_get(s, x->now[PART_USTACK]));
	af_buf_str(b, af_strtab_get(s, x->now[PART_KSTACK]));
	af_buf_str(b, "-;");
	for (unsigned i = 0; i < sizeof tail / sizeof *tail; i++) {
		af_buf_str(b, af_strtab_get(s, x->now[tail[i].part]));
		af_buf_str(b, tail[i].suffix);
	}
	if (stall)
		af_buf_str(b, af_strtab_get(s, stall));
	af_buf_fmt(b, "%s0x%llx_[g]", stall ? "_[g];" : "", (unsigned long long)offset);
}

static void say_changes(struct export_iaprof *x)
{
	static const char *const words[PARTS] = {"proc_name", "ustack",     "kstack",
	                                         "gpu_file",  "gpu_symbol", "insn_text"};

	if (x->pid != x->reported_pid)
		af_buf_fmt(&x->out, "pid\t%u\n", x->pid);
	x->reported_pid = x->pid;
	for (int i = 0; i < PARTS; i++) {
		if (x->now[i] == x->reported[i])
			continue;
		unsigned long long number = number_of(x, x->now[i]);
		af_buf_fmt(&x->out, "%s\t%llu\n", words[i], number);
		x->reported[i] = x->now[i];
	}
}

static void sample_write(struct export_iaprof *x, const struct af_attributed *f, uint64_t count)
{
	const char *driver = f->stall ? x->world->stalls[f->stall].name : "";
	const struct af_stall *known = f->stall ? af_stall_find(driver) : NULL;
	uint32_t stall = f->stall ? string_name(x, known ? known->key : driver, "") : 0;

	path_make(x, stall, f->offset);
	if (x->folded) {
		af_buf_add(&x->out, x->path.data, x->path.len);
		af_buf_char(&x->out, ' ');
		af_buf_u64(&x->out, count);
		af_buf_char(&x->out, '\n');
	} else {
		unsigned long long reason = number_of(x, stall);
		af_buf_char(&x->path, ';');
		unsigned long long path = number_of(x, string_of(x, x->path.data, x->path.len));
		say_changes(x);
		af_buf_fmt(&x->out, "e\t%llu\t%llu\t%llx\t%llu\n", path, reason,
		           (unsigned long long)f->offset, (unsigned long long)count);
	}
	x->count->written++;
	if (x->out.len >= EXPORT_FLUSH_BYTES && !x->error)
		x->error = af_buf_flush(&x->out, x->fd);
}

/* An interval that ends at @end_ns begins, with its samples behind it. */
static void interval_begin(struct export_iaprof *x, uint64_t end_ns)
{
	x->end_ns = end_ns > x->end_ns ? end_ns : x->end_ns;
	af_buf_fmt(&x->out, "interval_start\t%llu\t%llu.%06llu\n",
	           (unsigned long long)x->nr_intervals,
	           (unsigned long long)(x->end_ns / 1000000000),
	           (unsigned long long)(x->end_ns % 1000000000 / 1000));
}

static void interval_end(struct export_iaprof *x)
{
	af_buf_fmt(&x->out, "interval_end\t%llu\n", (unsigned long long)x->nr_intervals++);
}

/* The windows of an interval: when they began and ended. */
struct iaprof_span {
	uint64_t interval, start_ns, end_ns;
};

struct iaprof_windows {
	struct iaprof_span *all;
	uint32_t nr, cap;
};

static int span_order(const void *a, const void *b)
{
	const struct iaprof_span *x = a, *y = b;

	return x->interval < y->interval ? -1 : x->interval > y->interval;
}

/* One span for each interval of @each_ns. */
static void spans_join(struct iaprof_windows *windows, const struct af_world *w, uint64_t each_ns)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < windows->nr; i++)
		windows->all[i].interval =
		    af_attribution_interval(w, windows->all[i].end_ns, each_ns);
	AF_SORT(windows->all, windows->nr, span_order);
	for (uint32_t i = 0; i < windows->nr; i++) {
		const struct iaprof_span *is = &windows->all[i];
		struct iaprof_span *last = nr ? &windows->all[nr - 1] : NULL;
		if (!last || last->interval != is->interval) {
			windows->all[nr++] = *is;
			continue;
		}
		if (is->start_ns < last->start_ns)
			last->start_ns = is->start_ns;
		if (is->end_ns > last->end_ns)
			last->end_ns = is->end_ns;
	}
	windows->nr = nr;
}

/* Windows of two devices may fall into different intervals: so @each_ns stays what iaprof has. */
static void window_add(struct iaprof_windows *windows, const struct af_world *w,
                       const struct af_ev_gpu_window *is)
{
	uint64_t interval = af_attribution_interval(w, is->end_ns, IAPROF_INTERVAL_NS);

	if (windows->nr && windows->all[windows->nr - 1].interval == interval) {
		struct iaprof_span *last = &windows->all[windows->nr - 1];
		last->start_ns = is->start_ns < last->start_ns ? is->start_ns : last->start_ns;
		last->end_ns = is->end_ns > last->end_ns ? is->end_ns : last->end_ns;
		return;
	}
	AF_GROW(windows->all, windows->nr, windows->cap);
	windows->all[windows->nr++] = (struct iaprof_span){interval, is->start_ns, is->end_ns};
}

static void iaprof_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_gpu_window window;

	if (af_event_decode(ev, &window, sizeof window, NULL))
		window_add(self, w, &window);
}

static void iaprof_close(void *self)
{
	struct iaprof_windows *windows = self;

	free(windows->all);
}

struct found_at {
	uint32_t interval, found;
};

static int found_order(const void *a, const void *b)
{
	const struct found_at *x = a, *y = b;

	if (x->interval != y->interval)
		return x->interval < y->interval ? -1 : 1;
	return x->found < y->found ? -1 : x->found > y->found;
}

/* When the samples of @interval were taken: in windows, or none is known. */
static struct iaprof_span span_of(const struct export_iaprof *x,
                                  const struct iaprof_windows *windows, uint32_t interval)
{
	uint64_t each_ns = x->results->attribution->apart_ns;
	const struct iaprof_span key = {.interval = interval};
	const struct iaprof_span *is =
	    windows->nr ? bsearch(&key, windows->all, windows->nr, sizeof key, span_order) : NULL;

	if (is)
		return *is;
	uint64_t start_ns = x->world->time_range.start_ns + interval * each_ns;
	return (struct iaprof_span){interval, start_ns, start_ns + each_ns};
}

static void samples_write(struct export_iaprof *x, const struct found_at *order, uint32_t nr)
{
	const struct af_attribution *a = x->results->attribution;
	uint32_t launch_group = UINT32_MAX;

	for (uint32_t i = 0; i < nr && !x->error; i++) {
		const struct af_attributed *f = &a->found[order[i].found];
		if (f->launch_group != launch_group)
			group_set(x, &a->launch_groups[f->launch_group]);
		launch_group = f->launch_group;
		place_set(x, &a->launch_groups[f->launch_group], f);
		sample_write(x, f, f->samples);
	}
}

static void intervals_write(struct export_iaprof *x, const struct iaprof_windows *windows,
                            const struct found_at *order, uint32_t nr)
{
	for (uint32_t i = 0, end; i < nr && !x->error; i = end) {
		const struct iaprof_span span = span_of(x, windows, order[i].interval);
		for (end = i + 1; end < nr && order[end].interval == order[i].interval;)
			end++;
		/* To whole microseconds, as times are written. */
		if (span.start_ns / 1000 > x->end_ns / 1000) {
			interval_begin(x, span.start_ns);
			interval_end(x);
		}
		interval_begin(x, span.end_ns);
		samples_write(x, order + i, end - i);
		interval_end(x);
	}
}

static void iaprof_finish(void *self, const struct af_world *w, struct af_results *out)
{
	static const struct af_tree_weight none = {"none", ""};
	struct export_iaprof *x = out->query.own;
	const struct af_attribution *a = out->attribution;
	uint32_t nr = 0;

	x->world = w;
	x->results = out;
	x->count->left_out = out->sampled.other;
	if (!a)
		return;
	af_tree_open(&x->tree, &none, 1);
	flame_scratch_open(&x->scratch, false);
	struct found_at *order = af_xcalloc(a->nr_found + 1ull, sizeof *order);
	for (uint32_t i = 0; i < a->nr_found; i++)
		if (a->found[i].samples)
			order[nr++] = (struct found_at){a->found[i].interval, i};
	AF_SORT(order, nr, found_order);
	if (x->folded) {
		samples_write(x, order, nr);
	} else {
		spans_join(self, w, a->apart_ns);
		intervals_write(x, self, order, nr);
	}
	free(order);
	if (!x->error)
		x->error = af_buf_flush(&x->out, x->fd);
	af_tree_close(&x->tree);
	flame_scratch_close(&x->scratch);
}

static int iaprof_export(struct export_iaprof *x, const struct af_export_request *request,
                         struct af_err *err)
{
	static const struct af_pass_ops pass = {
	    .name = "iaprof",
	    .question = "which instructions, from where and why?",
	    .answers = AF_ANSWER_OWN,
	    .attributes = AF_ANSWER_OWN,
	    .state_size = sizeof(struct iaprof_windows),
	    .wants = 1ull << AF_KIND_GPU_WINDOW,
	    .event = iaprof_event,
	    .finish = iaprof_finish,
	    .close = iaprof_close,
	};
	static const struct af_pass_ops *const passes[] = {&pass, NULL};
	const struct af_query query = {.answers = AF_ANSWER_OWN,
	                               .own = x,
	                               .samples_apart_ns = x->folded ? 0 : IAPROF_INTERVAL_NS,
	                               .from_ns = request->from_ns,
	                               .to_ns = request->to_ns};
	struct af_results r;

	int rc = af_analyse(request->dir, passes, &query, &r, NULL, NULL, err);
	if (!rc && x->error)
		rc = af_fail(err, x->error, "cannot write the samples");
	af_results_close(&r);
	struct af_buf *texts[] = {&x->out, &x->path, &x->user, &x->kernel};
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
		af_buf_free(texts[i]);
	af_strtab_free(&x->strings);
	af_map_free(&x->numbers);
	return rc;
}

int af_export_iaprof(const struct af_export_request *request, struct af_export_count *count,
                     struct af_err *err)
{
	struct export_iaprof x = {.fd = request->fd, .count = count};

	return iaprof_export(&x, request, err);
}

int af_export_iaprof_folded(const struct af_export_request *request, struct af_export_count *count,
                            struct af_err *err)
{
	struct export_iaprof x = {.folded = true, .fd = request->fd, .count = count};

	return iaprof_export(&x, request, err);
}
