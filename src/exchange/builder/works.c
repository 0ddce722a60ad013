/*
 * The device's side: joins work to its call by correlation, and assigns it to that call's process.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/write.h"

/* Which process made the call with this correlation. */
struct caller {
	uint32_t space, correlation, process;
};

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int caller_order(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;
	int d = compare(x->space, y->space);

	return d ? d : compare(x->correlation, y->correlation);
}

static struct caller *callers_make(const struct af_builder *d, uint64_t *nr)
{
	struct caller *all = NULL;
	uint64_t cap = 0;

	*nr = 0;
	for (uint64_t i = 0; i < d->nr_slices; i++) {
		const struct af_builder_slice *s = &d->slices[i];
		if (s->thread >> 24 != AF_BUILDER_CALL || !s->correlation)
			continue;
		uint32_t process = d->threads[s->thread & AF_U24_MAX].process;
		AF_GROW(all, *nr, cap);
		all[(*nr)++] =
		    (struct caller){d->processes[process].space, s->correlation, process};
	}
	AF_SORT(all, *nr, caller_order);
	return all;
}

/* Work without a call belongs to the first process of its file. */
static uint32_t process_of_space(struct af_builder *d, uint32_t space)
{
	for (uint32_t i = 0; i < d->nr_processes; i++)
		if (d->processes[i].space == space && d->processes[i].threads)
			return i;
	return af_builder_process(d, space, 0);
}

static int orphan_order(const void *a, const void *b)
{
	const struct builder_orphan *x = a, *y = b;
	int d = compare(x->space, y->space);

	if (!d)
		d = compare(x->external, y->external);
	if (!d)
		d = compare(x->correlation, y->correlation);
	return d ? d : compare(x->work, y->work);
}

struct builder_orphan *builder_orphans(const struct builder_writer *w, uint32_t space,
                                       uint32_t external)
{
	const struct builder_orphan key = {.space = space, .external = external};
	uint64_t from = 0, to = w->nr_orphans;

	while (from < to) {
		uint64_t middle = from + (to - from) / 2;
		if (orphan_order(&w->orphans[middle], &key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == w->nr_orphans || w->orphans[from].space != space ||
	    w->orphans[from].external != external)
		return NULL;
	return &w->orphans[from];
}

/* The processes of the operators that orphans refer to. */
static void orphans_find_process(struct builder_writer *w)
{
	struct af_builder *d = w->builder;

	if (!w->nr_orphans)
		return;
	const struct builder_orphan *end = w->orphans + w->nr_orphans;
	AF_SORT(w->orphans, w->nr_orphans, orphan_order);
	for (uint64_t i = 0; i < d->nr_slices; i++) {
		const struct af_builder_slice *s = &d->slices[i];
		if (!s->external || s->thread >> 24 != AF_BUILDER_OP)
			continue;
		uint32_t process = d->threads[s->thread & AF_U24_MAX].process;
		struct builder_orphan *o =
		    builder_orphans(w, d->processes[process].space, s->external);
		for (; o && o < end && o->space == d->processes[process].space &&
		       o->external == s->external && o->process == UINT32_MAX;
		     o++)
			o->process = process;
	}
}

/* The process of each work: by its call; else by its operator; else the first of its file. */
static void works_find_process(struct builder_writer *w)
{
	struct af_builder *d = w->builder;
	uint64_t nr;
	struct caller *all = callers_make(d, &nr);
	uint32_t space = UINT32_MAX, process = 0;

	for (uint64_t i = 0; i < d->nr_works; i++) {
		struct af_builder_work *work = &d->works[i];
		struct caller key = {work->space, work->correlation, 0}, *found = NULL;
		if (work->correlation && nr)
			found = bsearch(&key, all, nr, sizeof *all, caller_order);
		if (!found) {
			AF_GROW(w->orphans, w->nr_orphans, w->cap_orphans);
			w->orphans[w->nr_orphans++] = (struct builder_orphan){
			    .space = work->space,
			    .external = work->correlation ? work->external : 0,
			    .correlation = work->correlation,
			    .process = UINT32_MAX,
			    .work = i,
			};
			continue;
		}
		work->space = found->process;
	}
	free(all);
	orphans_find_process(w);
	for (uint64_t i = 0; i < w->nr_orphans; i++) {
		struct builder_orphan *o = &w->orphans[i];
		if (o->process == UINT32_MAX) {
			d->unused[AF_BUILDER_UNASKED_UNUSED]++;
			if (o->space != space)
				process = process_of_space(d, space = o->space);
		}
		d->works[o->work].space = o->process == UINT32_MAX ? process : o->process;
	}
}

static int work_order(const void *a, const void *b)
{
	const struct af_builder_work *x = a, *y = b;
	int d = compare(x->space, y->space);

	if (!d)
		d = compare(x->start_ns + x->busy_ns, y->start_ns + y->busy_ns);
	if (!d)
		d = compare(x->start_ns, y->start_ns);
	return d ? d : compare(x->correlation, y->correlation);
}

uint32_t builder_queue_use(struct builder_writer *w, uint32_t process,
                           const struct builder_queue *q)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&w->by_queue, q, sizeof *q, &fresh);

	if (fresh) {
		*slot = w->nr_queues;
		AF_GROW(w->queue_list, w->nr_queues, w->cap_queues);
		w->queue_list[w->nr_queues++] = *q;
	}
	builder_use(&w->devices, process, q->device);
	return builder_use(&w->queues, process, (uint32_t)*slot);
}

