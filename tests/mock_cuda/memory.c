/*
 * Memory. A device's is memory of the process, so copies and fills are really done, when they are
 * enqueued; they take as long as their bytes say. Large allocations cost nothing until they are
 * touched.
 */
#include "mock_cuda.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MEMORY_COPY_NS = 1000, MEMORY_BYTES_PER_NS = 16 };

struct memory_block {
	struct memory_block *next;
	uint64_t address;
	size_t bytes;
	uint8_t kind;
	int device;
};

static struct memory_block *memory_blocks;
static uint64_t memory_used[MOCK_DEVICES_MAX];

static struct memory_block **memory_find(uint64_t address)
{
	struct memory_block **b = &memory_blocks;

	while (*b && !(address >= (*b)->address && address - (*b)->address < (*b)->bytes))
		b = &(*b)->next;
	return b;
}

static uint8_t memory_kind(uint64_t address)
{
	const struct memory_block *b;

	pthread_mutex_lock(&mock_lock);
	b = *memory_find(address);
	pthread_mutex_unlock(&mock_lock);
	return b ? b->kind : MOCK_PAGEABLE;
}

static int memory_add(uint64_t *address, size_t bytes, uint8_t kind)
{
	const int device = mock_context() ? mock_context()->device : 0;
	struct memory_block *b;
	void *pages;

	if (!mock_context() || mock_context()->is_gone)
		return CUDA_INVALID_CONTEXT;
	if (!address || !bytes)
		return CUDA_INVALID_VALUE;
	if (bytes > mock_setting("MOCK_CUDA_MEMORY", 1ULL << 34) - memory_used[device])
		return CUDA_OUT_OF_MEMORY;
	pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	b = calloc(1, sizeof(*b));
	if (pages == MAP_FAILED || !b)
		return CUDA_OUT_OF_MEMORY;
	*b = (struct memory_block){NULL, (uintptr_t)pages, bytes, kind, device};
	pthread_mutex_lock(&mock_lock);
	b->next = memory_blocks;
	memory_blocks = b;
	memory_used[device] += bytes;
	pthread_mutex_unlock(&mock_lock);
	*address = b->address;
	return CUDA_OK;
}

static int memory_remove(uint64_t address)
{
	struct memory_block **link, *b;

	if (!address)
		return CUDA_OK;
	pthread_mutex_lock(&mock_lock);
	link = memory_find(address);
	b = *link && (*link)->address == address ? *link : NULL;
	if (b) {
		*link = b->next;
		memory_used[b->device] -= b->bytes;
	}
	pthread_mutex_unlock(&mock_lock);
	if (!b)
		return CUDA_INVALID_VALUE;
	munmap((void *)(uintptr_t)b->address, b->bytes);
	free(b);
	return CUDA_OK;
}

struct memory_alloc_params {
	void *address;
	size_t bytes;
	union {
		unsigned flags;
		struct CUstream_st *stream;
	} more;
};

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	const struct memory_alloc_params params = {address, bytes, {0}};

	MOCK_CALL(243, &params, memory_add(address, bytes, MOCK_DEVICE));
}

int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
	const struct memory_alloc_params params = {address, bytes, {.flags = flags}};

	MOCK_CALL(371, &params, memory_add(address, bytes, MOCK_MANAGED));
}

int cuMemAllocAsync(uint64_t *address, size_t bytes, struct CUstream_st *stream)
{
	const struct memory_alloc_params params = {address, bytes, {.stream = stream}};

	MOCK_CALL(598, &params, memory_add(address, bytes, MOCK_DEVICE));
}

static int memory_add_host(void **memory, size_t bytes)
{
	uint64_t address;
	int rc = memory_add(&address, bytes, MOCK_PINNED);

	if (!rc)
		*memory = (void *)(uintptr_t)address;
	return rc;
}

int cuMemAllocHost_v2(void **memory, size_t bytes)
{
	const struct memory_alloc_params params = {memory, bytes, {0}};

	MOCK_CALL(294, &params, memory_add_host(memory, bytes));
}

/* Like the real one it waits until the device is done with the memory. */
static int memory_remove_idle(uint64_t address)
{
	if (!mock_context())
		return CUDA_INVALID_CONTEXT;
	mock_context_wait(mock_context());
	return memory_remove(address);
}

int cuMemFree_v2(uint64_t address)
{
	MOCK_CALL(245, &address, memory_remove_idle(address));
}

int cuMemFreeHost(void *memory)
{
	MOCK_CALL(38, &memory, memory_remove_idle((uintptr_t)memory));
}

int cuMemFreeAsync(uint64_t address, struct CUstream_st *stream)
{
	struct {
		uint64_t address;
		struct CUstream_st *stream;
	} params = {address, stream};

	MOCK_CALL(600, &params, memory_remove(address));
}

static int memory_enqueue(struct CUstream_st *handle, const struct mock_work *work)
{
	struct CUstream_st *stream = mock_stream(handle);
	int rc;

	if (!stream)
		return handle ? CUDA_INVALID_HANDLE : CUDA_INVALID_CONTEXT;
	if (stream->capture)
		return mock_graph_append(stream, work);
	pthread_mutex_lock(&mock_lock);
	rc = mock_enqueue(stream, work);
	pthread_mutex_unlock(&mock_lock);
	if (!rc && !work->is_async)
		mock_stream_wait(stream);
	return rc;
}

