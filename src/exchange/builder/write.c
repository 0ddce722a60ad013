/*
 * Writes a builder's data as a trace directory. It writes the streams one after the other, because
 * times in a stream must not go back and a thread's events may be anywhere in the files; a reader
 * merges the streams by time. Definitions come last, since only then their use is known, and carry
 * the time of the beginning.
 */
#include "exchange/builder/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "trace/metadata.h"
#include "trace/read/contents.h"

enum {
	ADDRESS_STEP = 16, /* between frames: addresses that look like functions */
	ADDRESS_EVAL = 16, /* stands for CPython's eval loop, whose place Python frames take */
	ADDRESS_FIRST = 32,
	PYTHON_VERSION = 0x30c, /* any: there is no line table */
	BUILDER_USES = 7,
};
#define ADDRESS_KERNEL UINT64_C(0xffffffff00000000)
#define SHIFT_NS UINT64_C(1000000000)

uint32_t builder_use(struct builder_uses *u, uint32_t process, uint32_t what)
{
	bool fresh;
	uint64_t *id = af_map_at(&u->by_what, (uint64_t)process << 32 | what, &fresh);

	if (!fresh)
		return (uint32_t)*id;
	*id = ++*af_map_at(&u->last, process, NULL);
	AF_GROW(u->all, u->nr, u->cap);
	u->all[u->nr++] = (struct builder_use){process, what, (uint32_t)*id};
	return (uint32_t)*id;
}

static void uses_free(struct builder_uses *u)
{
	af_map_free(&u->by_what);
	af_map_free(&u->last);
	free(u->all);
}

void builder_stream_open(struct builder_writer *w, const char *name, uint32_t number,
                         uint32_t process, uint32_t tid)
{
	char file[32];

	snprintf(file, sizeof file, "%s-%u", name, number);
	int fd = af_trace_is_stream(file) ? af_create_private(w->dirfd, file) : -EINVAL;
	int rc = fd < 0 ? fd : af_stream_open_file(&w->stream, fd, ++w->nr_streams, process);
	if (rc && !w->error)
		w->error = rc;
	w->stream.pid = process ? w->builder->processes[process - 1].pid : 0;
	w->stream.tid = tid;
}

void builder_stream_close(struct builder_writer *w)
{
	int rc = w->stream.packet ? af_stream_close(&w->stream) : 0;

	if (rc && !w->error)
		w->error = rc;
}

void builder_put(struct builder_writer *w, enum af_kind kind, uint64_t time_ns, const void *fixed,
                 size_t size, const char *first, const char *second)
{
	struct af_tail tail[2] = {{first, first ? (uint32_t)strlen(first) : 0, 0},
	                          {second, second ? (uint32_t)strlen(second) : 0, 0}};

	af_stream_put_tail(&w->stream, kind, time_ns + w->shift_ns, fixed, size, tail,
	                   !!first + !!second);
}

static uint64_t frame_address(uint32_t frame)
{
	return ADDRESS_FIRST + (uint64_t)frame * ADDRESS_STEP;
}

/*
 * The outermost node of a chain of inlined functions. The address of the innermost one stands for
 * all of the chain, as its symbol has them all (write_frame()), so the stack continues from this
 * node's parent.
 */
static uint32_t address_outermost(const struct af_builder *d, uint32_t node)
{
	while (d->frames[d->nodes[node].frame].kind == AF_BUILDER_INLINED)
		node = d->nodes[node].parent;
	return node;
}

/*
 * Python frames are in the Python stack, each after a boundary of its own, and the native stack has
 * a call of the eval loop for each, so that a reader puts them back exactly where they were.
 */
