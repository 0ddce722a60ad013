#include "sym/jit/timed.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "unwind/elf_file.h"

enum {
	TIMED_LINE_MAX = 4 << 10,    /* a longer line is left out */
	TIMED_SYMBOLS_MAX = 1 << 16, /* of one image */
	TIMED_UNSIZED = 64 << 10,    /* a symbol without a size ends at the next, or here */
};

static void timed_add(struct af_jit_timed *t, const struct af_jitdump_code *code)
{
	uint64_t *last = af_map_at(&t->latest, code->start, NULL);
	const struct af_jitdump_code *before = *last ? &t->table.codes[*last - 1] : NULL;

	if (before && before->end == code->end && before->till_ns == UINT64_MAX &&
	    before->image == code->image && !strcmp(before->name, code->name))
		return;
	if (af_jitdump_add(&t->table, code))
		*last = t->table.nr;
}

void af_jit_timed_text(struct af_jit_timed *t, const char *text, size_t len, uint64_t from_ns)
{
	char line[TIMED_LINE_MAX], *name;
	uint64_t start, size;

	for (const char *end = text + len, *next; text < end; text = next) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((newline ? newline : end) - text);

		next = newline ? newline + 1 : end;
		if (length >= sizeof line)
			continue;
		memcpy(line, text, length);
		line[length] = 0;
		if (af_jit_line(line, &start, &size, &name) && start + size > start)
			timed_add(t, &(struct af_jitdump_code){.start = start,
			                                       .end = start + size,
			                                       .from_ns = from_ns,
			                                       .till_ns = UINT64_MAX,
			                                       .name = name});
	}
}

/* The run-time address of a symbol: in a relocatable file it counts from its section's. */
static bool timed_address(const struct af_elf *e, const Elf64_Sym *s, uint64_t *start,
                          uint64_t *limit)
{
	Elf64_Shdr section;

	if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || !s->st_shndx ||
	    !af_elf_section(e, s->st_shndx, &section) || !section.sh_addr)
		return false;
	*start = s->st_value + (e->type == ET_REL ? section.sh_addr : 0);
	*limit = section.sh_addr + section.sh_size;
	return *limit >= section.sh_addr && *start >= section.sh_addr && *start < *limit;
}

static void timed_symbols(struct af_jit_timed *t, const struct af_elf *e, const Elf64_Shdr *table,
                          const struct af_jit_image *image)
{
	uint64_t nr = table->sh_size / af_elf_symbol_size(e), start, limit;
	Elf64_Shdr strings;

	if (!af_elf_section(e, table->sh_link, &strings))
		return;
	for (uint64_t i = 1; i < nr && i < TIMED_SYMBOLS_MAX; i++) {
		Elf64_Sym s;

		af_elf_symbol(e, table, i, &s);
		const char *name = af_elf_string(e, &strings, s.st_name);
		if (!name || !*name || !timed_address(e, &s, &start, &limit))
			continue;
		uint64_t size = s.st_size ? s.st_size : TIMED_UNSIZED;
		uint64_t end = size < limit - start ? start + size : limit;
		timed_add(t, &(struct af_jitdump_code){.start = start,
		                                       .end = end,
		                                       .from_ns = image->from_ns,
		                                       .till_ns = image->till_ns,
		                                       .image = image->number,
		                                       .name = name});
	}
}

int af_jit_timed_image(struct af_jit_timed *t, const struct af_jit_image *image)
{
	Elf64_Shdr table;
	struct af_elf e;
	int rc = af_elf_parse(&e, image->data, image->size);

	if (rc)
		return rc;
	for (uint32_t i = 1; i < e.nr_sections; i++)
		if (af_elf_section(&e, i, &table) && table.sh_type == SHT_SYMTAB)
			timed_symbols(t, &e, &table, image);
	return 0;
}

void af_jit_timed_end(struct af_jit_timed *t)
{
	t->table.timed = true;
	af_jitdump_build(&t->table);
	af_map_free(&t->latest);
}

void af_jit_timed_close(struct af_jit_timed *t)
{
	af_map_free(&t->latest);
	af_jitdump_close(&t->table);
}
