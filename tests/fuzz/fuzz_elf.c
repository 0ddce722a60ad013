/*
 * The ELF reader on hostile bytes: sections, symbol tables, linkage tables, build-id, and the names
 * found through the demangler. Checked on the way: an answer covers the address it was asked for,
 * and every name ends inside the input. Good seeds are small ELF files.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sym/elf_file.h"
#include "sym/sym.h"
#include "sym/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_address(const struct af_symtab *t, uint64_t vaddr)
{
	const struct af_symtab_entry *s = af_symtab_find(t, vaddr);

	if (!s)
		return;
	if (vaddr < s->start || vaddr >= s->limit || (s->size && vaddr - s->start >= s->size))
		abort();
	if (!*s->name)
		abort();
}

static void check_name(const char *symbol)
{
	char *name = af_function_name(symbol);
	size_t len;

	if (strlen(name) >= AF_SYM_NAME_MAX)
		abort();
	af_sym_kernel_name(symbol, &len);
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t id[AF_ELF_BUILD_ID_MAX];
	struct af_symtab t = {0};
	struct af_elf e;
	Elf64_Shdr s;

	if (af_elf_parse(&e, data, size))
		return 0;
	if (af_elf_build_id(&e, id) > sizeof id)
		abort();
	if (af_elf_named(&e, ".gnu_debuglink", &s)) {
		const char *link = af_elf_string(&e, &s, 0);
		if (link && (const uint8_t *)link + strlen(link) >= data + size)
			abort();
	}
	af_symtab_add(&t, &e);
	af_plt_add(&t, &e);
	af_symtab_build(&t);
	for (uint32_t i = 0; i < t.nr; i++) {
		check_address(&t, t.entries[i].start);
		check_address(&t, t.entries[i].start + t.entries[i].size);
		check_address(&t, t.entries[i].start - 1);
		if (i < 64)
			check_name(t.entries[i].name);
	}
	check_address(&t, 0);
	check_address(&t, UINT64_MAX);
	af_symtab_free(&t);
	return 0;
}
