/*
 * A mock of CUPTI, libcupti.so.12 and .13, over the mock of the driver (mock_cuda.h): callbacks and
 * activity records in the byte layouts of CUPTI 12.4 and 13.0, chosen by the version it pretends to
 * be. A thread of its own completes buffers, as the real one does.
 *
 * Environment, for what goes wrong on real machines:
 *
 *	MOCK_CUPTI_VERSION          what cuptiGetVersion says: 130001, or 22 for 12.4
 *	                            (libcupti.so.12)
 *	MOCK_CUPTI_HELD             1: another profiler has subscribed already
 *	MOCK_CUPTI_SUBSCRIBE_ERROR  what cuptiSubscribe returns
 *	MOCK_CUPTI_ENABLE_ERROR     what cuptiActivityEnable returns
 *	MOCK_CUPTI_ENABLE_KIND      … for this kind only
 *	MOCK_CUPTI_CORRELATION      number of the first call (1); near 2^32 for a wrap
 *	MOCK_CUPTI_ZERO_EVERY       every so many records have no stamps
 *	MOCK_CUPTI_SWAP_EVERY       every so many records end before they start
 *	MOCK_CUPTI_NEWER_IDS        functions of the driver that no version has yet
 *	MOCK_CUPTI_DROP_EVERY       every so many records are dropped, and counted
 *	MOCK_CUPTI_BUFFER_BYTES     how large buffers for records have to be, or it aborts
 *	MOCK_CUPTI_FLUSH_MS         a flush takes so long
 *	MOCK_CUPTI_RECORDED         a file of real records (tests/gpu/recorded), which come with
 *	                            the first flush
 *	MOCK_CUPTI_FATAL_AFTER      after so many records CUPTI gives up (domain STATE, fatal
 *	                            error)
 */
#ifndef MOCK_CUPTI_H
#define MOCK_CUPTI_H

#include "mock_cuda.h"

/* CUptiResult */
enum {
	CUPTI_OK = 0,
	CUPTI_INVALID_PARAMETER = 1,
	CUPTI_INVALID_OPERATION = 7,
	CUPTI_OUT_OF_MEMORY = 8,
	CUPTI_MAX_LIMIT_REACHED = 12,
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_INVALID_KIND = 21,
	CUPTI_OTHER_SUBSCRIBER = 39,
};

enum { CUPTI_DRIVER = 1, CUPTI_RUNTIME = 2, CUPTI_RESOURCE = 3, CUPTI_STATE = 6, CUPTI_DOMAINS };

/* CUpti_ActivityKind */
enum {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_CONCURRENT_KERNEL = 10,
	CUPTI_OVERHEAD = 17,
	CUPTI_MEMCPY_PEER = 22,
	CUPTI_GRAPH_TRACE = 51,
	CUPTI_KINDS = 64,
	CUPTI_RECORD_MAX = 216,
};

/* One activity record. */
struct mock_record {
	struct mock_record *next;
	uint64_t end_ns; /* when it is complete */
	size_t size;
	uint8_t bytes[CUPTI_RECORD_MAX] __attribute__((aligned(8)));
};

/* cupti_records.c. Of @kind, 0 for one that there is not. */
size_t cupti_record_size(uint32_t kind);
/* The kind that @work is reported as. */
uint32_t cupti_record_kind(const struct mock_work *work);
/* Fills @record; without its stamps when there are none. */
void cupti_record_fill(struct mock_record *record, const struct mock_work *work, bool has_stamps);
void cupti_record_unstamp(struct mock_record *record);
void cupti_record_swap(struct mock_record *record); /* its start and its end */
void cupti_record_restamp(struct mock_record *record, uint64_t (*turn)(uint64_t stamp));
void cupti_record_overhead(struct mock_record *record, uint32_t overhead, uint64_t start_ns,
                           uint64_t end_ns);

/* cupti_recorded.c. Calls @add for each record of the file, if there is one. */
void cupti_recorded(void (*add)(struct mock_record *record));

/* cupti_activity.c */
void cupti_work(const struct mock_work *work);
bool cupti_wants_graphs_whole(void);
void cupti_overhead(uint32_t overhead, uint64_t start_ns, uint64_t end_ns);
void cupti_activity_end(void);
uint64_t cupti_now(void); /* on the clock that the tool gave, if it gave one */

/* cupti_callbacks.c */
bool cupti_is_13(void);
void cupti_attach(void);
void cupti_fatal(void);

#endif
