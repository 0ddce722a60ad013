#include "inject/intel/zebin.h"

#include <stdio.h>
#include <string.h>

#include "unwind/elf_file.h"

enum {
	NAME_BYTES = 4096,
	SYMBOLS_MAX = 1 << 16, /* of a table that is searched */
};

static bool zebin_open(struct af_elf *e, const void *data, size_t size)
{
	return data && !af_elf_parse(e, data, size) && e->machine == AF_ZEBIN_MACHINE;
}

bool af_zebin_is(const void *data, size_t size)
{
	struct af_elf e;

	return zebin_open(&e, data, size);
}

bool af_zebin_has_lines(const void *data, size_t size)
{
	Elf64_Shdr s;
	struct af_elf e;

	return zebin_open(&e, data, size) && af_elf_named(&e, ".debug_line", &s) && s.sh_size;
}

/* The number of the function @name that lies in section @text. */
static uint32_t symbol_find(const struct af_elf *e, uint32_t text, const char *name)
{
	Elf64_Shdr table, strings;
	Elf64_Sym s;

	if (!af_elf_named(e, ".symtab", &table) || table.sh_type != SHT_SYMTAB ||
	    !af_elf_section(e, table.sh_link, &strings))
		return 0;
	uint64_t nr = table.sh_size / af_elf_symbol_size(e);
	for (uint64_t i = 1; i < nr && i < SYMBOLS_MAX; i++) {
		af_elf_symbol(e, &table, i, &s);
		const char *is = s.st_shndx == text && ELF64_ST_TYPE(s.st_info) == STT_FUNC
		                     ? af_elf_string(e, &strings, s.st_name)
		                     : NULL;
		if (is && !strcmp(is, name))
			return (uint32_t)i;
	}
	return 0;
}

bool af_zebin_kernel(const void *data, size_t size, const char *name, struct af_zebin_kernel *k)
{
	char section[NAME_BYTES];
	Elf64_Shdr text;
	struct af_elf e;

	if (!zebin_open(&e, data, size) ||
	    (size_t)snprintf(section, sizeof section, ".text.%s", name) >= sizeof section)
		return false;
	uint32_t number = af_elf_number(&e, section);
	if (!number || !af_elf_section(&e, number, &text) || text.sh_type == SHT_NOBITS ||
	    !text.sh_size)
		return false;
	k->size = text.sh_size;
	k->symbol = symbol_find(&e, number, name);
	return true;
}