void builder_define_stack(struct builder_writer *w, uint32_t process, uint32_t node,
                          uint64_t time_ns)
{
	struct af_builder *d = w->builder;
	uint64_t pcs[AF_BUILDER_DEPTH], python[2 * AF_BUILDER_DEPTH];
	uint32_t nr = 0, nr_python = 0;

	if (node & AF_BUILDER_ADDRESSES) {
		builder_define_addresses(w, node, false, time_ns);
		return;
	}
	if (d->nodes[node].defined == w->nr_streams)
		return;
	d->nodes[node].defined = w->nr_streams;
	for (uint32_t at = node; at; at = d->nodes[address_outermost(d, at)].parent) {
		uint32_t frame = d->nodes[at].frame;
		uint32_t outer = d->nodes[address_outermost(d, at)].frame;
		bool kernel = d->frames[outer].kind == AF_BUILDER_KERNEL;
		builder_use(&w->frames, kernel ? UINT32_MAX : process, frame);
		if (kernel) {
			pcs[nr++] = ADDRESS_KERNEL + frame_address(frame);
		} else if (d->frames[frame].kind == AF_BUILDER_PYTHON) {
			pcs[nr++] = ADDRESS_EVAL;
			python[nr_python++] = (uint64_t)(frame + 1) << 32;
			python[nr_python++] = AF_PY_BORDER;
		} else {
			pcs[nr++] = frame_address(frame);
		}
	}
	time_ns += w->shift_ns;
	struct af_ev_stack stack = {.stack = node};
	struct af_tail tail = {pcs, nr * 8, 8};
	af_stream_put_tail(&w->stream, AF_KIND_STACK, time_ns, &stack, sizeof stack, &tail, 1);
	if (nr_python) {
		struct af_ev_py_stack py = {.py_stack = node};
		struct af_tail frames = {python, nr_python * 8, 8};
		af_stream_put_tail(&w->stream, AF_KIND_PY_STACK, time_ns, &py, sizeof py, &frames,
		                   1);
	}
	af_stream_put(&w->stream, callpath, time_ns, .callpath = node, .stack = node,
	              .py_stack = nr_python ? node : 0);
}

void builder_define_kernel_stack(struct builder_writer *w, uint32_t node, uint64_t time_ns)
{
	struct af_builder *d = w->builder;
	uint64_t pcs[AF_BUILDER_DEPTH];
	uint32_t nr = 0;

	if (node & AF_BUILDER_ADDRESSES) {
		builder_define_addresses(w, node, true, time_ns);
		return;
	}
	if (d->nodes[node].defined == w->nr_streams)
		return;
	d->nodes[node].defined = w->nr_streams;
	for (uint32_t at = node; at; at = d->nodes[address_outermost(d, at)].parent) {
		builder_use(&w->frames, UINT32_MAX, d->nodes[at].frame);
		pcs[nr++] = ADDRESS_KERNEL + frame_address(d->nodes[at].frame);
	}
	struct af_ev_kstack stack = {.kstack = node};
	struct af_tail tail = {pcs, nr * 8, 8};
	af_stream_put_tail(&w->stream, AF_KIND_KSTACK, time_ns + w->shift_ns, &stack, sizeof stack,
	                   &tail, 1);
}

static void write_process(struct builder_writer *w, uint32_t process)
{
	struct af_builder *d = w->builder;
	struct af_builder_process *p = &d->processes[process];
	struct af_ev_process fixed = {.pid = p->pid, .parent = p->parent};
	struct af_ev_mapping mapping = {
	    .start = ADDRESS_EVAL, .end = frame_address(d->nr_frames), .flags = AF_MAPPING_JIT};
	struct af_tail tail[2] = {{"", 0, 1}, {"[imported]", 10, 0}};
	const char *exe = af_strtab_get(&d->names, p->exe);
	const uint64_t *rank = af_map_get(&d->ranks, p->space);
	struct af_ev_process_note note = {.process = process + 1};
	char by_pid[32];

	snprintf(by_pid, sizeof by_pid, "[pid %u]", p->pid);

	builder_put(w, AF_KIND_PROCESS, w->begin_ns, &fixed, sizeof fixed, *exe ? exe : by_pid, "");
	if (rank)
		builder_put(w, AF_KIND_PROCESS_NOTE, w->begin_ns, &note, sizeof note, "rank",
		            af_strtab_get(&d->names, (uint32_t)*rank));
	if (d->nr_frames)
		af_stream_put_tail(&w->stream, AF_KIND_MAPPING, w->begin_ns + w->shift_ns, &mapping,
		                   sizeof mapping, tail, 2);
	builder_write_mappings(w, process);
}

