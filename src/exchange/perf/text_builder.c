/*
 * perf script's text to a builder: frames have names and modules, and processes go by their comm.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/keys.h"
#include "exchange/builder/builder.h"
#include "exchange/perf/text.h"
#include "exchange/source/source.h"
#include "exchange/text/lines.h"

enum { LINE_BYTES = 256 << 10 };

struct text_builder {
	struct af_builder *builder;
	struct perf_text text;
	uint32_t space;
	struct text_frame {
		uint32_t name, kind, module;
	} * frames;
	uint32_t nr_frames, cap_frames;
	struct af_keys stacks; /* frames → nodes */
	struct af_buf name;    /* of a frame */
	struct af_map mains;   /* pid → what its main thread is called, 0 not known; process */
	struct af_map images;  /* pid and such a name → process */
	uint64_t untimed;
};

#define MAIN(comm, process) ((uint64_t)(comm) << 32 | (process))

bool af_import_is_perf_text(const char *text, size_t len)
{
	return perf_text_is(text, len);
}

/* Facts about a frame that its name does not show are added behind it (docs/format.md). */
static uint32_t frame_add(void *arg, const char *text, size_t len, enum perf_text_kind kind,
                          const char *module, size_t module_len)
{
	struct text_builder *t = arg;
	struct af_builder *d = t->builder;

	if (len > AF_JSON_TEXT_MAX) {
		len = AF_JSON_TEXT_MAX;
		d->unused[AF_BUILDER_TEXTS_UNUSED]++;
	}
	t->name.len = 0;
	af_buf_add(&t->name, text, len);
	af_buf_str(&t->name, kind == PERF_TEXT_INLINED ? "_[i]"
	                     : kind == PERF_TEXT_JIT   ? "_[j]"
	                                               : "");
	AF_GROW(t->frames, t->nr_frames, t->cap_frames);
	/* Inlined code has no module on its own line; a line of the function around it has it. */
	bool in_file = module_len && *module == '/' && kind != PERF_TEXT_KERNEL &&
	               kind != PERF_TEXT_JIT && module_len < AF_JSON_TEXT_MAX;
	t->frames[t->nr_frames] =
	    (struct text_frame){af_builder_name(d, t->name.data, t->name.len),
	                        kind == PERF_TEXT_KERNEL ? AF_BUILDER_KERNEL : AF_BUILDER_NATIVE,
	                        in_file ? af_builder_name(d, module, module_len) : 0};
	return t->nr_frames++;
}

/* The kernel's frames reach down to the leaf. */
static uint64_t nodes_of(struct text_builder *t, const struct perf_text_sample *s)
{
	uint32_t node = 0, kernel = 0;
	bool in_kernel = false, fresh;

	if (!s->nr)
		return 0;
	uint64_t *slot = af_keys_at(&t->stacks, s->frames, s->nr * sizeof *s->frames, &fresh);

	if (!fresh)
		return *slot;
	for (uint32_t i = s->nr; i--;) {
		const struct text_frame *f = &t->frames[s->frames[i]];
		in_kernel |= f->kind == AF_BUILDER_KERNEL;
		if (in_kernel)
			kernel = af_builder_node(t->builder, kernel, f->name, AF_BUILDER_KERNEL);
		else
			node = af_builder_node_of(t->builder, node,
			                          &(struct af_builder_frame_of){
						      .name = f->name,
						      .kind = AF_BUILDER_NATIVE,
						      .module = f->module,
						  });
	}
	return *slot = (uint64_t)kernel << 32 | node;
}

/*
 * The process of the sample. The text has no exec, but a main thread with a new name runs a new
 * program: from then on it is another process image, or the earlier one of that name. Other threads
 * belong to the image that their process has then.
 */
