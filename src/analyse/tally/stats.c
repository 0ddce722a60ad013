#include "analyse/tally/stats.h"

#include <stdlib.h>

#include "base/arena.h"

static void count_add(uint32_t *count, uint32_t n)
{
	if (__builtin_add_overflow(*count, n, count))
		*count = UINT32_MAX;
}

static void histogram_spread(struct af_histogram *h)
{
	h->counts = af_xcalloc(AF_HISTOGRAM_BUCKETS, sizeof *h->counts);
	for (unsigned i = 0; i < h->nr; i++)
		h->counts[h->bucket[i]] = h->few[i];
}

void af_histogram_put(struct af_histogram *h, unsigned bucket, uint32_t n)
{
	for (unsigned i = 0; i < h->nr && !h->counts; i++)
		if (h->bucket[i] == bucket) {
			count_add(&h->few[i], n);
			return;
		}
	if (!h->counts && h->nr < AF_HISTOGRAM_FEW) {
		h->bucket[h->nr] = (uint8_t)bucket;
		h->few[h->nr++] = n;
		return;
	}
	if (!h->counts)
		histogram_spread(h);
	count_add(&h->counts[bucket], n);
}

static void histogram_merge(struct af_histogram *to, const struct af_histogram *from)
{
	for (unsigned i = 0; i < from->nr && !from->counts; i++)
		af_histogram_put(to, from->bucket[i], from->few[i]);
	for (unsigned i = 0; i < AF_HISTOGRAM_BUCKETS && from->counts; i++)
		if (from->counts[i])
			af_histogram_put(to, i, from->counts[i]);
}

static void sum_add(uint64_t *to, uint64_t from)
{
	if (__builtin_add_overflow(*to, from, to))
		*to = UINT64_MAX;
}

void af_stats_merge(struct af_call_stats *to, const struct af_call_stats *from)
{
	if (from->count > from->failed) {
		if (to->count == to->failed || from->min_ns < to->min_ns)
			to->min_ns = from->min_ns;
		if (from->max_ns > to->max_ns)
			to->max_ns = from->max_ns;
	}
	if (from->sized) {
		if (!to->sized || from->min_bytes < to->min_bytes)
			to->min_bytes = from->min_bytes;
		if (from->max_bytes > to->max_bytes)
			to->max_bytes = from->max_bytes;
	}
	sum_add(&to->count, from->count);
	sum_add(&to->failed, from->failed);
	sum_add(&to->time_ns, from->time_ns);
	sum_add(&to->bytes, from->bytes);
	sum_add(&to->sized, from->sized);
	histogram_merge(&to->times, &from->times);
	histogram_merge(&to->sizes, &from->sizes);
}

/* The smallest value of @bucket. */
static uint64_t bucket_from(unsigned bucket)
{
	if (bucket < 4)
		return bucket;
	return (4ull + bucket % 4) << (bucket / 4 - 1);
}

static uint64_t bucket_count(const struct af_histogram *h, unsigned bucket)
{
	if (h->counts)
		return h->counts[bucket];
	for (unsigned i = 0; i < h->nr; i++)
		if (h->bucket[i] == bucket)
			return h->few[i];
	return 0;
}

uint64_t af_histogram_percentile(const struct af_histogram *h, unsigned percent, uint64_t min,
                                 uint64_t max)
{
	uint64_t all = 0, before = 0;

	for (unsigned i = 0; i < AF_HISTOGRAM_BUCKETS; i++)
		all += bucket_count(h, i);
	if (!all)
		return 0;
	uint64_t wanted = (all * percent + 99) / 100;
	for (unsigned i = 0; i < AF_HISTOGRAM_BUCKETS; i++) {
		uint64_t here = bucket_count(h, i);
		if (!here || before + here < wanted) {
			before += here;
			continue;
		}
		/* Values of a bucket are taken to lie evenly in it, or up to the exact ends. */
		uint64_t from = bucket_from(i);
		uint64_t to = i + 1 < AF_HISTOGRAM_BUCKETS ? bucket_from(i + 1) - 1 : UINT64_MAX;
		from = from < min ? min : from;
		to = to > max ? max : to;
		if (to <= from)
			return to < min ? min : to;
		double part = (double)(wanted - before) / (double)here;
		return from + (uint64_t)((double)(to - from) * part);
	}
	return max;
}

void af_stats_free(struct af_call_stats *s)
{
	free(s->times.counts);
	free(s->sizes.counts);
	s->times.counts = s->sizes.counts = NULL;
}
