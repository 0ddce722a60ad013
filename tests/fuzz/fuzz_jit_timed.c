/*
 * Hostile lines of a perf map, and a hostile ELF file of GDB's JIT interface, at times of their
 * own. Checked on the way: names end where they should, and code found at an address and time was
 * there then. An even first byte asks for lines; an odd one for a file whose header is mostly
 * right.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sym/elf/place.h"
#include "sym/jit/timed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Tables and types that lead to symbols, so that what is behind them is reached without seeds. */
static void mend(uint8_t *p, size_t size)
{
	Elf64_Ehdr h;

	if (size < sizeof h)
		return;
	memcpy(&h, p, sizeof h);
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	h.e_machine = EM_X86_64;
	h.e_shoff %= size;
	h.e_shentsize = sizeof(Elf64_Shdr);
	h.e_shnum %= 8;
	memcpy(p, &h, sizeof h);
	for (size_t i = 0; i < h.e_shnum; i++) {
		uint8_t *at = p + h.e_shoff + i * sizeof(Elf64_Shdr);
		Elf64_Shdr s;

		if (size - h.e_shoff < (i + 1) * sizeof s)
			return;
		memcpy(&s, at, sizeof s);
		s.sh_type %= 4;
		s.sh_offset %= size;
		s.sh_size %= size - s.sh_offset + 1;
		s.sh_link %= 8;
		memcpy(at, &s, sizeof s);
	}
}

/* The last byte of the input cuts it into lines of several times. */
static void add_lines(struct af_jit_timed *t, const char *text, size_t size)
{
	size_t step = size ? 1 + (uint8_t)text[size - 1] : 1;

	for (size_t at = 0; at < size; at += step)
		af_jit_timed_text(t, text + at, size - at < step ? size - at : step, at);
}

static void check(struct af_jit_timed *t, uint64_t address, uint64_t time_ns)
{
	struct af_jitdump_answer a;
	uint64_t times[16];

	if (af_jitdump_find(&t->table, address, time_ns, &a) &&
	    (a.start > address || !*a.name || strlen(a.name) > 1 << 16))
		abort();
	uint32_t nr = af_jitdump_times(&t->table, address, time_ns, times, 16);
	for (uint32_t i = 0; i < nr; i++)
		if (times[i] <= time_ns)
			abort();
	if (nr > 16)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_jit_timed t = {0};

	if (!size)
		return 0;
	uint8_t *copy = malloc(size);
	memcpy(copy, data, size);
	if (*data & 1)
		mend(copy + 1, size - 1);
	if (*data & 3)
		af_jit_timed_image(
		    &t, &(struct af_jit_image){copy + 1, size - 1, 1, *data, *data + 100});
	if (*data & 2)
		af_elf_place(copy + 1, size - 1);
	if (!(*data & 1))
		add_lines(&t, (const char *)copy + 1, size - 1);
	free(copy);
	af_jit_timed_end(&t);
	for (uint32_t i = 0; i < t.table.nr && i < 64; i++) {
		check(&t, t.table.codes[i].start, t.table.codes[i].from_ns);
		check(&t, t.table.codes[i].end - 1, 0);
		check(&t, t.table.codes[i].end, UINT64_MAX);
	}
	check(&t, 0, 0);
	check(&t, UINT64_MAX, 1);
	af_jit_timed_close(&t);
	return 0;
}
