/*
 * Nsight Systems' SQLite export (`nsys export --type sqlite`). A call and its device work share a
 * correlation id, which is unique within its process. Nsight makes a table only if it has rows, and
 * columns came and went over the years; the reader skips what a file does not have.
 */
#include "exchange/nsys/nsys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/source/source.h"
#include "exchange/source/whole.h"

enum { NSYS_SPACE_SHIFT = 20 };

void nsys_table(struct import_nsys *in, const char *table, const char *order,
                const char *const *columns,
                void (*take)(struct import_nsys *in, const struct sqlite_rows *rows))
{
	struct sqlite_rows rows;

	if (sqlite_select(in->db, &rows, table, order, columns))
		while (sqlite_next(&rows))
			take(in, &rows);
	if (rows.failed) {
		in->builder->damaged++;
		if (!*in->complaint)
			snprintf(in->complaint, in->complaint_size, "table %s: %s", table,
			         sqlite_error(in->db));
	}
	sqlite_done(&rows);
}

uint32_t nsys_string(struct import_nsys *in, const struct sqlite_rows *rows, int column)
{
	if (!sqlite_has(rows, column))
		return 0;
	const uint64_t *name = af_map_get(&in->strings, (uint64_t)sqlite_int(rows, column, -1));
	if (!name)
		in->builder->unused[AF_BUILDER_STRINGS_UNUSED]++;
	return name ? (uint32_t)*name : 0;
}

uint32_t nsys_space(struct import_nsys *in, int64_t global)
{
	uint64_t pid = (uint64_t)(global >> NSYS_GLOBAL_BITS & NSYS_ID_MASK);
	bool fresh;
	uint64_t *space = af_map_at(&in->spaces, pid, &fresh);

	if (fresh)
		*space = in->number + 1 + ((in->spaces.nr - 1) << NSYS_SPACE_SHIFT);
	if (!in->first_space)
		in->first_space = (uint32_t)*space;
	return (uint32_t)*space;
}

uint32_t nsys_thread(struct import_nsys *in, int64_t global)
{
	uint32_t pid = (uint32_t)(global >> NSYS_GLOBAL_BITS & NSYS_ID_MASK);
	uint32_t process = af_builder_process(in->builder, nsys_space(in, global), pid);

	return af_builder_thread(in->builder, process, (uint32_t)(global & NSYS_ID_MASK));
}

void nsys_main_thread(struct import_nsys *in, int64_t global_pid)
{
	int64_t pid = global_pid >> NSYS_GLOBAL_BITS & NSYS_ID_MASK;

	nsys_thread(in, (global_pid & ~NSYS_ID_MASK) | pid);
}

bool nsys_times(struct import_nsys *in, const struct sqlite_rows *rows, uint64_t *start_ns,
                uint64_t *busy_ns)
{
	int64_t start, end = sqlite_int(rows, 1, -1);

	if (!sqlite_has(rows, 0) || !sqlite_has(rows, 1)) {
		in->builder->unused[AF_BUILDER_HALVES_UNUSED]++;
		return false;
	}
	if (__builtin_add_overflow(sqlite_int(rows, 0, -1), (int64_t)in->epoch_ns, &start) ||
	    __builtin_add_overflow(end, (int64_t)in->epoch_ns, &end) || start < 0 || end < start) {
		in->builder->unused[AF_BUILDER_TIMES_UNUSED]++;
		return false;
	}
	*start_ns = (uint64_t)start;
	*busy_ns = (uint64_t)(end - start);
	return true;
}

bool nsys_time(struct import_nsys *in, const struct sqlite_rows *rows, uint64_t *time_ns)
{
	int64_t time;

	if (!sqlite_has(rows, 0)) {
		in->builder->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return false;
	}
	if (__builtin_add_overflow(sqlite_int(rows, 0, -1), (int64_t)in->epoch_ns, &time) ||
	    time < 0) {
		in->builder->unused[AF_BUILDER_TIMES_UNUSED]++;
		return false;
	}
	*time_ns = (uint64_t)time;
	return true;
}

static void take_string(struct import_nsys *in, const struct sqlite_rows *rows)
{
	size_t len;
	const char *text = sqlite_text(rows, 1, &len);

	*af_map_at(&in->strings, (uint64_t)sqlite_int(rows, 0, -1), NULL) =
	    af_builder_text(in->builder, text, len);
}

static void take_epoch(struct import_nsys *in, const struct sqlite_rows *rows)
{
	int64_t ns = sqlite_int(rows, 0, 0);

	if (ns > 0 && ns < INT64_MAX / 4)
		in->epoch_ns = (uint64_t)ns;
}

/* Only threads and processes that the file mentions get their names. */
static void take_process(struct import_nsys *in, const struct sqlite_rows *rows)
{
	int64_t global = sqlite_int(rows, 0, 0);
	const uint64_t *space =
	    af_map_get(&in->spaces, (uint64_t)(global >> NSYS_GLOBAL_BITS & NSYS_ID_MASK));
	size_t len;
	const char *text = sqlite_text(rows, 1, &len);

	if (!space || !len)
		return;
	uint32_t pid = (uint32_t)(global >> NSYS_GLOBAL_BITS & NSYS_ID_MASK);
	uint32_t process = af_builder_process(in->builder, (uint32_t)*space, pid);
	in->builder->processes[process].exe = af_builder_text(in->builder, text, len);
}

