#include "aub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "batch/command.h"

#define AUB_LOCAL (1ull << 56) /* in the device's memory, not in the system's */

enum {
	PAGE = 4096,
	PACKET_OLD = 0x01, /* opcodes */
	PACKET_NEW = 0x2e,
	WRITE_MEMORY = 0xf706, /* headers */
	WRITE_REGISTER = 0xf703,
	SPACE_LOCAL = 1, /* of an address; others that are not named are the system's */
	SPACE_GGTT_ENTRY = 4,
	PORT_OLD = 0x230, /* registers of an engine: before version 11, four writes */
	PORT_LOW = 0x510,
	PORT_CONTROL = 0x550,
	STATE_TAIL = 7, /* values in a context's state, which begins a page behind its address */
	STATE_START = 9,
	STATE_CONTROL = 11,
	STATE_TABLES_HIGH = 0x31,
	STATE_TABLES_LOW = 0x33,
};

static void wrong(const char *text)
{
	fprintf(stderr, "AUB file: %s\n", text);
	exit(2);
}

struct aub *aub_open(const char *path)
{
	struct aub *aub = af_xcalloc(1, sizeof *aub);
	FILE *f = fopen(path, "rb");

	if (!f || fseek(f, 0, SEEK_END))
		wrong("cannot be opened");
	aub->nr = (size_t)ftell(f) / 4;
	rewind(f);
	aub->words = af_xcalloc(aub->nr + 1, 4);
	if (fread(aub->words, 4, aub->nr, f) != aub->nr)
		wrong("cannot be read");
	fclose(f);
	return aub;
}

void aub_close(struct aub *aub)
{
	for (size_t i = 0; i < aub->pages.cap; i++)
		if (aub->pages.slots[i].used)
			free((void *)(uintptr_t)aub->pages.slots[i].value);
	af_map_free(&aub->pages);
	af_map_free(&aub->ggtt);
	af_map_free(&aub->tails);
	free(aub->words);
	free(aub);
}

/* ---- memory ---- */

static uint8_t *page_at(struct aub *aub, uint64_t address, bool make)
{
	uint64_t key = (address & AUB_LOCAL) | (address & ~AUB_LOCAL) / PAGE;
	uint64_t *page = make ? af_map_at(&aub->pages, key, NULL) : af_map_get(&aub->pages, key);

	if (make && !*page)
		*page = (uintptr_t)af_xcalloc(1, PAGE);
	return page ? (uint8_t *)(uintptr_t)*page : NULL;
}

static void physical_write(struct aub *aub, uint64_t at, const uint8_t *from, uint32_t bytes)
{
	while (bytes) {
		uint32_t part = PAGE - at % PAGE;
		if (part > bytes)
			part = bytes;
		memcpy(page_at(aub, at, true) + at % PAGE, from, part);
		at += part;
		from += part;
		bytes -= part;
	}
}

static uint64_t physical_u64(struct aub *aub, uint64_t at)
{
	const uint8_t *page = page_at(aub, at, false);
	uint64_t value = 0;

	if (page)
		memcpy(&value, page + at % PAGE, sizeof value);
	return value;
}

static uint32_t ggtt_u32(struct aub *aub, uint32_t address)
{
	uint64_t *entry = af_map_get(&aub->ggtt, address / PAGE);
	uint32_t value = 0;

	if (!entry)
		wrong("a context or a ring has no memory");
	uint64_t at = (*entry & 0xfffffffff000) | (*entry & 2 ? AUB_LOCAL : 0);
	const uint8_t *page = page_at(aub, at, false);
	if (page)
		memcpy(&value, page + address % PAGE, sizeof value);
	return value;
}

/* The entry of the last table, through four; its tables lie where the root does. */
static uint64_t translate(struct aub *aub, uint64_t address)
{
	uint64_t table = aub->tables, entry = 0;

	for (int shift = 39; shift >= 12; shift -= 9) {
		entry = physical_u64(aub, table + (address >> shift & 511) * 8);
		if (!(entry & 1))
			return 0;
		table = (entry & 0xfffffffff000) | (aub->tables & AUB_LOCAL);
	}
	return entry;
}

int aub_read(void *arg, uint64_t address, void *to, uint32_t bytes)
{
	struct aub *aub = arg;
	uint8_t *out = to;

	while (bytes) {
		uint64_t entry = translate(aub, address);
		uint64_t at = (entry & 0xfffffffff000) | (entry & 1 << 11 ? AUB_LOCAL : 0);
		const uint8_t *page = entry ? page_at(aub, at, false) : NULL;
		uint32_t part = PAGE - address % PAGE;
		if (!page)
			return -1;
		if (part > bytes)
			part = bytes;
		memcpy(out, page + address % PAGE, part);
		address += part;
		out += part;
		bytes -= part;
	}
	return 0;
}

