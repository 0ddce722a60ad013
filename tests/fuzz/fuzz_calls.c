/*
 * Calls of the mock API (tests/mock_api) with hostile payloads: taken apart, ordered, and printed
 * as text and as JSON. Checked: each call is a line, whatever its bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../mock_api/mock_api.h"
#include "analyse/world/world.h"
#include "cmd/calls/calls.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The payload in memory of its own size, so that a byte too far is found. */
static uint8_t *take_payload(struct input *in, size_t len)
{
	uint8_t *payload = malloc(len ? len : 1);

	for (size_t i = 0; i < len; i++)
		payload[i] = take_byte(in);
	return payload;
}

static uint16_t take_kind(struct input *in)
{
	static const uint16_t others[] = {AF_KIND_API_CALL, AF_KIND_CALL_OPEN, AF_KIND_CALL,
	                                  AF_KIND_CALL_LONG};
	uint8_t c = take_byte(in);

	return c & 128 ? others[c % 4] : (uint16_t)(MOCK_KIND + c % (MOCK_END - MOCK_KIND + 2));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct af_calls calls = {.keeps = true, .values.json = take_byte(&in) & 1};
	static struct af_world world;
	struct af_buf b = {0};
	uint64_t now = 1000, nr = 0, lines = 0;

	while (in.left) {
		struct af_event ev = {.kind = take_kind(&in), .process = 1, .tid = 7};
		struct af_line line;
		uint8_t len = take_byte(&in);
		uint8_t *payload = take_payload(&in, len);
		ev.time_ns = now += take_byte(&in);
		ev.payload = payload;
		ev.payload_size = len;
		nr += af_line_read(&ev, &line);
		af_calls_event(&calls, &world, &ev, &b);
		free(payload);
	}
	af_calls_end(&calls, &world, &b);
	for (size_t i = 0; i < b.len; i++)
		lines += b.data[i] == '\n';
	if (lines != nr)
		abort();
	af_calls_free(&calls);
	af_buf_free(&b);
	return 0;
}
