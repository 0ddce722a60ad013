/* The samples of a draft, and what was added up of those that have no moment. */
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
	const struct af_draft_sample *x = a, *y = b;
	int d = compare(x->thread, y->thread);

	return d ? d : compare(x->time_ns, y->time_ns);
}

uint32_t draft_call_of(const struct af_draft *d, const struct af_draft_sample *s)
{
	bool named = s->node && !(s->node & AF_DRAFT_ADDRESSES);
	uint32_t name = named ? d->frames[d->nodes[s->node].frame].name : 0;
	const char *text = name ? af_strtab_get(&d->names, name) : "";

	if (s->kernel_node)
		return 0;
	if (s->at_launch && exchange_is_launch(text))
		return name;
	if (!d->calls || strncmp(text, "cu", 2))
		return 0;
	return draft_function_does(text) == AF_DOES_OTHER ? 0 : name;
}

void draft_write_samples(struct draft_writer *w)
{
	struct af_draft *d = w->draft;
	uint32_t thread = UINT32_MAX;

	if (d->nr_samples)
		qsort(d->samples, d->nr_samples, sizeof *d->samples, sample_order);
	for (uint64_t i = 0; i < d->nr_samples && !w->error; i++) {
		const struct af_draft_sample *s = &d->samples[i];
		if (s->thread != thread) {
			if (i)
				draft_stream_close(w);
			draft_thread_open(w, "samples", thread = s->thread);
		}
		uint32_t function = s->function, process = d->threads[thread].process;
		uint32_t node = function ? d->nodes[s->node].parent : s->node;
		if (node)
			draft_define_stack(w, process, node, s->time_ns);
		if (s->kernel_node)
			draft_define_kernel_stack(w, s->kernel_node, s->time_ns);
		if (function)
			af_stream_put(&w->stream, call_seen, s->time_ns + w->shift_ns,
			              .callpath = node,
			              .function = draft_use(&w->functions, process, function));
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
		draft_stream_close(w);
}

static int sum_order(const void *a, const void *b)
{
	const struct af_draft_sum *x = a, *y = b;
	int d = compare(x->thread, y->thread);

	if (!d)
		d = compare(x->time_ns, y->time_ns);
	return d ? d : compare(x->node, y->node);
}

void draft_write_sums(struct draft_writer *w)
{
	struct af_draft *d = w->draft;
	uint32_t thread = UINT32_MAX;

	if (d->nr_sums)
		qsort(d->sums, d->nr_sums, sizeof *d->sums, sum_order);
	for (uint64_t i = 0; i < d->nr_sums && !w->error; i++) {
		const struct af_draft_sum *s = &d->sums[i];
		if (s->thread != thread) {
			if (i)
				draft_stream_close(w);
			draft_thread_open(w, "sums", thread = s->thread);
		}
		if (s->node)
			draft_define_stack(w, d->threads[thread].process, s->node, s->time_ns);
		af_stream_put(&w->stream, summed, s->time_ns + w->shift_ns, .callpath = s->node,
		              .busy_ns = s->busy_ns, .samples = s->samples, .count = s->count,
		              .bytes = s->bytes, .off_cpu_ns = s->off_cpu_ns);
	}
	if (d->nr_sums)
		draft_stream_close(w);
}
