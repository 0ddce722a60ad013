/*
 * Nsight Systems' export of hostile bytes to a trace, which must be whole: bytes that are a
 * database as they are, others as rows of the tables that are read, of any numbers and texts.
 */
#include <dlfcn.h>

#include "base/buf.h"
#include "builder_check.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const char *name, *columns;
	int nr;
} tables[] = {
    {"StringIds", "id INT, value TEXT", 2},
    {"PROCESSES", "globalPid INT, name TEXT", 2},
    {"ThreadNames", "nameId INT, globalTid INT", 2},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs INT", 1},
    {"TARGET_INFO_GPU", "id INT, cuDevice INT, name TEXT, uuid TEXT, computeMajor INT", 5},
    {"TARGET_INFO_CUDA_DEVICE", "gpuId INT, cudaId INT, pid INT", 3},
    {"META_DATA_CAPTURE", "name TEXT, value TEXT", 2},
    {"CUDA_CALLCHAINS", "id INT, symbol INT, module INT, unresolved INT, stackDepth INT", 5},
    {"OSRT_CALLCHAINS", "id INT, symbol INT, module INT, unwindMethod INT, stackDepth INT", 5},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "start INT, end INT, globalTid INT, correlationId INT, nameId INT, callchainId INT, "
     "eventClass INT",
     7},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start INT, end INT, globalPid INT, correlationId INT, deviceId INT, demangledName INT, "
     "graphNodeId INT",
     7},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start INT, end INT, globalPid INT, correlationId INT, bytes INT, copyKind INT", 6},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     "start INT, end INT, globalPid INT, correlationId INT, graphId INT", 5},
    {"CUDA_GRAPH_NODE_EVENTS",
     "start INT, globalTid INT, graphNodeId INT, originalGraphNodeId INT, graphId INT", 5},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS",
     "start INT, globalPid INT, deviceId INT, address INT, bytes INT, memKind INT, "
     "memoryOperationType INT, correlationId INT, localMemoryPoolAddress INT",
     9},
    {"NVTX_EVENTS",
     "start INT, end INT, eventType INT, text TEXT, textId INT, globalTid INT, domainId INT, "
     "endGlobalTid INT",
     8},
    {"COMPOSITE_EVENTS", "id INT, start INT, cpu INT, globalTid INT", 4},
    {"SAMPLING_CALLCHAINS",
     "id INT, symbol INT, module INT, kernelMode INT, unwindMethod INT, stackDepth INT", 6},
    {"OSRT_API", "start INT, end INT, nameId INT, globalTid INT, callchainId INT, nestingLevel INT",
     6},
    {"SCHED_EVENTS", "start INT, globalTid INT, isSchedIn INT, threadState INT", 4},
    {"PROFILER_OVERHEAD", "start INT", 1},
};
enum { TABLES = sizeof tables / sizeof *tables };

static int (*open_db)(const char *, void **);
static int (*close_db)(void *);
static int (*exec)(void *, const char *, void *, void *, void *);
static unsigned char *(*serialize)(void *, const char *, int64_t *, unsigned);
static void (*release)(void *);

static bool library_open(void)
{
	void *library = dlopen("libsqlite3.so.0", RTLD_NOW);

	if (!library || open_db)
		return library;
	*(void **)&close_db = dlsym(library, "sqlite3_close");
	*(void **)&exec = dlsym(library, "sqlite3_exec");
	*(void **)&serialize = dlsym(library, "sqlite3_serialize");
	*(void **)&release = dlsym(library, "sqlite3_free");
	*(void **)&open_db = dlsym(library, "sqlite3_open");
	return true;
}

static void value_add(struct af_buf *sql, struct input *in)
{
	uint8_t kind = take_byte(in);
	uint64_t wide = 0;

	switch (kind % 4) {
	case 0:
		af_buf_str(sql, "NULL");
		break;
	case 1:
		for (int i = 0; i < 8; i++)
			wide = wide << 8 | take_byte(in);
		af_buf_fmt(sql, "%lld", (long long)wide);
		break;
	case 2:
		af_buf_str(sql, "CAST(x'");
		for (unsigned n = take_byte(in) % 16; n; n--)
			af_buf_fmt(sql, "%02x", take_byte(in));
		af_buf_str(sql, "' AS TEXT)");
		break;
	default:
		af_buf_u64(sql, kind >> 2);
	}
}

/* A database of rows that the bytes say; the caller's to release. */
static unsigned char *database_make(const uint8_t *data, size_t size, int64_t *len)
{
	struct input in = {data, size};
	struct af_buf sql = {0};
	void *db = NULL;

	af_buf_str(&sql, "PRAGMA page_size=512;");
	for (int i = 0; i < TABLES; i++)
		af_buf_fmt(&sql, "CREATE TABLE %s(%s);", tables[i].name, tables[i].columns);
	while (in.left) {
		int table = take_byte(&in) % TABLES;
		af_buf_fmt(&sql, "INSERT INTO %s VALUES(", tables[table].name);
		for (int i = 0; i < tables[table].nr; i++) {
			af_buf_str(&sql, i ? "," : "");
			value_add(&sql, &in);
		}
		af_buf_str(&sql, ");");
	}
	af_buf_char(&sql, 0);
	open_db(":memory:", &db);
	exec(db, sql.data, NULL, NULL, NULL);
	unsigned char *out = serialize(db, "main", len, 0);
	close_db(db);
	af_buf_free(&sql);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t len = (int64_t)size;
	unsigned char *made = NULL;
	struct af_builder d;
	char complaint[256] = "";

	if (!library_open())
		return 0;
	if (!af_import_is_sqlite((const char *)data, size))
		made = database_make(data, size, &len);
	const uint8_t *bytes = made ? made : data;
	struct fuzz_bytes b = {bytes, bytes + len, SIZE_MAX};
	struct af_import_source in = {.read = fuzz_read, .arg = &b};
	af_builder_open(&d);
	af_import_nsys(&d, &in, 0, complaint, sizeof complaint);
	fuzz_check_builder(&d);
	if (made)
		release(made);
	return 0;
}
