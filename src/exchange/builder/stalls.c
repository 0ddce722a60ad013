#include "exchange/builder/stalls.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "exchange/builder/write.h"
#include "sym/device/code.h"
#include "trace/write/objects.h"

enum { COUNTS_MAX = 1024 }; /* reasons of one event: more are a further event */

void builder_stalls_free(struct af_builder_stalls *s)
{
	void *arrays[] = {s->codes, s->launches, s->insns, s->windows, s->stalls};

	for (unsigned i = 0; i < sizeof arrays / sizeof *arrays; i++)
		free(arrays[i]);
	af_map_free(&s->by_code);
	af_map_free(&s->by_launch);
	af_map_free(&s->by_insn);
	*s = (struct af_builder_stalls){0};
}

uint32_t af_builder_code(struct af_builder *d, const struct af_builder_code *code)
{
	struct af_builder_stalls *s = &d->stalls;
	uint64_t hash = af_scatter_bytes(code, sizeof *code);
	bool fresh;

	/* The rare ones with the same hash come one after the other. */
	uint64_t *slot = af_map_at(&s->by_code, hash, &fresh);
	while (!fresh && memcmp(&s->codes[*slot], code, sizeof *code))
		slot = af_map_at(&s->by_code, ++hash, &fresh);
	if (fresh) {
		*slot = s->nr_codes;
		AF_GROW(s->codes, s->nr_codes, s->cap_codes);
		s->codes[s->nr_codes++] = *code;
	}
	return (uint32_t)*slot;
}

uint32_t af_builder_launch(struct af_builder *d, uint32_t code, uint32_t node)
{
	struct af_builder_stalls *s = &d->stalls;
	bool fresh;
	uint64_t *slot = af_map_at(&s->by_launch, (uint64_t)code << 32 | node, &fresh);

	if (!s->nr_launches) {
		AF_GROW(s->launches, s->nr_launches, s->cap_launches);
		s->launches[s->nr_launches++] = (struct af_builder_launch){0};
	}
	if (fresh) {
		*slot = s->nr_launches;
		AF_GROW(s->launches, s->nr_launches, s->cap_launches);
		s->launches[s->nr_launches++] = (struct af_builder_launch){code, node};
	}
	return (uint32_t)*slot;
}

void af_builder_insn(struct af_builder *d, const struct af_builder_insn *insn)
{
	struct af_builder_stalls *s = &d->stalls;
	bool fresh;

	af_map_at(&s->by_insn, (uint64_t)insn->code << 32 | insn->offset, &fresh);
	if (!fresh)
		return;
	AF_GROW(s->insns, s->nr_insns, s->cap_insns);
	s->insns[s->nr_insns++] = *insn;
}

uint32_t af_builder_window(struct af_builder *d, uint64_t start_ns, uint64_t end_ns)
{
	struct af_builder_stalls *s = &d->stalls;

	if (end_ns < start_ns || !af_builder_times(d, start_ns, end_ns - start_ns))
		return UINT32_MAX;
	AF_GROW(s->windows, s->nr_windows, s->cap_windows);
	s->windows[s->nr_windows] = (struct af_builder_window){start_ns, end_ns};
	return s->nr_windows++;
}

void af_builder_stall(struct af_builder *d, const struct af_builder_stall *stall)
{
	struct af_builder_stalls *s = &d->stalls;

	AF_GROW(s->stalls, s->nr, s->cap);
	s->stalls[s->nr++] = *stall;
}