struct memory_copy_params {
	uint64_t to, from;
	size_t bytes;
	struct CUstream_st *stream;
};

static int memory_copy(uint8_t kind, bool is_async, const struct memory_copy_params *p)
{
	const struct mock_work work = {
	    .op = MOCK_COPY,
	    .duration_ns = MEMORY_COPY_NS + p->bytes / MEMORY_BYTES_PER_NS,
	    .bytes = p->bytes,
	    .copy_kind = kind,
	    .source_kind = memory_kind(p->from),
	    .target_kind = memory_kind(p->to),
	    .is_async = is_async,
	};

	if (!p->to || !p->from)
		return CUDA_INVALID_VALUE;
	if ((kind != MOCK_HTOD && work.source_kind == MOCK_PAGEABLE) ||
	    (kind != MOCK_DTOH && work.target_kind == MOCK_PAGEABLE))
		return CUDA_INVALID_VALUE; /* what should be the device's is not */
	if (!p->bytes)
		return CUDA_OK;
	memmove((void *)(uintptr_t)p->to, (const void *)(uintptr_t)p->from, p->bytes);
	return memory_enqueue(p->stream, &work);
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	const struct memory_copy_params params = {to, (uintptr_t)from, bytes, NULL};

	MOCK_CALL(276, &params, memory_copy(MOCK_HTOD, false, &params));
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	const struct memory_copy_params params = {(uintptr_t)to, from, bytes, NULL};

	MOCK_CALL(278, &params, memory_copy(MOCK_DTOH, false, &params));
}

int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes)
{
	const struct memory_copy_params params = {to, from, bytes, NULL};

	MOCK_CALL(280, &params, memory_copy(MOCK_DTOD, true, &params));
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, struct CUstream_st *stream)
{
	const struct memory_copy_params params = {to, (uintptr_t)from, bytes, stream};

	MOCK_CALL(277, &params, memory_copy(MOCK_HTOD, true, &params));
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct CUstream_st *stream)
{
	const struct memory_copy_params params = {(uintptr_t)to, from, bytes, stream};

	MOCK_CALL(279, &params, memory_copy(MOCK_DTOH, true, &params));
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, struct CUstream_st *stream)
{
	const struct memory_copy_params params = {to, from, bytes, stream};

	MOCK_CALL(281, &params, memory_copy(MOCK_DTOD, true, &params));
}

struct memory_peer_params {
	uint64_t to;
	struct CUctx_st *to_context;
	uint64_t from;
	struct CUctx_st *from_context;
	size_t bytes;
};

static int memory_copy_peer(const struct memory_peer_params *p)
{
	struct mock_work work = {
	    .op = MOCK_PEER,
	    .duration_ns = MEMORY_COPY_NS + p->bytes / MEMORY_BYTES_PER_NS,
	    .bytes = p->bytes,
	    .copy_kind = MOCK_PTOP,
	    .source_kind = MOCK_DEVICE,
	    .target_kind = MOCK_DEVICE,
	    .is_async = true,
	};

	if (!p->to_context || !p->from_context || !p->to || !p->from)
		return CUDA_INVALID_VALUE;
	work.from_device = (uint32_t)p->from_context->device;
	work.from_context = p->from_context->id;
	work.to_device = (uint32_t)p->to_context->device;
	work.to_context = p->to_context->id;
	memmove((void *)(uintptr_t)p->to, (const void *)(uintptr_t)p->from, p->bytes);
	return memory_enqueue(NULL, &work);
}

int cuMemcpyPeer(uint64_t to, struct CUctx_st *to_context, uint64_t from,
                 struct CUctx_st *from_context, size_t bytes)
{
	const struct memory_peer_params params = {to, to_context, from, from_context, bytes};

	MOCK_CALL(318, &params, memory_copy_peer(&params));
}

static int memory_fill(uint64_t to, uint32_t value, size_t bytes, unsigned width,
                       struct CUstream_st *stream)
{
	const struct mock_work work = {
	    .op = MOCK_FILL,
	    .duration_ns = MEMORY_COPY_NS + bytes / MEMORY_BYTES_PER_NS,
	    .bytes = bytes,
	    .value = value,
	    .target_kind = memory_kind(to),
	    .is_async = true,
	};

	if (!to || work.target_kind == MOCK_PAGEABLE)
		return CUDA_INVALID_VALUE;
	for (size_t at = 0; at < bytes; at += width)
		memcpy((char *)(uintptr_t)to + at, &value, width);
	return memory_enqueue(stream, &work);
}

int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count)
{
	struct {
		uint64_t to;
		unsigned char value;
		size_t count;
	} params = {to, value, count};

	MOCK_CALL(249, &params, memory_fill(to, value, count, 1, NULL));
}

int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, struct CUstream_st *stream)
{
	struct {
		uint64_t to;
		unsigned value;
		size_t count;
		struct CUstream_st *stream;
	} params = {to, value, count, stream};

	MOCK_CALL(220, &params, memory_fill(to, value, 4 * count, 4, stream));
}
