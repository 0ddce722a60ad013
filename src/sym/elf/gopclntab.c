/*
 * The functions of a Go program by .gopclntab, the table that Go's runtime itself needs for stacks
 * and that stays where a file is stripped. Its form is that of runtime/symtab.go (struct pcHeader,
 * struct functab) and of "Go 1.2 Runtime Symbol Table Information": a header, a table of functions
 * (program counter, offset of what is known of it), and their names. Three forms since Go 1.2; in
 * the last one program counters are relative to the start of the text.
 */
#include <string.h>

#include "sym/elf/symtab.h"
#include "unwind/elf_file.h"

enum {
	GO_HEADER = 8,       /* magic, two zeros, least length of an instruction, size of a word */
	GO_TEXT = 2,         /* of the words that follow, in the form that has it */
	GO_MODULE_TEXT = 22, /* of the words of runtime.moduledata, Go 1.26 */
	GO_WORDS = 8,
};

/* The words behind the header, by number; 0: there is no such word. */
static const struct go_form {
	uint32_t magic;
	uint8_t names, functions; /* where names, and where functions begin */
	bool relative;            /* the third word is where the text begins */
} go_forms[] = {
    {0xfffffffb, 0, 0, false}, /* Go 1.2 */
    {0xfffffffa, 2, 6, false}, /* Go 1.16 */
    {0xfffffff0, 3, 7, true},  /* Go 1.18 */
    {0xfffffff1, 3, 7, true},  /* Go 1.20 */
};

struct go_table {
	const struct go_form *form;
	const uint8_t *data; /* from its header on */
	uint64_t size, vaddr;
	unsigned word;         /* bytes of a program counter */
	uint64_t nr;           /* functions */
	uint64_t names;        /* offset of the names */
	uint64_t known, first; /* offsets: what is known of functions, their table */
	uint64_t text;
};

static uint64_t go_load(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes);
	return v;
}

static uint64_t go_word(const struct go_table *t, unsigned i)
{
	return go_load(t->data + GO_HEADER + (uint64_t)i * t->word, t->word);
}

/* Bytes of a field in the table of functions: two make an entry. */
static unsigned go_field(const struct go_table *t)
{
	return t->form->relative ? 4 : t->word;
}

/* Take the bytes at @data for a table; false when they are not one, or not a whole one. */
static bool go_parse(struct go_table *t, const uint8_t *data, uint64_t size, uint64_t vaddr)
{
	*t = (struct go_table){.data = data, .size = size, .vaddr = vaddr};
	if (size < GO_HEADER + GO_WORDS * 8 || data[4] || data[5])
		return false;
	for (unsigned i = 0; i < sizeof go_forms / sizeof *go_forms; i++)
		if (go_load(data, 4) == go_forms[i].magic)
			t->form = &go_forms[i];
	t->word = data[7];
	if (!t->form || (t->word != 8 && t->word != 4))
		return false;
	t->nr = go_word(t, 0);
	t->names = t->form->names ? go_word(t, t->form->names) : 0;
	t->known = t->form->functions ? go_word(t, t->form->functions) : 0;
	t->first = t->form->functions ? t->known : GO_HEADER + t->word;
	/* There is one program counter more than functions: the end of the last one. */
	uint64_t field = go_field(t);
	return t->names < size && t->first < size && size - t->first >= field && t->nr &&
	       t->nr <= (size - t->first - field) / (2 * field);
}

/* A Go program says so in a note. */
static bool go_made(const struct af_elf *e)
{
	Elf64_Shdr s;
	Elf64_Phdr p;

	for (uint32_t i = 0; af_elf_segment(e, i, &p); i++) {
		static const uint8_t name[] = {4, 0, 0, 0, 'G', 'o', 0, 0};
		uint64_t left;
		const uint8_t *at = p.p_type == PT_NOTE ? af_elf_at(e, p.p_vaddr, &left) : NULL;
		if (at && left >= 16 && !memcmp(at, name, 4) && !memcmp(at + 12, name + 4, 4))
			return true;
	}
	return af_elf_named(e, ".go.buildinfo", &s) || af_elf_named(e, ".note.go.buildid", &s);
}

static bool go_search(struct go_table *t, const uint8_t *data, uint64_t size, uint64_t vaddr)
{
	for (uint64_t at = 0; at + GO_HEADER <= size; at += 8)
		if (go_load(data + at, 4) >= 0xfffffff0 &&
		    go_parse(t, data + at, size - at, vaddr + at))
			return true;
	return false;
}

/*
 * The table: a section of its own, unless a linker laid it into another one (.data.rel.ro of a
 * position-independent program that ld linked) or the sections' headers are gone.
 */
