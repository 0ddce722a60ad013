/*
 * The linker on hostile objects and archives: parsed, laid out and relocated into plain memory for
 * each machine, and never run. The first byte picks the machine, and whether the rest is a file, or
 * changes (a place and a byte) to an object that is right, so that relocations are reached without
 * seeds. Checked on the way: what was linked is an ELF file with its symbols inside.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/link_objects.h"
#include "link/link.h"
#include "unwind/elf_file.h"

enum { FILE_MOST = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool find(void *arg, const char *name, struct af_link_external *e)
{
	*e = (struct af_link_external){0x7f0000001000, strlen(name) % 2};
	return *name == 'o';
}

/* Symbols, and relocations of types that follow from the input. */
static size_t object_of(uint16_t machine, const uint8_t *data, size_t size, uint8_t *to)
{
	struct object o = {.machine = machine,
	                   .text_size = 64,
	                   .tdata_size = 16,
	                   .symbols = {{"local", STB_LOCAL, STT_NOTYPE, OBJECT_TEXT, 8, 0},
	                               {"start", STB_GLOBAL, STT_FUNC, OBJECT_TEXT, 0, 16},
	                               {"outside", STB_GLOBAL, STT_NOTYPE, SHN_UNDEF, 0, 0},
	                               {"thing", STB_GLOBAL, STT_OBJECT, SHN_COMMON, 8, 24},
	                               {"var", STB_WEAK, STT_TLS, OBJECT_TDATA, 8, 4}}};

	for (size_t i = 0; i < OBJECT_MOST && 4 * i + 4 <= size; i++)
		o.relas[i] = (struct object_rela){data[4 * i] % 64,
		                                  data[4 * i + 1] | (data[4 * i + 2] & 3u) << 8,
		                                  data[4 * i + 3] % 6, data[4 * i + 2] >> 2};
	size_t used = size < 4 * OBJECT_MOST ? size : 4 * OBJECT_MOST, whole = object_write(&o, to);
	for (size_t i = used; i + 3 <= size; i += 3)
		to[(data[i] | data[i + 1] << 8) % whole] = data[i + 2];
	return whole;
}

static void check(const struct af_link *l, const uint8_t *image)
{
	struct af_elf e;
	Elf64_Shdr symbols, strings;
	Elf64_Sym s;

	if (af_elf_parse(&e, image, af_link_file_size(l)))
		abort();
	/* By its type, as other readers do: an object may call any section .symtab. */
	for (uint32_t i = 1; !af_elf_section(&e, i, &symbols) || symbols.sh_type != SHT_SYMTAB; i++)
		if (i >= e.nr_sections)
			abort();
	if (!af_elf_section(&e, symbols.sh_link, &strings))
		abort();
	for (uint64_t i = 0; i < symbols.sh_size / sizeof s; i++) {
		af_elf_symbol(&e, &symbols, i, &s);
		if (!af_elf_string(&e, &strings, s.st_name))
			abort();
	}
}

static void link_bytes(uint16_t machine, const uint8_t *bytes, size_t size)
{
	struct af_link_host host = {.machine = machine,
	                            .find = find,
	                            .threads = {.tp_offset = 16, .module = 1, .size = 256}};
	struct af_link *l = af_link_new(&host);
	struct af_err err;

	af_link_want(l, "start");
	if (!af_link_add(l, "input", bytes, size, &err) && !af_link_layout(l, &err) &&
	    af_link_file_size(l) <= FILE_MOST) {
		uint8_t *image = calloc(1, af_link_file_size(l));
		if (!af_link_write(l, 0x10000000, image, &err))
			check(l, image);
		free(image);
	}
	af_link_free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_RISCV};

	if (!size)
		return 0;
	uint16_t machine = machines[*data % 3];
	if (*data & 64) {
		link_bytes(machine, data + 1, size - 1);
		return 0;
	}
	uint8_t *object = calloc(1, OBJECT_SIZE);
	size_t whole = object_of(machine, data + 1, size - 1, object);
	/* Exactly this size, so that a read past the end is seen. */
	uint8_t *copy = memcpy(malloc(whole), object, whole);
	free(object);
	link_bytes(machine, copy, whole);
	free(copy);
	return 0;
}
