/*
 * An API that nobody has, as the generator would make its tables, for tests of what reads calls:
 * every way in which a value can be stored, and names that are words of TSDL. Programs that link
 * mock_api.c have it as their only API. Payloads are built by hand, so that a mistake that the
 * tables' readers make is not made here, too.
 */
#ifndef AF_TESTS_MOCK_API_H
#define AF_TESTS_MOCK_API_H

#include <stdint.h>
#include <string.h>

#include "api/tables/decode.h"
#include "base/buf.h"

enum {
	MOCK_KIND = 0x1000,
	MOCK_INIT = MOCK_KIND, /* mockInit(flags) */
	MOCK_ALLOC,            /* mockAlloc(out mem, size) */
	MOCK_COPY,             /* mockCopy(dst, src, count), with its bytes computed */
	MOCK_LAUNCH,           /* mockLaunch(kernel, in grid[3], string, in config, out event) */
	MOCK_UNUSED,
	MOCK_WAIT,    /* mockWait(event) */
	MOCK_CONVERT, /* mockConvert(inout value, single, real, letter, id, pairs) */
	MOCK_QUEUE,   /* the queue: mockQueue() */
	MOCK_FREE,    /* void: mockFree(mem) */
	MOCK_END,
};

enum { MOCK_SUCCESS = 0, MOCK_NO_MEMORY = -5 };

/* The payload's head; result and parameters follow by mock_put(). */
static inline void mock_head(struct af_buf *b, uint64_t duration_ns, uint8_t depth, uint8_t flags)
{
	struct af_api_head head = {
	    .duration_ns = af_u48_make(duration_ns), .depth = depth, .flags = flags};

	b->len = 0;
	af_buf_add(b, &head, sizeof head);
}

/* A value of @size bytes. */
static inline void mock_put(struct af_buf *b, uint64_t value, size_t size)
{
	af_buf_add(b, &value, size);
}

#endif
