/*
 * Takes real activity records of CUPTI home, for machines without a GPU: loaded as
 * CUDA_INJECTION64_PATH, it writes each record's bytes to $DUMP.records and what NVIDIA's own
 * structures say of it to $DUMP.json, a line each. The mock CUPTI hands the bytes to the collector
 * (MOCK_CUPTI_RECORDED), and tests/live/test_cuda.py compares what it made of them.
 *
 *	cc -shared -fPIC -I$CUDA/include dump.c -o dump.so -lcupti
 *	DUMP=h200 CUDA_INJECTION64_PATH=$PWD/dump.so ./program
 *
 * DUMP_GRAPHS=whole has graphs timed as a whole. Headers of CUDA 12.4 or later, and their CUPTI.
 *
 * An entry of the first file: u32 size, u32 length of the kernel's name, the record, the name.
 */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_record;
typedef CUpti_ActivityMemcpy6 copy_record;
#else
typedef CUpti_ActivityKernel9 kernel_record;
typedef CUpti_ActivityMemcpy5 copy_record;
#endif

enum { BUFFER_SIZE = 1 << 20 };

static FILE *records, *reported;

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = aligned_alloc(64, BUFFER_SIZE);
	*size = *buffer ? BUFFER_SIZE : 0;
	*max = 0;
}

static void keep(const void *record, uint32_t size, const char *name)
{
	uint32_t head[2] = {size, name ? (uint32_t)strlen(name) : 0};

	fwrite(head, sizeof head, 1, records);
	fwrite(record, size, 1, records);
	if (name)
		fwrite(name, head[1], 1, records);
}

#define COMMON(r, op)                                                                              \
	fprintf(reported,                                                                          \
	        "{\"op\":\"%s\",\"correlation\":%u,\"start\":%llu,\"end\":%llu,\"device\":%u,"     \
	        "\"context\":%u,\"stream\":%u,\"node\":%llu",                                      \
	        op, (r)->correlationId, (unsigned long long)(r)->start,                            \
	        (unsigned long long)(r)->end, (r)->deviceId, (r)->contextId, (r)->streamId,        \
	        (unsigned long long)(r)->graphNodeId)

static void kernel(const kernel_record *k)
{
	keep(k, sizeof *k, k->name);
	COMMON(k, "KERNEL");
	fprintf(reported,
	        ",\"name\":\"%s\",\"grid\":[%d,%d,%d],\"block\":[%d,%d,%d],\"registers\":%u,"
	        "\"static\":%d,\"dynamic\":%d,\"local\":%u,\"cluster\":[%u,%u,%u]}\n",
	        k->name, k->gridX, k->gridY, k->gridZ, k->blockX, k->blockY, k->blockZ,
	        k->registersPerThread, k->staticSharedMemory, k->dynamicSharedMemory,
	        k->localMemoryPerThread, k->clusterX, k->clusterY, k->clusterZ);
}

static const char *copy_op(unsigned kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
		return "WRITE";
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
		return "READ";
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
		return "COPY";
	case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
		return "PEER";
	default:
		return "OTHER";
	}
}

static void bytes(uint64_t n)
{
	fprintf(reported, ",\"bytes\":%llu}\n", (unsigned long long)n);
}

/* Its node is that of the graph, as the collector has it. */
static void graph(const CUpti_ActivityGraphTrace2 *g)
{
	keep(g, sizeof *g, NULL);
	fprintf(reported,
	        "{\"op\":\"GRAPH\",\"correlation\":%u,\"start\":%llu,\"end\":%llu,\"device\":%u,"
	        "\"context\":%u,\"stream\":%u,\"node\":%llu",
	        g->correlationId, (unsigned long long)g->start, (unsigned long long)g->end,
	        g->deviceId, g->contextId, g->streamId, (unsigned long long)g->graphId << 32);
	bytes(0);
}

static void record(const CUpti_Activity *r)
{
	const copy_record *copy = (const void *)r;
	const CUpti_ActivityMemcpyPtoP4 *peer = (const void *)r;
	const CUpti_ActivityMemset4 *set = (const void *)r;

	switch (r->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		kernel((const void *)r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		keep(r, sizeof *copy, NULL);
		COMMON(copy, copy_op(copy->copyKind));
		bytes(copy->bytes);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		keep(r, sizeof *peer, NULL);
		COMMON(peer, "PEER");
		bytes(peer->bytes);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		graph((const void *)r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		keep(r, sizeof *set, NULL);
		COMMON(set, "FILL");
		bytes(set->bytes);
		break;
	default:
		break;
	}
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                              size_t valid)
{
	CUpti_Activity *r = NULL;

	(void)context, (void)stream, (void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS)
		record(r);
	free(buffer);
}

static void end(void)
{
	cuptiActivityFlushAll(1);
	fclose(records);
	fclose(reported);
}

int InitializeInjection(void)
{
	static const CUpti_ActivityKind kinds[] = {
	    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
	    CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};
	const char *base = getenv("DUMP") ? getenv("DUMP") : "cupti",
		   *graphs = getenv("DUMP_GRAPHS");
	char path[4096];

	snprintf(path, sizeof path, "%s.records", base);
	records = fopen(path, "wb");
	snprintf(path, sizeof path, "%s.json", base);
	reported = fopen(path, "w");
	if (!records || !reported)
		return 0;
	cuptiActivityRegisterCallbacks(request, complete);
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
		cuptiActivityEnable(kinds[i]);
	if (graphs && !strcmp(graphs, "whole"))
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	atexit(end);
	return 1;
}