static int stall_order(const void *a, const void *b)
{
	const struct af_builder_stall *x = a, *y = b;
	const uint32_t keys[][2] = {{x->process, y->process}, {x->window, y->window},
	                            {x->launch, y->launch},   {x->offset, y->offset},
	                            {x->reason, y->reason},   {x->count, y->count}};

	for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

/* If neither the process nor the stack is known, there is no call to define: no correlation. */
static bool is_launch(const struct af_builder *d, uint32_t launch)
{
	if (!launch)
		return false;
	const struct af_builder_launch *l = &d->stalls.launches[launch];
	return l->node || d->processes[d->stalls.codes[l->code].process].pid;
}

/*
 * A kernel that was seen in a window becomes a call, which has the stack, and work of length 0,
 * both at the window's end: the file does not say when the kernel ran.
 */
static void write_launch(struct builder_writer *w, uint32_t launch, uint32_t correlation,
                         const struct af_builder_window *window)
{
	const struct af_builder_launch *l = &w->builder->stalls.launches[launch];
	const struct af_builder_code *code = &w->builder->stalls.codes[l->code];
	uint64_t end_ns = window->end_ns + w->shift_ns;
	struct af_stream *out = &w->stream;

	if (l->node)
		builder_define_stack(w, code->process, l->node, window->end_ns);
	af_stream_put(out, call_long, end_ns, .callpath = l->node, .correlation = correlation);
	/* A descriptor's id is of this stream: the code's is as good as any. */
	if (!w->code_written[l->code])
		af_stream_put(
		    out, descriptor, end_ns, .descriptor = l->code + 1, .op = AF_OP_KERNEL,
		    .queue = builder_queue_use(w, code->process, &(struct builder_queue){0}),
		    .kernel = builder_use(&w->kernels, code->process, code->name));
	w->code_written[l->code] = true;
	af_stream_put(out, gpu_work, end_ns, .descriptor = l->code + 1, .correlation = correlation,
	              .start_ns = end_ns);
}

/* The samples of one instruction, @nr from @s on. */
static void write_insn(struct builder_writer *w, const struct af_builder_stall *s, uint64_t nr,
                       uint32_t correlation, uint64_t time_ns)
{
	uint32_t counts[COUNTS_MAX][2];
	uint32_t code = w->builder->stalls.launches[s->launch].code;
	struct af_ev_gpu_sample fixed = {.window = s->window + 1,
	                                 .code = builder_use(&w->codes, s->process, code),
	                                 .offset = s->offset,
	                                 .correlation = correlation};

	for (uint64_t i = 0; i < nr;) {
		uint32_t n = 0;
		for (; i < nr && n < COUNTS_MAX; i++, n++) {
			counts[n][0] =
			    s[i].reason ? builder_use(&w->reasons, s->process, s[i].reason) : 0;
			counts[n][1] = s[i].count;
		}
		struct af_tail tail = {counts, n * 8, 4};
		af_stream_put_tail(&w->stream, AF_KIND_GPU_SAMPLE, time_ns + w->shift_ns, &fixed,
		                   sizeof fixed, &tail, 1);
	}
}

/* Launches are numbered in their order, from @correlation + 1 on; returns the last number. */
static uint32_t write_launches(struct builder_writer *w, const struct af_builder_stall *s,
                               uint64_t nr, uint32_t correlation)
{
	for (uint64_t i = 0; i < nr; i++)
		if ((!i || s[i].launch != s[i - 1].launch) && is_launch(w->builder, s[i].launch))
			write_launch(w, s[i].launch, ++correlation,
			             &w->builder->stalls.windows[s->window]);
	return correlation;
}

static void write_samples(struct builder_writer *w, const struct af_builder_stall *s, uint64_t nr,
                          uint32_t correlation)
{
	uint64_t end_ns = w->builder->stalls.windows[s->window].end_ns;

	for (uint64_t i = 0, to; i < nr; i = to) {
		bool launch = is_launch(w->builder, s[i].launch);
		if ((!i || s[i].launch != s[i - 1].launch) && launch)
			correlation++;
		for (to = i + 1;
		     to < nr && s[to].launch == s[i].launch && s[to].offset == s[i].offset;)
			to++;
		if (s[i].launch)
			write_insn(w, s + i, to - i, launch ? correlation : 0, end_ns);
	}
}

/* The samples of one process and window, @nr from @s on. Returns the last correlation. */
static uint32_t write_window(struct builder_writer *w, const struct af_builder_stall *s,
                             uint64_t nr, uint32_t correlation)
{
	const struct af_builder_window *window = &w->builder->stalls.windows[s->window];
	uint64_t samples = 0, other = 0;

	for (uint64_t i = 0; i < nr; i++) {
		samples += s[i].count;
		other += s[i].launch ? 0 : s[i].count;
	}
	uint32_t last = write_launches(w, s, nr, correlation);
	builder_use(&w->devices, s->process, 0);
	af_stream_put(&w->stream, gpu_window, window->end_ns + w->shift_ns, .window = s->window + 1,
	              .device = 1, .flags = AF_WINDOW_SERIALIZED,
	              .start_ns = window->start_ns + w->shift_ns,
	              .end_ns = window->end_ns + w->shift_ns, .samples = samples, .other = other);
	write_samples(w, s, nr, correlation);
	return last;
}

void builder_write_stalls(struct builder_writer *w)
{
	struct af_builder_stalls *s = &w->builder->stalls;
	uint32_t process = UINT32_MAX, correlation = 0;

	if (!s->nr)
		return;
	AF_SORT(s->stalls, s->nr, stall_order);
	w->code_written = af_xcalloc(s->nr_codes + 1, sizeof *w->code_written);
	for (uint64_t i = 0, to; i < s->nr && !w->error; i = to) {
		for (to = i + 1; to < s->nr && s->stalls[to].process == s->stalls[i].process &&
		                 s->stalls[to].window == s->stalls[i].window;)
			to++;
		if (s->stalls[i].process != process) {
			if (i)
				builder_stream_close(w);
			process = s->stalls[i].process;
			uint32_t pid = w->builder->processes[process].pid;
			builder_stream_open(w, "stalls", process, process + 1, pid);
		}
		correlation = write_window(w, s->stalls + i, to - i, correlation);
	}
	builder_stream_close(w);
	free(w->code_written);
}

void builder_write_code(struct builder_writer *w, const struct builder_use *u)
{
	struct af_ev_code fixed = {.code = u->id, .program = 1, .symbol = u->what + 1};
	const struct af_builder_code *code = &w->builder->stalls.codes[u->what];

	builder_put(w, AF_KIND_CODE, w->begin_ns, &fixed, sizeof fixed,
	            af_strtab_get(&w->builder->names, code->name), NULL);
}

void builder_write_reason(struct builder_writer *w, const struct builder_use *u)
{
	struct af_ev_stall fixed = {.stall = u->id};

	builder_put(w, AF_KIND_STALL, w->begin_ns, &fixed, sizeof fixed,
	            af_strtab_get(&w->builder->names, u->what), NULL);
}

static int insn_order(const void *a, const void *b)
{
	const struct af_builder_insn *x = a, *y = b;

	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Fields are parted by tabs and lines by newlines: see sym/device/code_listing.c. */
static void listing_text(struct af_buf *b, const char *text)
{
	for (; *text; text++)
		af_buf_char(b, *text == '\t' || *text == '\n' ? ' ' : *text);
}

static void listing_make(struct builder_writer *w, struct af_buf *b)
{
	const struct af_builder *d = w->builder;
	const struct af_builder_stalls *s = &d->stalls;

	AF_SORT(s->insns, s->nr_insns, insn_order);
	af_buf_str(b, AF_CODE_LISTING);
	for (uint32_t c = 0, i = 0; c < s->nr_codes; c++) {
		af_buf_fmt(b, "f\t%u\t", c + 1);
		listing_text(b, af_strtab_get(&d->names, s->codes[c].name));
		af_buf_char(b, '\t');
		listing_text(b, af_strtab_get(&d->names, s->codes[c].file));
		af_buf_char(b, '\n');
		for (; i < s->nr_insns && s->insns[i].code == c; i++) {
			af_buf_fmt(b, "i\t%x\t", s->insns[i].offset);
			listing_text(b, af_strtab_get(&d->names, s->insns[i].text));
			if (s->insns[i].line)
				af_buf_fmt(b, "\t%u", s->insns[i].line);
			af_buf_char(b, '\n');
		}
	}
}

/* One listing has all functions of device code, each with a number, which serves as its symbol. */
void builder_write_listing(struct builder_writer *w, uint32_t process)
{
	struct af_ev_program fixed = {.program = 1, .device = 1, .form = AF_OBJECT_LISTING};
	struct af_buf b = {0};

	if (!af_map_get(&w->codes.last, process))
		return;
	if (!w->listing_size) {
		listing_make(w, &b);
		int rc = af_object_put(w->dirfd, b.data, b.len, w->listing);
		if (rc && !w->error)
			w->error = rc;
		w->listing_size = b.len;
		af_buf_free(&b);
	}
	fixed.size = w->listing_size;
	builder_put(w, AF_KIND_PROGRAM, w->begin_ns, &fixed, sizeof fixed, w->listing, "");
}
