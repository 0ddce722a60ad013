/*
 * Go's list of functions on hostile bytes: the input is the table, in a file whose headers are
 * right, found by its section or, when the last byte is odd, by a search. Checked: every function
 * lies in the code, and every name ends inside the input.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sym/elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TABLE = 0x800, TEXT = 0x10000, TEXT_SIZE = 0x10000, SECTIONS = 5 };

struct headers {
	Elf64_Ehdr h;
	Elf64_Phdr p[2];
	Elf64_Shdr s[SECTIONS];
	char names[64];
	uint64_t module[32]; /* runtime.moduledata */
	Elf64_Rela relocations[2];
};

static void make_headers(uint8_t *image, uint64_t size, bool section, uint8_t words)
{
	struct headers f = {
	    .h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
	          .e_type = ET_EXEC,
	          .e_machine = EM_X86_64,
	          .e_phoff = offsetof(struct headers, p),
	          .e_phentsize = sizeof(Elf64_Phdr),
	          .e_phnum = 2,
	          .e_shoff = offsetof(struct headers, s),
	          .e_shentsize = sizeof(Elf64_Shdr),
	          .e_shnum = SECTIONS,
	          .e_shstrndx = 1},
	    .p = {{.p_type = PT_LOAD, .p_filesz = size, .p_memsz = size, .p_flags = PF_R},
	          {.p_type = PT_LOAD, .p_vaddr = TEXT, .p_memsz = TEXT_SIZE, .p_flags = PF_X}},
	    .names = "\0.names\0.gopclntab\0.go.module\0.go.buildinfo",
	    .relocations = {{.r_offset = TABLE + 24, .r_addend = TEXT}},
	};

	f.s[1] = (Elf64_Shdr){1, SHT_STRTAB, 0, 0, offsetof(struct headers, names), 64, 0, 0, 1, 0};
	f.s[2] =
	    (Elf64_Shdr){section ? 8 : 30, SHT_PROGBITS, 0, TABLE, TABLE, size - TABLE, 0, 0, 1, 0};
	f.s[3] =
	    (Elf64_Shdr){19, SHT_PROGBITS, 0, 0, offsetof(struct headers, module), 256, 0, 0, 1, 0};
	if (words & 2)
		f.s[4] = (Elf64_Shdr){.sh_type = SHT_RELA,
		                      .sh_flags = SHF_ALLOC,
		                      .sh_offset = offsetof(struct headers, relocations),
		                      .sh_size = sizeof f.relocations};
	f.module[22] = words & 4 ? TEXT : 0;
	memcpy(image, &f, sizeof f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_Static_assert(sizeof(struct headers) <= TABLE, "the table comes after the headers");
	struct af_symtab t = {0};
	struct af_elf e;

	if (size < 16)
		return 0;
	/* A copy of exactly this size, so that a read past the end is seen. */
	uint8_t *image = calloc(1, TABLE + size);
	uint8_t last = data[size - 1];
	memcpy(image + TABLE, data, size);
	/* The beginning is mostly right: what is behind it is reached without seeds. */
	image[TABLE + 0] = (uint8_t[]){0xfb, 0xfa, 0xf0, 0xf1}[data[0] % 4];
	memset(image + TABLE + 1, 0xff, 3);
	memset(image + TABLE + 4, 0, 2);
	image[TABLE + 7] = data[7] % 8 ? 8 : 4;
	make_headers(image, TABLE + size, !(last & 1), last);
	if (!af_elf_parse(&e, image, TABLE + size))
		af_go_add(&t, &e);
	for (uint32_t i = 0; i < t.nr; i++) {
		const struct af_symtab_entry *s = &t.entries[i];
		const uint8_t *end = (const uint8_t *)s->name + strlen(s->name);
		if (s->start < TEXT || !s->size || s->size > TEXT + TEXT_SIZE - s->start ||
		    end >= image + TABLE + size || !*s->name)
			abort();
	}
	af_symtab_build(&t);
	af_symtab_free(&t);
	free(image);
	return 0;
}
