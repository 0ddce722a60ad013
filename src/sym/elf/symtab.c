#include "sym/elf/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { SYMTAB_REACH = 16 << 10 }; /* how far a symbol without a size is believed */

/* Ranks: a type better than none, then a binding that others can see. */
enum { RANK_TYPED = 1, RANK_STRONG = 2, RANK_VISIBLE = 4 };

void af_symtab_free(struct af_symtab *t)
{
	free(t->entries);
	af_ranges_free(&t->ranges);
	af_arena_free(&t->strings);
	*t = (struct af_symtab){0};
}

void af_symtab_put(struct af_symtab *t, const struct af_symtab_entry *entry)
{
	if (t->nr == UINT32_MAX / 4)
		return;
	AF_GROW(t->entries, t->nr, t->cap);
	t->entries[t->nr++] = *entry;
}

/* Sections that hold code: where each begins and ends. */
struct symtab_code {
	struct af_ranges ranges;
	uint64_t *ends;
	uint32_t nr;
};

static void symtab_code_read(struct symtab_code *c, const struct af_elf *e)
{
	Elf64_Shdr s;

	c->ends = af_xcalloc((size_t)e->nr_sections + e->nr_segments, sizeof *c->ends);
	for (uint32_t i = 1; i < e->nr_sections; i++) {
		/* The bounds of a damaged section's bytes do not matter, only its addresses. */
		af_elf_section(e, i, &s);
		uint64_t end = s.sh_addr + s.sh_size;
		if (!(s.sh_flags & SHF_EXECINSTR) || !(s.sh_flags & SHF_ALLOC) || end < s.sh_addr)
			continue;
		af_ranges_add(&c->ranges, s.sh_addr, end, 0, c->nr);
		c->ends[c->nr++] = end;
	}
	Elf64_Phdr p;
	for (uint32_t i = 0; !c->nr && af_elf_segment(e, i, &p); i++) {
		uint64_t end = p.p_vaddr + p.p_memsz;
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) || end < p.p_vaddr)
			continue;
		af_ranges_add(&c->ranges, p.p_vaddr, end, 0, i);
		c->ends[i] = end;
	}
	af_ranges_build(&c->ranges);
}

static uint8_t symtab_rank(const Elf64_Sym *s)
{
	unsigned binding = ELF64_ST_BIND(s->st_info);
	uint8_t rank = ELF64_ST_TYPE(s->st_info) == STT_NOTYPE ? 0 : RANK_TYPED;

	if (binding != STB_LOCAL)
		rank |= RANK_VISIBLE;
	if (binding != STB_WEAK)
		rank |= RANK_STRONG;
	return rank;
}

/* Functions, and symbols without a type (from assembly) unless they are mere labels. */
static bool symtab_is_function(const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && (s->st_size || ELF64_ST_BIND(s->st_info) != STB_LOCAL);
}

static void symtab_read(struct af_symtab *t, const struct af_elf *e, const Elf64_Shdr *table,
                        const struct symtab_code *code)
{
	Elf64_Shdr strings;

	if (!af_elf_section(e, table->sh_link, &strings))
		return;
	uint64_t nr = table->sh_size / af_elf_symbol_size(e);
	for (uint64_t i = 0; i < nr; i++) {
		Elf64_Sym s;

		af_elf_symbol(e, table, i, &s);
		if (!symtab_is_function(&s))
			continue;
		uint32_t in = af_ranges_find(&code->ranges, s.st_value);
		if (in == AF_RANGES_NONE)
			continue;
		const char *name = af_elf_string(e, &strings, s.st_name);
		/* A dollar sign begins the mapping symbols of ARM and RISC-V: not functions. */
		if (!name || !*name || (*name == '$' && ELF64_ST_TYPE(s.st_info) == STT_NOTYPE))
			continue;
		af_symtab_put(t, &(struct af_symtab_entry){
				     .start = s.st_value,
				     .size = s.st_size,
				     .limit = code->ends[in],
				     .name = name,
				     .rank = symtab_rank(&s),
				     .source = table->sh_type == SHT_SYMTAB ? AF_SYMBOL_SYMTAB
		                                                            : AF_SYMBOL_DYNSYM,
				 });
	}
}

void af_symtab_add(struct af_symtab *t, const struct af_elf *e)
{
	struct symtab_code code = {0};
	Elf64_Shdr s;

	/* Addresses of a relocatable file are not yet addresses. */
	if (e->type == ET_REL)
		return;
	symtab_code_read(&code, e);
	for (uint32_t i = 1; i < e->nr_sections; i++)
		if (af_elf_section(e, i, &s) &&
		    (s.sh_type == SHT_SYMTAB || s.sh_type == SHT_DYNSYM) &&
		    s.sh_entsize == af_elf_symbol_size(e))
			symtab_read(t, e, &s, &code);
	af_ranges_free(&code.ranges);
	free(code.ends);
}

static unsigned symtab_underscores(const char *name)
{
	/* The start of a mangled name is no underscore: C++ (Itanium ABI 5.1.2) and Rust. */
	if (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2))
		return 0;
	return (unsigned)strspn(name, "_");
}

/* Whether @a is the better name, among symbols of the same address: > 0, 0 only for equal ones. */
static int symtab_compare_names(const struct af_symtab_entry *a, const struct af_symtab_entry *b)
{
	int d = (a->size != 0) - (b->size != 0);

	if (!d)
		d = (a->rank & RANK_VISIBLE) - (b->rank & RANK_VISIBLE);
	if (!d)
		d = (int)symtab_underscores(b->name) - (int)symtab_underscores(a->name);
	if (!d)
		d = a->rank - b->rank;
	if (!d) {
		size_t x = strlen(a->name), y = strlen(b->name);
		d = (x < y) - (x > y);
	}
	if (!d)
		d = strcmp(b->name, a->name);
	return d ? d : b->source - a->source;
}

static int symtab_order(const void *a, const void *b)
{
	const struct af_symtab_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return symtab_compare_names(x, y);
}

static uint64_t symtab_end(const struct af_symtab_entry *s, uint64_t next)
{
	uint64_t size = s->size;

	if (!size)
		size = next - s->start < SYMTAB_REACH ? next - s->start : SYMTAB_REACH;
	return size < s->limit - s->start ? s->start + size : s->limit;
}

void af_symtab_build(struct af_symtab *t)
{
	uint64_t covered = 0; /* sized symbols so far reach to here */

	AF_SORT(t->entries, t->nr, symtab_order);
	for (uint32_t i = 0, j; i < t->nr; i = j) {
		uint64_t start = t->entries[i].start, reach = covered;

		for (j = i; j < t->nr && t->entries[j].start == start; j++) {
			uint64_t end = t->entries[j].size ? symtab_end(&t->entries[j], 0) : 0;
			reach = end > reach ? end : reach;
		}
		uint64_t next = j < t->nr ? t->entries[j].start : UINT64_MAX;
		for (uint32_t k = i; k < j; k++) {
			/* A symbol without a size inside another is a label. */
			if (t->entries[k].size || reach <= start)
				af_ranges_add(&t->ranges, start, symtab_end(&t->entries[k], next),
				              0, k);
		}
		covered = reach;
	}
	af_ranges_build(&t->ranges);
}

const struct af_symtab_entry *af_symtab_find(const struct af_symtab *t, uint64_t vaddr)
{
	uint32_t i = af_ranges_find(&t->ranges, vaddr);

	return i == AF_RANGES_NONE ? NULL : &t->entries[i];
}