static bool go_find(struct go_table *t, const struct af_elf *e)
{
	static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	Elf64_Shdr s;
	Elf64_Phdr p;

	for (unsigned i = 0; i < sizeof sections / sizeof *sections; i++)
		if (af_elf_named(e, sections[i], &s) && s.sh_type != SHT_NOBITS)
			return go_parse(t, af_elf_bytes(e, &s), s.sh_size, s.sh_addr);
	if (!go_made(e))
		return false;
	for (uint32_t i = 0; af_elf_segment(e, i, &p); i++) {
		uint64_t left;
		const uint8_t *at = p.p_type == PT_LOAD && !(p.p_flags & PF_X)
		                        ? af_elf_at(e, p.p_vaddr, &left)
		                        : NULL;
		if (at && go_search(t, at, left, p.p_vaddr))
			return true;
	}
	return false;
}

/* The address that the loader will write at @vaddr when it relocates the file; 0 for none. */
static uint64_t go_relocated(const struct af_elf *e, uint64_t vaddr)
{
	Elf64_Shdr s;

	for (uint32_t i = 1; !e->is_32 && i < e->nr_sections; i++) {
		if (!af_elf_section(e, i, &s) || s.sh_type != SHT_RELA || !(s.sh_flags & SHF_ALLOC))
			continue;
		for (uint64_t n = 0; n < s.sh_size / sizeof(Elf64_Rela); n++) {
			Elf64_Rela r;

			memcpy(&r, af_elf_bytes(e, &s) + n * sizeof r, sizeof r);
			if (r.r_offset == vaddr && !ELF64_R_SYM(r.r_info))
				return (uint64_t)r.r_addend;
		}
	}
	return 0;
}

/*
 * The start of the text, to which program counters are relative. It is a word of the header, which
 * the loader relocates in a position-independent file. From Go 1.26 on the header does not have it;
 * there it is in runtime.moduledata, a section of its own.
 */
static uint64_t go_text(const struct go_table *t, const struct af_elf *e)
{
	uint64_t at = t->vaddr + GO_HEADER + GO_TEXT * t->word, text = go_word(t, GO_TEXT);
	Elf64_Shdr s;

	text = text ? text : go_relocated(e, at);
	if (!text && af_elf_named(e, ".go.module", &s) && s.sh_type != SHT_NOBITS &&
	    s.sh_size >= (GO_MODULE_TEXT + 1) * (uint64_t)t->word) {
		uint64_t offset = GO_MODULE_TEXT * (uint64_t)t->word;

		text = go_load(af_elf_bytes(e, &s) + offset, t->word);
		text = text ? text : go_relocated(e, s.sh_addr + offset);
	}
	return text || !af_elf_named(e, ".text", &s) ? text : s.sh_addr;
}

/* The end of the code that contains @vaddr, 0 where there is none. */
static uint64_t go_code_end(const struct af_elf *e, uint64_t vaddr)
{
	Elf64_Phdr p;

	for (uint32_t i = 0; af_elf_segment(e, i, &p); i++)
		if (p.p_type == PT_LOAD && p.p_flags & PF_X && vaddr >= p.p_vaddr &&
		    vaddr - p.p_vaddr < p.p_memsz && p.p_memsz <= UINT64_MAX - p.p_vaddr)
			return p.p_vaddr + p.p_memsz;
	return 0;
}

static uint64_t go_start(const struct go_table *t, uint64_t i)
{
	uint64_t field = go_field(t);

	return t->text + go_load(t->data + t->first + i * 2 * field, (unsigned)field);
}

/* The name of function @i; NULL when it does not end within the table. */
static const char *go_name(const struct go_table *t, uint64_t i)
{
	uint64_t field = go_field(t), entry = t->form->relative ? 4 : t->word;
	uint64_t at = go_load(t->data + t->first + (i * 2 + 1) * field, (unsigned)field);

	if (at > t->size - t->known || t->size - t->known - at < entry + 4)
		return NULL;
	at = go_load(t->data + t->known + at + entry, 4);
	if (at >= t->size - t->names)
		return NULL;
	const char *name = (const char *)t->data + t->names + at;
	uint64_t left = t->size - t->names - at;
	return memchr(name, 0, left < AF_ELF_STRING_MAX ? left : AF_ELF_STRING_MAX) ? name : NULL;
}

void af_go_add(struct af_symtab *symbols, const struct af_elf *e)
{
	struct go_table t;

	if (e->type == ET_REL || !go_find(&t, e))
		return;
	t.text = t.form->relative ? go_text(&t, e) : 0;
	uint64_t first = go_start(&t, 0), end = go_code_end(e, first);
	for (uint64_t i = 0; i < t.nr; i++) {
		uint64_t start = go_start(&t, i), next = go_start(&t, i + 1);
		const char *name = go_name(&t, i);

		/* Entries are in order; one that is not is damaged. */
		if (!name || !*name || start < first || start >= next || next > end)
			continue;
		af_symtab_put(symbols, &(struct af_symtab_entry){
					   .start = start,
					   .size = next - start,
					   .limit = end,
					   .name = name,
					   .source = AF_SYMBOL_GO,
				       });
	}
}
