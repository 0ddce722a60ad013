/*
 * The exits of a function of any bytes: two bytes say how many of them are a piece that lies
 * elsewhere. What is found lies in the function, an exit a byte at most, and each part is whole.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "aflame/error.h"
#include "cmd/functions/exits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { START = 0x1000, COLD = 0x1080 };

struct memory {
	const uint8_t *bytes, *cold;
	uint64_t size, cold_size;
};

static const uint8_t *bytes_at(const void *arg, uint64_t address, uint64_t *left)
{
	const struct memory *m = arg;

	if (address != START && address != COLD)
		abort();
	*left = address == COLD ? m->cold_size : m->size;
	return address == COLD ? m->cold : m->bytes;
}

static bool part_at(const void *arg, uint64_t address, struct af_watch_part *part)
{
	const struct memory *m = arg;

	*part = (struct af_watch_part){COLD, m->cold_size};
	return address - COLD < m->cold_size;
}

static void exit_check(const struct functions_exits *e, const struct af_watch_exit *x)
{
	bool inside = false;

	for (uint32_t i = 0; i < e->nr_parts; i++)
		inside |= x->address - e->parts[i].start < e->parts[i].size;
	if (!inside || x->how > AF_EXIT_TO_MEMORY || x->condition > 15 ||
	    x->base > AF_EXIT_NO_REGISTER || x->index > AF_EXIT_NO_REGISTER)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct functions_exits found = {0};
	struct memory m = {0};
	struct af_err err;

	if (size < 2)
		return 0;
	m.cold_size = ((uint64_t)data[0] << 8 | data[1]) % (size - 1);
	m.cold = data + 2;
	m.bytes = m.cold + m.cold_size;
	m.size = size - 2 - m.cold_size;
	const struct functions_code code = {bytes_at, part_at, &m};
	if (!functions_exits_find(&found, START, m.size, &code, &err)) {
		if (!found.nr_parts || found.nr > size)
			abort();
		for (uint32_t i = 0; i < found.nr; i++)
			exit_check(&found, &found.all[i]);
	}
	functions_exits_free(&found);
	return 0;
}
