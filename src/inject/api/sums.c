#include "inject/api/sums.h"

#include <string.h>
#include <sys/mman.h>

#include "inject/core/thread.h"
#include "trace/write/sums.h"

/* The thread's table, made real; NULL: there is no room for one. */
static struct af_sum *sums_of(struct af_thread_context *t)
{
	struct af_ring *ring = t->stream.ring;
	struct af_sum *sums = ring ? (void *)((char *)ring + AF_RING_SUMS_AT) : NULL;

	if (!sums || atomic_load_explicit(&ring->has_sums, memory_order_relaxed))
		return sums;
	/* A touch of a page that cannot be had would be a SIGBUS. */
	if (madvise(sums, AF_RING_SUMS_BYTES, MADV_POPULATE_WRITE))
		return NULL;
	atomic_store_explicit(&ring->has_sums, 1, memory_order_release);
	return sums;
}

static struct af_sum *sum_find(struct af_sum *sums, uint32_t key)
{
	uint32_t at = key * 2654435761u;

	for (uint32_t i = 0; i < AF_SUMS; i++) {
		struct af_sum *s = &sums[(at + i) % AF_SUMS];
		if (s->key == key)
			return s;
		if (s->key)
			continue;
		s->min_ns = UINT64_MAX;
		__atomic_store_n(&s->key, key, __ATOMIC_RELEASE);
		return s;
	}
	return NULL;
}

static uint32_t bin_of(uint64_t v)
{
	uint32_t bin = v ? 63 - (uint32_t)__builtin_clzll(v) : 0;

	return bin < AF_SUM_BINS ? bin : AF_SUM_BINS - 1;
}

void af_sums_add(struct af_thread_context *t, uint32_t key, bool failed, uint64_t ns,
                 uint64_t bytes)
{
	struct af_sum *sums = sums_of(t), *s = sums ? sum_find(sums, key) : NULL;

	if (!s) {
		af_stream_discard(&t->stream, 1);
		return;
	}
	s->count++;
	if (failed) {
		s->failed++;
		return;
	}
	s->time_ns += ns;
	s->min_ns = ns < s->min_ns ? ns : s->min_ns;
	s->max_ns = ns > s->max_ns ? ns : s->max_ns;
	s->times[bin_of(ns)]++;
	if (bytes) {
		s->bytes += bytes;
		s->sizes[bin_of(bytes)]++;
	}
}

void af_sums_end(struct af_thread_context *t)
{
	struct af_ring *ring = t->stream.ring;
	uint32_t tid = atomic_load_explicit(&t->owner, memory_order_relaxed);
	uint8_t event[AF_SUM_EVENT_BYTES];

	if (!ring || !atomic_load_explicit(&ring->has_sums, memory_order_relaxed))
		return;
	struct af_sum *sums = sums_of(t);
	for (uint32_t i = 0; sums && i < AF_SUMS; i++) {
		if (!sums[i].key)
			continue;
		uint16_t kind;
		size_t size = af_sum_event(&sums[i], tid, event, &kind);
		void *at = af_stream_begin(&t->stream, (enum af_kind)kind, af_now_ns(), size);
		if (!at)
			continue;
		memcpy(at, event, size);
		af_stream_end(&t->stream);
		memset(&sums[i], 0, sizeof sums[i]);
	}
}
