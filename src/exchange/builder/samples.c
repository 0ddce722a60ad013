/* A builder's samples, and the sums of samples that have no time of their own. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/launch_name.h"
#include "exchange/builder/write.h"

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int sample_order(const void *a, const void *b)
{
	const struct af_builder_sample *x = a, *y = b;
	int d = compare(x->thread, y->thread);

	return d ? d : compare(x->time_ns, y->time_ns);
}

uint32_t builder_call_of(const struct af_builder *d, const struct af_builder_sample *s)
{
	bool named = s->node && !(s->node & AF_BUILDER_ADDRESSES);
	uint32_t name = named ? d->frames[d->nodes[s->node].frame].name : 0;
	const char *text = name ? af_strtab_get(&d->names, name) : "";

	if (s->kernel_node)
		return 0;
	if (s->at_launch && exchange_is_launch(text))
		return name;
	if (!d->calls || strncmp(text, "cu", 2))
		return 0;
	return builder_function_category(text) == AF_CATEGORY_OTHER ? 0 : name;
}

void builder_write_samples(struct builder_writer *w)
{
	struct af_builder *d = w->builder;
	uint32_t thread = UINT32_MAX;

	AF_SORT(d->samples, d->nr_samples, sample_order);
	for (uint64_t i = 0; i < d->nr_samples && !w->error; i++) {
		const struct af_builder_sample *s = &d->samples[i];
		if (s->thread != thread) {
			if (i)
				builder_stream_close(w);
			builder_thread_open(w, "samples", thread = s->thread);
		}
		uint32_t function = s->function, process = d->threads[thread].process;
		uint32_t node = function ? d->nodes[s->node].parent : s->node;
		if (node)
			builder_define_stack(w, process, node, s->time_ns);
		if (s->kernel_node)
			builder_define_kernel_stack(w, s->kernel_node, s->time_ns);
		if (function)
			af_stream_put(&w->stream, call_seen, s->time_ns + w->shift_ns,
			              .callpath = node,
			              .function = builder_use(&w->functions, process, function));
		else if (s->counted)
			af_stream_put(&w->stream, counted, s->time_ns + w->shift_ns,
			              .callpath = node, .kstack = s->kernel_node, .cpu = s->cpu,
			              .count = s->count, .apart_ns = s->weight_ns);
		else
			af_stream_put(&w->stream, ksample, s->time_ns + w->shift_ns,
			              .callpath = node, .kstack = s->kernel_node, .cpu = s->cpu,
			              .weight_ns =
			                  s->weight_ns ? s->weight_ns : d->sample_weight_ns);
	}
	if (d->nr_samples)
		builder_stream_close(w);
}

static int sum_order(const void *a, const void *b)
{
	const struct af_builder_sum *x = a, *y = b;
	int d = compare(x->thread, y->thread);

	if (!d)
		d = compare(x->time_ns, y->time_ns);
	return d ? d : compare(x->node, y->node);
}

void builder_write_sums(struct builder_writer *w)
{
	struct af_builder *d = w->builder;
	uint32_t thread = UINT32_MAX;

	AF_SORT(d->sums, d->nr_sums, sum_order);
	for (uint64_t i = 0; i < d->nr_sums && !w->error; i++) {
		const struct af_builder_sum *s = &d->sums[i];
		if (s->thread != thread) {
			if (i)
				builder_stream_close(w);
			builder_thread_open(w, "sums", thread = s->thread);
		}
		if (s->node)
			builder_define_stack(w, d->threads[thread].process, s->node, s->time_ns);
		af_stream_put(&w->stream, summed, s->time_ns + w->shift_ns, .callpath = s->node,
		              .busy_ns = s->busy_ns, .samples = s->samples, .count = s->count,
		              .bytes = s->bytes, .off_cpu_ns = s->off_cpu_ns);
	}
	if (d->nr_sums)
		builder_stream_close(w);
}