/* Imported stamps are on the trace's clock already, and a device without a clock has no times. */
static void write_device(struct builder_writer *w, const struct builder_use *u)
{
	struct af_builder *d = w->builder;
	uint32_t space = d->processes[u->process].space, api = d->processes[u->process].api;
	const uint64_t *name = af_map_get(&d->device_names, (uint64_t)space << 32 | u->what);
	struct af_ev_device device = {
	    .device = u->what + 1, .type = AF_DEVICE_GPU, .api = api ? api : AF_API_CUDA};
	struct af_tail tail[3] = {{"", 0, 0}, {"", 0, 0}, {"", 0, 0}};
	uint64_t now_ns = w->begin_ns + w->shift_ns;
	char text[32];

	snprintf(text, sizeof text, "GPU %u", u->what);
	tail[0].data = name ? af_strtab_get(&d->names, (uint32_t)*name) : text;
	tail[0].len = (uint32_t)strlen(tail[0].data);
	af_stream_put_tail(&w->stream, AF_KIND_DEVICE, now_ns, &device, sizeof device, tail, 3);
	af_stream_put(&w->stream, clock, now_ns, .clock = AF_CLOCK_DEVICE, .device = device.device,
	              .mono_ns = now_ns, .foreign = now_ns);
	const uint64_t *last = af_map_get(&d->noted, (uint64_t)space << 32 | u->what);
	for (uint32_t i = last ? (uint32_t)*last : 0; i; i = d->device_notes[i - 1].before) {
		const struct af_builder_device_note *n = &d->device_notes[i - 1];
		struct af_ev_device_note note = {.device = device.device};
		builder_put(w, AF_KIND_DEVICE_NOTE, w->begin_ns, &note, sizeof note,
		            af_strtab_get(&d->names, n->key), af_strtab_get(&d->names, n->value));
	}
}

static void write_queue(struct builder_writer *w, const struct builder_use *u)
{
	const struct builder_queue *q = &w->queue_list[u->what];

	af_stream_put(&w->stream, queue, w->begin_ns + w->shift_ns, .queue = u->id,
	              .device = q->device + 1, .context = q->context ? q->context : 1,
	              .handle = q->stream);
}

static void write_kernel(struct builder_writer *w, const struct builder_use *u)
{
	struct af_ev_kernel fixed = {.kernel = u->id};

	builder_put(w, AF_KIND_KERNEL, w->begin_ns, &fixed, sizeof fixed,
	            af_strtab_get(&w->builder->names, u->what), NULL);
}

static void write_function(struct builder_writer *w, const struct builder_use *u)
{
	const char *name = af_strtab_get(&w->builder->names, u->what);
	struct af_ev_function fixed = {.function = u->id,
	                               .api = builder_function_api(name),
	                               .category = builder_function_category(name)};

	builder_put(w, AF_KIND_FUNCTION, w->begin_ns, &fixed, sizeof fixed, name, NULL);
}

static void write_code(struct builder_writer *w, const struct builder_use *u)
{
	const struct af_builder_frame_of *frame = &w->builder->frames[u->what];
	const char *name = af_strtab_get(&w->builder->names, frame->name), *function = name;
	size_t file_len = 0;
	int32_t line = 0;

	af_builder_python(name, &file_len, &line, &function);
	struct af_ev_py_code code = {
	    .code = u->what + 1, .version = PYTHON_VERSION, .first_line = line};
	struct af_tail tail[3] = {
	    {"", 0, 1}, {function, (uint32_t)strlen(function), 0}, {name, (uint32_t)file_len, 0}};
	af_stream_put_tail(&w->stream, AF_KIND_PY_CODE, w->begin_ns + w->shift_ns, &code,
	                   sizeof code, tail, 3);
}

static int use_order(const void *a, const void *b)
{
	const struct builder_use *x = a, *y = b;

	return x->process != y->process ? (x->process < y->process ? -1 : 1)
	                                : (x->id > y->id) - (x->id < y->id);
}

static void write_definitions(struct builder_writer *w)
{
	struct builder_uses *by_process[BUILDER_USES] = {&w->devices, &w->queues,  &w->kernels,
	                                                 &w->codes,   &w->reasons, &w->functions,
	                                                 &w->frames};
	static void (*const write[BUILDER_USES])(struct builder_writer *,
	                                         const struct builder_use *) = {
	    write_device,         write_queue,    write_kernel, builder_write_code,
	    builder_write_reason, write_function, NULL};
	uint32_t at[BUILDER_USES] = {0};

	for (int k = 0; k < BUILDER_USES; k++)
		AF_SORT(by_process[k]->all, by_process[k]->nr, use_order);
	for (uint32_t p = 0; p < w->builder->nr_processes && !w->error; p++) {
		builder_stream_open(w, "defs", p, p + 1, w->builder->processes[p].pid);
		write_process(w, p);
		builder_write_listing(w, p);
		for (int k = 0; k < BUILDER_USES; k++) {
			struct builder_uses *u = by_process[k];
			for (; at[k] < u->nr && u->all[at[k]].process == p; at[k]++) {
				const struct builder_use *use = &u->all[at[k]];
				if (write[k])
					write[k](w, use);
				else if (w->builder->frames[use->what].kind == AF_BUILDER_PYTHON)
					write_code(w, use);
			}
		}
		builder_stream_close(w);
	}
}