/* ---- submissions ---- */

/* Commands in the ring that were added since the last time; a batch starts at some of them. */
static void ring_read(struct aub *aub, uint32_t start, uint32_t from, uint32_t to, uint32_t bytes)
{
	while (from != to) {
		uint32_t words[3];
		for (uint32_t i = 0; i < 3; i++)
			words[i] = ggtt_u32(aub, start + (from + 4 * i) % bytes);
		uint32_t nr = af_batch_dwords(0, words[0]);
		if (!nr || nr > bytes / 4)
			wrong("a ring has an unknown command");
		if (words[0] >> 23 == AF_MI_BATCH_BUFFER_START) {
			if (aub->nr_batches == AUB_BATCHES)
				wrong("a submission starts too many batches");
			aub->batches[aub->nr_batches++] = af_batch_address(0, words[1], words[2]);
		}
		for (uint32_t i = 0; i < nr && from != to; i++)
			from = (from + 4) % bytes;
	}
}

static void submission(struct aub *aub, uint32_t descriptor)
{
	uint32_t state = (descriptor & 0xfffff000) + PAGE;
	uint32_t start = ggtt_u32(aub, state + 4 * STATE_START);
	uint32_t tail = ggtt_u32(aub, state + 4 * STATE_TAIL);
	uint32_t bytes = (ggtt_u32(aub, state + 4 * STATE_CONTROL) & 0x1ff000) + PAGE;
	uint64_t *read = af_map_at(&aub->tails, start, NULL);

	aub->context = state;
	aub->tables = (uint64_t)ggtt_u32(aub, state + 4 * STATE_TABLES_HIGH) << 32 |
	              ggtt_u32(aub, state + 4 * STATE_TABLES_LOW);
	if (page_at(aub, aub->tables | AUB_LOCAL, false))
		aub->tables |= AUB_LOCAL;
	aub->nr_batches = 0;
	ring_read(aub, start, (uint32_t)*read, tail, bytes);
	*af_map_at(&aub->tails, start, NULL) = tail;
}

static void register_write(struct aub *aub, uint32_t at, uint32_t value)
{
	uint32_t engine = at >> 12 & 63;

	switch (at & 0xfff) {
	case PORT_LOW:
		aub->ports[engine] = value;
		break;
	case PORT_CONTROL:
		submission(aub, aub->ports[engine]);
		break;
	case PORT_OLD:
		if (++aub->nr_written[engine] % 4 == 0)
			submission(aub, value);
		break;
	}
}

static void memory_write(struct aub *aub, const uint32_t *packet, uint32_t nr)
{
	uint64_t address = packet[1] | (uint64_t)packet[2] << 32;
	uint32_t space = packet[3] >> 28, bytes = packet[4];

	if (bytes > (nr - 5) * 4)
		wrong("more is written than there is");
	if (space != SPACE_GGTT_ENTRY) {
		physical_write(aub, address | (space == SPACE_LOCAL ? AUB_LOCAL : 0),
		               (const uint8_t *)(packet + 5), bytes);
		return;
	}
	for (uint32_t i = 0; i < bytes / 8; i++)
		*af_map_at(&aub->ggtt, address / 8 + i, NULL) =
		    packet[5 + 2 * i] | (uint64_t)packet[6 + 2 * i] << 32;
}

bool aub_next(struct aub *aub)
{
	aub->nr_batches = 0;
	while (aub->at < aub->nr && !aub->nr_batches) {
		const uint32_t *packet = aub->words + aub->at;
		uint32_t opcode = packet[0] >> 23 & 63;
		uint32_t nr = (packet[0] & 0xffff) + (opcode == PACKET_OLD ? 2 : 1);
		if (packet[0] >> 29 != 7 || (opcode != PACKET_OLD && opcode != PACKET_NEW))
			wrong("an unknown packet");
		if (nr > aub->nr - aub->at)
			wrong("it is cut");
		aub->at += nr;
		if (packet[0] >> 16 == WRITE_MEMORY && nr >= 5)
			memory_write(aub, packet, nr);
		else if (packet[0] >> 16 == WRITE_REGISTER && nr >= 6)
			register_write(aub, packet[1], packet[5]);
	}
	return aub->nr_batches;
}
