/*
 * The bytes of activity records, written at the offsets that the real structures have
 * (CUpti_ActivityKernel9 and 10, Memcpy5 and 6, MemcpyPtoP4, Memset4, GraphTrace2, Overhead3): not
 * by structures, so that those of the collector are checked against something else.
 */
#include "mock_cupti.h"

#include <string.h>

enum { RECORD_START = 16, RECORD_GRAPH_TRACE_START = 8, RECORD_OVERHEAD_START = 24 };

static void put8(struct mock_record *r, size_t at, uint8_t value)
{
	r->bytes[at] = value;
}

static void put16(struct mock_record *r, size_t at, uint16_t value)
{
	memcpy(r->bytes + at, &value, sizeof(value));
}

static void put32(struct mock_record *r, size_t at, uint32_t value)
{
	memcpy(r->bytes + at, &value, sizeof(value));
}

static void put64(struct mock_record *r, size_t at, uint64_t value)
{
	memcpy(r->bytes + at, &value, sizeof(value));
}

size_t cupti_record_size(uint32_t kind)
{
	switch (kind) {
	case CUPTI_CONCURRENT_KERNEL:
		return cupti_is_13() ? 216 : 208;
	case CUPTI_MEMCPY:
		return cupti_is_13() ? 96 : 88;
	case CUPTI_MEMCPY_PEER:
		return 96;
	case CUPTI_MEMSET:
		return 88;
	case CUPTI_OVERHEAD:
	case CUPTI_GRAPH_TRACE:
		return 56;
	default:
		return 0;
	}
}

uint32_t cupti_record_kind(const struct mock_work *work)
{
	static const uint32_t kinds[] = {
	    [MOCK_KERNEL] = CUPTI_CONCURRENT_KERNEL, [MOCK_COPY] = CUPTI_MEMCPY,
	    [MOCK_PEER] = CUPTI_MEMCPY_PEER,         [MOCK_FILL] = CUPTI_MEMSET,
	    [MOCK_GRAPH] = CUPTI_GRAPH_TRACE,
	};

	return kinds[work->op];
}

static void record_kernel(struct mock_record *r, const struct mock_work *w)
{
	put16(r, 6, 32); /* registers a thread */
	put64(r, 32, w->end_ns);
	put32(r, 40, w->device);
	put32(r, 44, w->context);
	put32(r, 48, w->stream);
	for (size_t i = 0; i < 3; i++) {
		put32(r, 52 + 4 * i, w->grid[i]);
		put32(r, 64 + 4 * i, w->block[i]);
		put32(r, 176 + 4 * i, w->cluster[i]);
	}
	put32(r, 80, w->shared_bytes);
	put32(r, 92, w->correlation);
	put64(r, 104, (uintptr_t)w->name);
	put64(r, 144, w->node);
	put32(r, 156, w->graph);
}

static void record_copy(struct mock_record *r, const struct mock_work *w)
{
	put8(r, 4, w->copy_kind);
	put8(r, 5, w->source_kind);
	put8(r, 6, w->target_kind);
	put8(r, 7, w->is_async);
	put64(r, 8, w->bytes);
	put32(r, 32, w->device);
	put32(r, 36, w->context);
	put32(r, 40, w->stream);
	if (w->op == MOCK_PEER) {
		put32(r, 44, w->from_device);
		put32(r, 48, w->from_context);
		put32(r, 52, w->to_device);
		put32(r, 56, w->to_context);
		put32(r, 60, w->correlation);
		put64(r, 72, w->node);
		put32(r, 80, w->graph);
		return;
	}
	put32(r, 44, w->correlation);
	put64(r, 64, w->node);
	put32(r, 72, w->graph);
	if (cupti_is_13())
		put64(r, 88, 1); /* copies */
}

static void record_fill(struct mock_record *r, const struct mock_work *w)
{
	put32(r, 4, w->value);
	put64(r, 8, w->bytes);
	put32(r, 32, w->device);
	put32(r, 36, w->context);
	put32(r, 40, w->stream);
	put32(r, 44, w->correlation);
	put16(r, 48, w->is_async);
	put16(r, 50, w->target_kind);
	put64(r, 64, w->node);
	put32(r, 72, w->graph);
}

static void record_graph(struct mock_record *r, const struct mock_work *w)
{
	put32(r, 4, w->correlation);
	put32(r, 24, w->device);
	put32(r, 28, w->graph);
	put32(r, 32, w->context);
	put32(r, 36, w->stream);
	put32(r, 48, w->device);
	put32(r, 52, w->context);
}

static size_t record_start(const struct mock_record *r)
{
	uint32_t kind;

	memcpy(&kind, r->bytes, sizeof(kind));
	return kind == CUPTI_GRAPH_TRACE ? RECORD_GRAPH_TRACE_START
	       : kind == CUPTI_OVERHEAD  ? RECORD_OVERHEAD_START
	                                 : RECORD_START;
}

void cupti_record_unstamp(struct mock_record *record)
{
	memset(record->bytes + record_start(record), 0, 2 * sizeof(uint64_t));
}

void cupti_record_swap(struct mock_record *record)
{
	uint64_t stamps[2];

	memcpy(stamps, record->bytes + record_start(record), sizeof(stamps));
	put64(record, record_start(record), stamps[1]);
	put64(record, record_start(record) + 8, stamps[0]);
}

void cupti_record_restamp(struct mock_record *record, uint64_t (*turn)(uint64_t stamp))
{
	uint64_t stamps[2];

	memcpy(stamps, record->bytes + record_start(record), sizeof(stamps));
	for (size_t i = 0; i < 2; i++)
		if (stamps[i])
			put64(record, record_start(record) + 8 * i, turn(stamps[i]));
}

void cupti_record_fill(struct mock_record *record, const struct mock_work *work, bool has_stamps)
{
	const uint32_t kind = cupti_record_kind(work);

	memset(record, 0, sizeof(*record));
	record->size = cupti_record_size(kind);
	record->end_ns = work->end_ns;
	put32(record, 0, kind);
	if (kind == CUPTI_CONCURRENT_KERNEL)
		record_kernel(record, work);
	else if (kind == CUPTI_MEMSET)
		record_fill(record, work);
	else if (kind == CUPTI_GRAPH_TRACE)
		record_graph(record, work);
	else
		record_copy(record, work);
	if (!has_stamps)
		return;
	put64(record, record_start(record), work->start_ns);
	put64(record, record_start(record) + 8, work->end_ns);
}

void cupti_record_overhead(struct mock_record *record, uint32_t overhead, uint64_t start_ns,
                           uint64_t end_ns)
{
	memset(record, 0, sizeof(*record));
	record->size = cupti_record_size(CUPTI_OVERHEAD);
	record->end_ns = end_ns;
	put32(record, 0, CUPTI_OVERHEAD);
	put32(record, 4, overhead);
	put64(record, RECORD_OVERHEAD_START, start_ns);
	put64(record, RECORD_OVERHEAD_START + 8, end_ns);
}