static uint32_t process_of(struct text_builder *t, const struct perf_text_sample *s, uint32_t comm)
{
	struct af_builder *d = t->builder;
	bool fresh, first;
	uint64_t *main = af_map_at(&t->mains, s->pid, &first);

	if (first)
		*main = MAIN(0, af_builder_process(d, t->space, s->pid));
	uint32_t process = (uint32_t)*main, called = (uint32_t)(*main >> 32);
	if (s->pid != s->tid || called == comm) {
		if (!d->processes[process].exe)
			d->processes[process].exe = comm;
		return process;
	}
	uint64_t *image = af_map_at(&t->images, (uint64_t)s->pid << 32 | comm, &fresh);
	if (fresh)
		*image = called ? af_builder_process_new(d, t->space, s->pid) : process;
	process = (uint32_t)*image;
	d->processes[process].exe = comm;
	*main = MAIN(comm, process);
	return process;
}

static void sample_add(void *arg, const struct perf_text_sample *s)
{
	struct text_builder *t = arg;
	struct af_builder *d = t->builder;
	uint32_t comm = af_builder_name(d, s->comm, s->comm_len);
	uint32_t thread = af_builder_thread(d, process_of(t, s, comm), s->tid);

	if (thread == UINT32_MAX)
		return;
	uint64_t nodes = nodes_of(t, s);
	d->threads[thread].name = comm; /* what it is called last: they begin with their maker's */
	/* A clock without a period has no known weight. */
	bool time = s->has_period && perf_event_is_time(t->text.event);
	const struct af_builder_sample sample = {.time_ns = s->has_time ? s->time_ns : ++t->untimed,
	                                         .weight_ns =
	                                             time ? (s->period ? s->period : 1) : 0,
	                                         .count = t->text.periods ? s->period : 0,
	                                         .counted = !time,
	                                         .thread = thread,
	                                         .node = (uint32_t)nodes,
	                                         .kernel_node = (uint32_t)(nodes >> 32),
	                                         .cpu = s->cpu};
	af_builder_sample(d, &sample);
}

static void line_take(void *arg, char *line, size_t len, bool cut)
{
	struct text_builder *t = arg;

	t->builder->unused[AF_BUILDER_TEXTS_UNUSED] += cut;
	perf_text_line(&t->text, line, len);
}

/* The period is time if the event is a clock, else a count. */
static void event_say(const struct text_builder *t)
{
	const struct perf_text *p = &t->text;
	const char *how = !p->periods ? "each counted as one"
	                  : perf_event_is_time(p->event)
	                      ? "which weigh their periods"
	                      : "which weigh how often that happened: no CPU time";
	char unit[sizeof p->event];

	snprintf(unit, sizeof unit, "%.*s", (int)perf_event_unit(p->event, strlen(p->event)),
	         p->event);
	if (p->periods && !perf_event_is_time(p->event))
		af_builder_count_unit(t->builder, *unit ? unit : "events");
	if (t->untimed)
		af_builder_note(t->builder, "import.times",
		                "the file has none: samples are in their order, 1 ns apart");
	af_builder_note(t->builder, "import.event", "%s%s%" PRIu64 " samples, %s%s%s", p->event,
	                *p->event ? ": " : "", p->samples, how,
	                p->others ? "; not used, --event takes one: " : "", p->other);
	t->builder->unused[AF_BUILDER_EVENTS_UNUSED] += p->others;
	t->builder->unused[AF_BUILDER_LINES_UNUSED] += p->bad;
}

void af_import_perf_text(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                         char *complaint, size_t size)
{
	struct text_builder t = {.builder = d, .space = number};
	const struct perf_text_options options = {.event = d->event};
	const struct perf_text_sink sink = {frame_add, sample_add, &t};

	perf_text_open(&t.text, &options, &sink);
	ssize_t rc = import_lines(in, LINE_BYTES, line_take, &t);
	perf_text_end(&t.text);
	if (t.text.samples || t.text.others)
		event_say(&t);
	const struct import_line_count count = {t.text.line, t.text.bad, t.text.first_bad};
	import_lines_complain(&count, rc, "are not perf script's", d, complaint, size);
	perf_text_close(&t.text);
	af_keys_free(&t.stacks);
	af_map_free(&t.mains);
	af_map_free(&t.images);
	af_buf_free(&t.name);
	free(t.frames);
}