static void write_string(struct builder_writer *w, uint8_t *done, uint32_t name)
{
	struct af_ev_string fixed = {.string = name};

	if (!name || done[name])
		return;
	done[name] = 1;
	builder_put(w, AF_KIND_STRING, w->begin_ns, &fixed, sizeof fixed,
	            af_strtab_get(&w->builder->names, name), NULL);
}

static void write_symbol(struct builder_writer *w, uint32_t process, uint64_t address,
                         const uint32_t *frames, uint32_t nr, uint32_t module)
{
	struct af_ev_symbol symbol = {.process = process,
	                              .address = address,
	                              .module = module,
	                              .offset = address,
	                              .source = AF_SYMBOL_SYMTAB};
	struct af_tail tail = {frames, nr * 12, 4};

	af_stream_put_tail(&w->stream, AF_KIND_SYMBOL, w->begin_ns + w->shift_ns, &symbol,
	                   sizeof symbol, &tail, 1);
}

/* A frame and, where it is inlined, those that it is in. */
static void write_frame(struct builder_writer *w, uint8_t *done, uint32_t process, uint32_t index,
                        uint32_t imported)
{
	const struct af_builder *d = w->builder;
	const struct af_builder_frame_of *frame = &d->frames[index], *at = frame;
	uint32_t frames[3 * AF_BUILDER_DEPTH], nr = 0;
	bool kernel = process == UINT32_MAX;

	for (;; at = &d->frames[at->outer]) {
		const uint32_t one[3] = {at->name, at->file, at->line};
		memcpy(&frames[3 * nr++], one, sizeof one);
		write_string(w, done, at->name);
		write_string(w, done, at->file);
		if (at->kind != AF_BUILDER_INLINED)
			break;
	}
	write_string(w, done, frame->module);
	write_symbol(w, kernel ? 0 : process + 1,
	             (kernel ? ADDRESS_KERNEL : 0) + frame_address(index), frames, nr,
	             frame->module ? frame->module
	             : kernel      ? 0
	                           : imported);
}

/*
 * The file must not be called `symbols`: `aflame` replaces that stream when it symbolizes the trace
 * again.
 */
static void write_names(struct builder_writer *w)
{
	struct af_builder *d = w->builder;
	uint32_t eval = af_builder_name(d, "_PyEval_EvalFrameDefault", 24);
	uint32_t module = af_builder_name(d, "[imported]", 10), of_eval = UINT32_MAX;
	uint8_t *done = af_xcalloc(d->names.nr, 1);

	builder_stream_open(w, "names", 0, 0, 0);
	write_string(w, done, eval);
	write_string(w, done, module);
	for (uint32_t i = 0; i < w->frames.nr && !w->error; i++) {
		const struct builder_use *u = &w->frames.all[i];
		const struct af_builder_frame_of *frame = &d->frames[u->what];
		if (frame->kind == AF_BUILDER_PYTHON) {
			if (of_eval != u->process)
				write_symbol(w, u->process + 1, ADDRESS_EVAL, (uint32_t[3]){eval},
				             1, module);
			of_eval = u->process;
			continue;
		}
		write_frame(w, done, u->process, u->what, module);
	}
	builder_stream_close(w);
	free(done);
}

static void write_note(struct builder_writer *w, const char *key, const char *value)
{
	builder_put(w, AF_KIND_NOTE, w->begin_ns, "", 0, key, value);
}