static void define_descriptor(struct builder_writer *w, uint32_t process, uint32_t index,
                              uint64_t time_ns)
{
	const struct af_builder_descriptor *s = &w->builder->descriptors[index];
	struct af_stream *out = &w->stream;

	if (w->descriptor_defined[index] == w->nr_streams)
		return;
	w->descriptor_defined[index] = w->nr_streams;
	af_stream_put(
	    out, descriptor, time_ns, .descriptor = index + 1, .op = s->op,
	    .queue = builder_queue_use(w, process,
	                               &(struct builder_queue){s->device, s->context, s->stream}),
	    .kernel = s->op == AF_OP_KERNEL ? builder_use(&w->kernels, process, s->kernel) : 0,
	    .bytes = s->bytes, .global_x = s->global[0], .global_y = s->global[1],
	    .global_z = s->global[2], .local_x = s->local[0], .local_y = s->local[1],
	    .local_z = s->local[2]);
	if (s->registers || s->shared)
		af_stream_put(out, launch_config, time_ns, .descriptor = index + 1,
		              .registers = s->registers, .dynamic_shared = s->shared);
}

static void write_work(struct builder_writer *w, const struct af_builder_work *work)
{
	uint64_t start_ns = work->start_ns + w->shift_ns, end_ns = start_ns + work->busy_ns;

	define_descriptor(w, work->space, work->descriptor, end_ns);
	if (work->busy_ns <= UINT32_MAX)
		af_stream_put(&w->stream, gpu_work, end_ns, .descriptor = work->descriptor + 1,
		              .correlation = work->correlation, .start_ns = start_ns,
		              .busy_ns = (uint32_t)work->busy_ns, .node = work->node);
	else
		af_stream_put(&w->stream, gpu_work_long, end_ns, .descriptor = work->descriptor + 1,
		              .correlation = work->correlation, .start_ns = start_ns,
		              .end_ns = end_ns, .node = work->node);
}

void builder_write_works(struct builder_writer *w)
{
	struct af_builder *d = w->builder;
	uint32_t process = UINT32_MAX;

	if (!d->nr_works)
		return;
	works_find_process(w);
	AF_SORT(d->works, d->nr_works, work_order);
	w->descriptor_defined = af_xcalloc(d->nr_descriptors, sizeof *w->descriptor_defined);
	for (uint64_t i = 0; i < d->nr_works && !w->error; i++) {
		const struct af_builder_work *work = &d->works[i];
		if (work->space != process) {
			if (i)
				builder_stream_close(w);
			process = work->space;
			builder_stream_open(w, "gpu", process, process + 1,
			                    d->processes[process].pid);
		}
		write_work(w, work);
	}
	builder_stream_close(w);
}

uint32_t builder_function_category(const char *name)
{
	static const struct {
		const char *part;
		enum af_call_category category;
	} parts[] = {
	    {"GraphLaunch", AF_CATEGORY_GRAPH_LAUNCH},
	    {"Graph", AF_CATEGORY_GRAPH},
	    {"Capture", AF_CATEGORY_GRAPH},
	    {"Launch", AF_CATEGORY_LAUNCH},
	    {"clEnqueueNDRangeKernel", AF_CATEGORY_LAUNCH},
	    {"clEnqueueTask", AF_CATEGORY_LAUNCH},
	    {"clEnqueueRead", AF_CATEGORY_COPY},
	    {"clEnqueueWrite", AF_CATEGORY_COPY},
	    {"clEnqueueCopy", AF_CATEGORY_COPY},
	    {"clEnqueueFill", AF_CATEGORY_FILL},
	    {"clFinish", AF_CATEGORY_SYNC},
	    {"clWaitForEvents", AF_CATEGORY_SYNC},
	    {"clBuildProgram", AF_CATEGORY_LOAD},
	    {"Memcpy", AF_CATEGORY_COPY},
	    {"Memset", AF_CATEGORY_FILL},
	    {"Synchronize", AF_CATEGORY_SYNC},
	    {"Malloc", AF_CATEGORY_ALLOC},
	    {"MemAlloc", AF_CATEGORY_ALLOC},
	    {"HostAlloc", AF_CATEGORY_ALLOC},
	    {"MemCreate", AF_CATEGORY_ALLOC},
	    {"Free", AF_CATEGORY_FREE},
	    {"ModuleLoad", AF_CATEGORY_LOAD},
	    {"LibraryLoad", AF_CATEGORY_LOAD},
	};

	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(name, parts[i].part))
			return parts[i].category;
	return AF_CATEGORY_OTHER;
}

/* Its names begin so and go on with a capital: "clFinish", and not "clone". */
enum af_api builder_function_api(const char *name)
{
	static const struct {
		const char *prefix;
		enum af_api api;
	} apis[] = {{"hip", AF_API_HIP}, {"cl", AF_API_OPENCL}, {"ze", AF_API_LEVEL_ZERO}};

	for (size_t i = 0; i < sizeof apis / sizeof *apis; i++) {
		size_t len = strlen(apis[i].prefix);
		if (!strncmp(name, apis[i].prefix, len) && isupper((unsigned char)name[len]))
			return apis[i].api;
	}
	return AF_API_CUDA;
}
