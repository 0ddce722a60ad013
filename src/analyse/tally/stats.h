/*
 * The calls of one function, added up: how many, how long, how large, and how both are distributed.
 * A histogram has four buckets for each power of two, so a percentile is at most a quarter off; the
 * first few buckets that are used need no memory of their own, as most functions have no others.
 *
 *	a zeroed struct is empty → { af_stats_call | af_stats_merge }* → af_stats_free
 */
#ifndef AF_ANALYSE_TALLY_STATS_H
#define AF_ANALYSE_TALLY_STATS_H

#include <stdint.h>

enum { AF_HISTOGRAM_FEW = 6, AF_HISTOGRAM_BUCKETS = 252 };

struct af_histogram {
	uint32_t *counts; /* of all buckets; NULL: these few suffice */
	uint8_t nr, bucket[AF_HISTOGRAM_FEW];
	uint32_t few[AF_HISTOGRAM_FEW];
};

/* The members that every call changes come first, in as few cache lines as can be. */
struct af_call_stats {
	uint64_t count, failed; /* failed ones are counted, and are in nothing else */
	uint64_t time_ns, min_ns, max_ns;
	struct af_histogram times, sizes;
	uint64_t bytes, sized, min_bytes, max_bytes; /* sized: calls that have bytes */
};

/* Count @n values of @bucket: the slow path of af_histogram_add(). */
void af_histogram_put(struct af_histogram *h, unsigned bucket, uint32_t n);

/* The bucket of @value: itself up to 3, then by the highest bit and the two after it. */
static inline unsigned af_histogram_bucket(uint64_t value)
{
	if (value < 4)
		return (unsigned)value;
	unsigned high = 63u - (unsigned)__builtin_clzll(value);
	return (high - 1) * 4 + (unsigned)(value >> (high - 2) & 3);
}

static inline void af_histogram_add(struct af_histogram *h, uint64_t value)
{
	unsigned bucket = af_histogram_bucket(value);

	if (!h->counts && h->nr && h->bucket[0] == bucket && h->few[0] < UINT32_MAX)
		h->few[0]++;
	else
		af_histogram_put(h, bucket, 1);
}

/* Add a call of @ns that worked. */
static inline void af_stats_call(struct af_call_stats *s, uint64_t ns)
{
	if (s->count == s->failed || ns < s->min_ns)
		s->min_ns = ns;
	if (ns > s->max_ns)
		s->max_ns = ns;
	s->count++;
	s->time_ns += ns;
	af_histogram_add(&s->times, ns);
}

/* Add what a call that worked moved or allocated. */
static inline void af_stats_bytes(struct af_call_stats *s, uint64_t bytes)
{
	if (!s->sized || bytes < s->min_bytes)
		s->min_bytes = bytes;
	if (bytes > s->max_bytes)
		s->max_bytes = bytes;
	s->sized++;
	s->bytes += bytes;
	af_histogram_add(&s->sizes, bytes);
}

/* Add all of @from to @to. */
void af_stats_merge(struct af_call_stats *to, const struct af_call_stats *from);

/*
 * The value that @percent of all are at most, between @min and @max, which are known exactly; 0 for
 * an empty histogram.
 */
uint64_t af_histogram_percentile(const struct af_histogram *h, unsigned percent, uint64_t min,
                                 uint64_t max);

/* Free the histograms. */
void af_stats_free(struct af_call_stats *s);

#endif