static void write_notes(struct builder_writer *w)
{
	static const char *const names[] = {
#define AF_D(NAME, text) [AF_BUILDER_##NAME##_UNUSED] = "import.unused." #NAME,
	    AF_BUILDER_UNUSED(AF_D)
#undef AF_D
	};
	struct af_builder *d = w->builder;
	char value[256];

	builder_stream_open(w, "run", 0, 0, 0);
	if (d->epoch_ns)
		af_stream_put(&w->stream, clock, w->begin_ns + w->shift_ns,
		              .clock = AF_CLOCK_REALTIME, .mono_ns = w->begin_ns + w->shift_ns,
		              .foreign = w->begin_ns + d->epoch_ns);
	for (uint32_t i = 0; i < d->nr_notes; i++)
		write_note(w, d->notes[i].key, d->notes[i].value);
	for (int i = 0; i < AF_BUILDER_UNUSED_END; i++) {
		if (!d->unused[i])
			continue;
		snprintf(value, sizeof value, "%llu %s", (unsigned long long)d->unused[i],
		         af_builder_unused_text((enum af_builder_unused)i));
		write_note(w, names[i], value);
	}
	if (d->damaged)
		af_stream_put(&w->stream, lost, w->begin_ns + w->shift_ns,
		              .reason = AF_LOST_DAMAGED, .count = d->damaged);
	if (d->lost)
		af_stream_put(&w->stream, lost, w->begin_ns + w->shift_ns,
		              .reason = AF_LOST_KERNEL_RING, .count = d->lost);
	builder_stream_close(w);
}

static void span_add(struct builder_writer *w, uint64_t start_ns, uint64_t busy_ns)
{
	if (start_ns < w->begin_ns)
		w->begin_ns = start_ns;
	if (start_ns + busy_ns > w->end_ns)
		w->end_ns = start_ns + busy_ns;
}

static void span_find(struct builder_writer *w)
{
	const struct af_builder *d = w->builder;

	w->begin_ns = UINT64_MAX;
	for (uint64_t i = 0; i < d->nr_slices; i++) {
		const struct af_builder_slice *s = &d->slices[i];
		bool back = s->thread >> 24 == AF_BUILDER_BACK;
		uint64_t back_ns = back ? s->busy_ns : 0;
		span_add(w, s->start_ns - (back_ns < s->start_ns ? back_ns : s->start_ns),
		         s->busy_ns);
	}
	for (uint64_t i = 0; i < d->nr_works; i++)
		span_add(w, d->works[i].start_ns, d->works[i].busy_ns);
	for (uint64_t i = 0; i < d->nr_samples; i++)
		span_add(w, d->samples[i].time_ns, 0);
	for (uint64_t i = 0; i < d->nr_sums; i++)
		span_add(w, d->sums[i].time_ns, 0);
	for (uint64_t i = 0; i < d->nr_memories; i++)
		span_add(w, d->memories[i].time_ns, 0);
	for (uint32_t i = 0; i < d->stalls.nr_windows; i++)
		span_add(w, d->stalls.windows[i].start_ns,
		         d->stalls.windows[i].end_ns - d->stalls.windows[i].start_ns);
	if (d->begin_ns)
		span_add(w, d->begin_ns, 0);
	if (w->begin_ns == UINT64_MAX)
		w->begin_ns = 0;
	w->shift_ns = w->begin_ns ? 0 : SHIFT_NS;
}

int af_builder_write(struct af_builder *d, int dirfd, struct af_err *err)
{
	struct builder_writer w = {.builder = d, .dirfd = dirfd};

	span_find(&w);
	uint64_t begin_ns = w.begin_ns + w.shift_ns;
	uint64_t epoch_ns = d->epoch_ns ? w.begin_ns + d->epoch_ns : begin_ns;
	int rc = af_metadata_write(dirfd, begin_ns, epoch_ns, NULL, err);
	if (rc)
		return rc;
	builder_sort_mappings(d);
	builder_write_works(&w);
	builder_write_memories(&w);
	builder_write_threads(&w);
	builder_write_samples(&w);
	builder_write_sums(&w);
	builder_write_stalls(&w);
	write_definitions(&w);
	write_names(&w);
	write_notes(&w);
	struct builder_uses *uses[BUILDER_USES] = {&w.frames,  &w.functions, &w.kernels, &w.queues,
	                                           &w.devices, &w.codes,     &w.reasons};
	for (unsigned i = 0; i < sizeof uses / sizeof *uses; i++)
		uses_free(uses[i]);
	af_keys_free(&w.by_queue);
	free(w.queue_list);
	free(w.descriptor_defined);
	free(w.orphans);
	return w.error ? af_fail(err, w.error, "cannot write the trace") : 0;
}
