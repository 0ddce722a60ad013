/*
 * The exits of a function of any bytes, and the probes that libaflame would place there: two bytes
 * say how many of them are a piece that lies elsewhere. What is found lies in the function, an exit
 * a byte at most, and each part is whole. A probe takes the place of whole instructions with the
 * exit as the last of them, and of no byte that another one takes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "aflame/error.h"
#include "cmd/functions/exits.h"
#include "cmd/functions/tails.h"

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

#ifdef AF_HAVE_CAPSTONE

enum { PROBES = 64, ROOM = 15 /* behind a part, up to the next function */ };

static void probe_check(const struct functions_exits *e, const struct af_probe *all, uint32_t nr)
{
	const struct af_probe *p = &all[nr];
	bool inside = false;

	for (uint32_t i = 0; i < e->nr_parts; i++)
		inside |= p->address - e->parts[i].start < e->parts[i].size &&
		          p->address + p->len <= e->parts[i].start + e->parts[i].size + ROOM;
	if (!inside || p->len < AF_PROBE_JUMP || p->len > AF_PROBE_HEAD || p->last >= p->code_len ||
	    p->code_len > AF_PROBE_MOVED || p->relative + 4u > p->code_len + 4u * !p->relative ||
	    p->exit - p->address >= p->len)
		abort();
	for (uint32_t i = 0; i < nr; i++)
		if (p->address < all[i].address + all[i].len &&
		    all[i].address < p->address + p->len)
			abort();
}

static void tails_check(const struct functions_exits *e, const struct functions_code *code)
{
	struct af_probe all[PROBES] = {{.address = START, .len = AF_PROBE_JUMP}};
	struct functions_tails t = {.code = code, .all = all, .nr = 1, .most = PROBES};
	struct af_watch_function f = {.exits = e->all, .nr_exits = e->nr};

	for (uint32_t i = 0; i < e->nr_parts; i++)
		f.parts[i] = e->parts[i];
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &t.handle) != CS_ERR_OK)
		abort();
	cs_option(t.handle, CS_OPT_DETAIL, CS_OPT_ON);
	bool done = functions_tails_add(&t, &f, 0);
	if (done != all[0].is_timed || (done ? t.nr != e->nr + 1 : !t.why))
		abort();
	for (uint32_t i = 1; i < t.nr; i++)
		probe_check(e, all, i);
	cs_close(&t.handle);
}

#else

static void tails_check(const struct functions_exits *e, const struct functions_code *code)
{
	(void)e, (void)code;
}

#endif

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
		tails_check(&found, &code);
	}
	functions_exits_free(&found);
	return 0;
}