static void take_thread_name(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct af_builder *d = in->builder;
	int64_t global = sqlite_int(rows, 0, 0), pid = global >> NSYS_GLOBAL_BITS & NSYS_ID_MASK;
	const uint64_t *space = af_map_get(&in->spaces, (uint64_t)pid);
	uint32_t name = nsys_string(in, rows, 1);
	const uint64_t *process =
	    space ? af_map_get(&d->by_process, *space << 32 | (uint64_t)pid) : NULL;

	if (!process || !name)
		return;
	uint64_t tid = (uint64_t)(global & NSYS_ID_MASK);
	const uint64_t *thread = af_map_get(&d->by_thread, *process << 32 | tid);
	if (thread)
		d->threads[*thread].name = name;
	if (tid == (uint64_t)pid && !d->processes[*process].exe)
		d->processes[*process].exe = name;
}

/* Tables of events that the import did not use. */
static void take_unused(void *arg, const char *table, uint64_t nr_rows)
{
	static const char *const used[] = {"CUPTI_ACTIVITY_KIND_KERNEL",
	                                   "CUPTI_ACTIVITY_KIND_MEMCPY",
	                                   "CUPTI_ACTIVITY_KIND_MEMSET",
	                                   "CUPTI_ACTIVITY_KIND_RUNTIME",
	                                   "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
	                                   "CUDA_GRAPH_EVENTS",
	                                   "CUDA_GRAPH_NODE_EVENTS",
	                                   "NVTX_EVENTS",
	                                   "StringIds",
	                                   "CUDA_CALLCHAINS",
	                                   "SAMPLING_CALLCHAINS",
	                                   "COMPOSITE_EVENTS",
	                                   "CUDA_GPU_MEMORY_USAGE_EVENTS",
	                                   "OSRT_API",
	                                   "SCHED_EVENTS",
	                                   "PROCESSES",
	                                   "ThreadNames",
	                                   "ProcessStreams",
	                                   "UnwindMethodType"};
	static const char *const about[] = {"ENUM_",         "TARGET_INFO_", "META_DATA_",
	                                    "sqlite_",       "ANALYSIS_",    "DIAGNOSTIC_",
	                                    "NVTX_PAYLOAD_", "EXPORT_",      "OSRT_CALLCHAINS"};
	struct import_nsys *in = arg;

	for (unsigned i = 0; i < sizeof used / sizeof *used; i++)
		if (!strcmp(table, used[i]))
			return;
	for (unsigned i = 0; i < sizeof about / sizeof *about; i++)
		if (!strncmp(table, about[i], strlen(about[i])))
			return;
	if (!nr_rows)
		return;
	in->builder->unused[AF_BUILDER_OTHER_UNUSED] += nr_rows;
	af_buf_fmt(&in->unused, "%s%s %llu", in->unused.len ? ", " : "", table,
	           (unsigned long long)nr_rows);
}

static void tables_read(struct import_nsys *in)
{
	nsys_table(in, "StringIds", NULL, (const char *const[]){"id", "value", NULL}, take_string);
	nsys_table(in, "TARGET_INFO_SESSION_START_TIME", NULL,
	           (const char *const[]){"utcEpochNs", NULL}, take_epoch);
	nsys_cuda(in);
	nsys_graphs(in);
	nsys_nvtx(in);
	nsys_samples(in);
	nsys_waits(in);
	nsys_table(in, "PROCESSES", NULL, (const char *const[]){"globalPid", "name", NULL},
	           take_process);
	nsys_table(in, "ThreadNames", NULL, (const char *const[]){"globalTid", "nameId", NULL},
	           take_thread_name);
	nsys_devices(in);
	sqlite_tables(in->db, take_unused, in);
	if (in->unused.len)
		af_builder_note(in->builder, "import.tables.unused", "%.*s", (int)in->unused.len,
		                in->unused.data);
}

void af_import_nsys(struct af_builder *d, const struct af_import_source *source, uint32_t number,
                    char *complaint, size_t size)
{
	struct import_nsys in = {
	    .builder = d, .number = number, .complaint = complaint, .complaint_size = size};
	size_t nr_bytes;
	ssize_t rc;
	uint8_t *data = import_whole(source, &nr_bytes, &rc);

	*complaint = 0;
	in.db = sqlite_open(data, nr_bytes, complaint, size);
	if (in.db)
		tables_read(&in);
	if (rc < 0) {
		d->damaged++;
		snprintf(complaint, size, "%s", import_whole_text(rc));
	}
	sqlite_close(in.db);
	struct af_map *maps[] = {&in.strings, &in.spaces, &in.chains, &in.domains};
	struct af_keys *keys[] = {&in.unwound, &in.called, &in.graph_nodes};
	for (unsigned i = 0; i < sizeof maps / sizeof *maps; i++)
		af_map_free(maps[i]);
	for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
		af_keys_free(keys[i]);
	af_buf_free(&in.unused);
	free(data);
}

bool af_import_is_sqlite(const char *text, size_t len)
{
	static const char magic[] = "SQLite format 3";

	return len >= sizeof magic && !memcmp(text, magic, sizeof magic);
}
