/*
 * A jitdump of hostile bytes. Checked on the way: names and files end where they should, and what
 * is found at an address begins at or below it. An odd last byte asks for a header and records that
 * are mostly right, so that what is behind them is reached without seeds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sym/jit/jitdump.h"

enum { PID = 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Records follow one another, of kinds that are read, at addresses that overlap. */
static void mend(uint8_t *p, size_t size)
{
	static const uint32_t header[] = {0x4a695444, 1, 40, 62, 0, PID};

	if (size < 40)
		return;
	memcpy(p, header, sizeof header);
	p[32] &= 1;
	for (size_t at = 40; at + 24 <= size;) {
		uint32_t id = p[at] % 4, length = 24 + p[at + 4] % 160;

		length = length < size - at ? length : (uint32_t)(size - at);
		memcpy(p + at, &id, sizeof id);
		memcpy(p + at + 4, &length, sizeof length);
		memset(p + at + 9, 0, 7);
		/* The upper bytes of whatever addresses, sizes and indexes there are. */
		for (size_t word = at + 24; id != 2 && word + 8 <= at + length && word < at + 64;
		     word += 8)
			memset(p + word + 1, 0, 7);
		at += length;
	}
}

static void check(struct af_jitdump *d, uint64_t address, uint64_t time_ns)
{
	struct af_jitdump_answer a;

	if (!af_jitdump_find(d, address, time_ns, &a))
		return;
	if (a.start > address || strlen(a.name) > 1 << 16 || (a.file && !*a.file))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct af_jit_trust trust = {.owners = {geteuid()}, .nr_owners = 1};
	static int fd = -1;
	struct af_jitdump d;

	if (fd < 0)
		fd = memfd_create("jitdump", 0);
	uint8_t *copy = malloc(size + 1);
	memcpy(copy, data, size);
	if (size && data[size - 1] & 1)
		mend(copy, size);
	if (ftruncate(fd, 0) || pwrite(fd, copy, size, 0) != (ssize_t)size) {
		perror("memfd");
		exit(2);
	}
	free(copy);
	if (af_jitdump_open(&d, fd, PID, &trust))
		return 0;
	for (uint32_t i = 0; i < d.nr; i++) {
		check(&d, d.codes[i].start, d.codes[i].from_ns);
		check(&d, d.codes[i].end - 1, UINT64_MAX);
		check(&d, d.codes[i].end, d.codes[i].till_ns);
	}
	for (uint64_t address = 0; address < 512; address += 3)
		check(&d, address, address);
	check(&d, UINT64_MAX, 0);
	af_jitdump_close(&d);
	return 0;
}
