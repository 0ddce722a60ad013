#include "sym/device/code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "sym/device/code_object.h"
#include "sym/sym.h"

enum {
	CODE_FUNCTIONS = 4 << 20, /* more than any object has */
	CODE_ET_TOKENS = 0xff04,  /* "Intel(R) OpenCL Device Binary" */
};

const char AF_CODE_PTX[] = "PTX";

void code_add(struct af_code *c, uint32_t section, const struct af_code_function *f)
{
	if (c->nr == CODE_FUNCTIONS)
		return;
	AF_GROW(c->functions, c->nr, c->cap);
	c->functions[c->nr++] = (struct code_function){.known = *f, .section = section};
}

const char *code_plain_name(const char *name)
{
	const char *second = *name == '$' ? strchr(name + 1, '$') : NULL;

	return second && second[1] ? second + 1 : name;
}

const char *code_shown(struct af_code *c, const char *name)
{
	if (!name)
		return NULL;
	uint64_t *known = af_map_at(&c->shown, (uintptr_t)name, NULL);
	if (!*known) {
		size_t len;
		const char *kernel = af_sym_kernel_name(name, &len);
		char *shown = kernel ? NULL : af_function_name(code_plain_name(name));

		*known = (uintptr_t)af_arena_strdup(&c->strings, kernel ? kernel : shown,
		                                    kernel ? len : strlen(shown));
		free(shown);
	}
	return (const char *)(uintptr_t)*known;
}

bool code_section(const struct af_code *c, uint32_t i, Elf64_Shdr *s)
{
	return af_elf_section(&c->elf, i, s) && s->sh_type == SHT_PROGBITS &&
	       s->sh_flags & SHF_EXECINSTR;
}

void code_each_symbol(struct af_code *c, void (*each)(struct af_code *c, const Elf64_Sym *s,
                                                      uint32_t number, const char *name))
{
	Elf64_Shdr table, strings;

	if (!af_elf_named(&c->elf, ".symtab", &table) || table.sh_type != SHT_SYMTAB ||
	    !af_elf_section(&c->elf, table.sh_link, &strings))
		return;
	const uint8_t *p = af_elf_bytes(&c->elf, &table);
	for (uint32_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym s;

		memcpy(&s, p + (size_t)i * sizeof s, sizeof s);
		each(c, &s, i, af_elf_string(&c->elf, &strings, s.st_name));
	}
}

/* By section and place; what holds others before them. */
static int code_place_order(const void *a, const void *b)
{
	const struct code_function *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->known.start != y->known.start)
		return x->known.start < y->known.start ? -1 : 1;
	if (x->known.size != y->known.size)
		return x->known.size > y->known.size ? -1 : 1;
	return x->known.symbol < y->known.symbol ? -1 : x->known.symbol > y->known.symbol;
}

static int code_name_order(const void *a, const void *b, void *arg)
{
	const struct af_code *c = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int order = strcmp(c->functions[i].known.name, c->functions[k].known.name);

	return order ? order : i < k ? -1 : i > k;
}

static void code_sort(struct af_code *c)
{
	uint32_t outer = 0;

	if (!c->nr)
		return;
	AF_SORT(c->functions, c->nr, code_place_order);
	c->by_name = af_xcalloc(c->nr, sizeof *c->by_name);
	for (uint32_t i = 0; i < c->nr; i++) {
		struct code_function *f = &c->functions[i], *o = &c->functions[outer];

		if (f->section != o->section || f->known.start >= o->known.start + o->known.size)
			outer = i;
		f->known.holder = outer;
		c->by_name[i] = i;
	}
	qsort_r(c->by_name, c->nr, sizeof *c->by_name, code_name_order, c);
}

/* Device code of Intel's older drivers: alone, or in an ELF file of a type of theirs. */
static bool code_is_tokens(const void *bytes, size_t size)
{
	static const char magic[] = "CTNI";
	Elf64_Ehdr h;

	if (size >= sizeof magic - 1 && !memcmp(bytes, magic, sizeof magic - 1))
		return true;
	if (size < sizeof h || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return false;
	memcpy(&h, bytes, sizeof h);
	return h.e_type == CODE_ET_TOKENS && h.e_machine == EM_NONE;
}

int af_code_open(struct af_code **out, const void *bytes, size_t size, struct af_err *err)
{
	struct af_code *c = af_xcalloc(1, sizeof *c);

	*out = NULL;
	if (code_is_listing(bytes, size)) {
		code_read_listing(c, bytes, size);
		code_sort(c);
		*out = c;
		return 0;
	}
	if (code_is_tokens(bytes, size)) {
		free(c);
		return af_fail_plain(
		    err, -ENOEXEC,
		    "Intel's format of before zebins (patch tokens), of which aflame "
		    "reads nothing; newer drivers make zebins");
	}
	if (af_elf_parse(&c->elf, bytes, size) || c->elf.is_32) {
		free(c);
		return af_fail_plain(err, -ENOEXEC, "not an ELF file of 64 bits");
	}
	if (c->elf.machine == CODE_EM_CUDA) {
		code_read_cubin(c);
	} else if (c->elf.machine == EM_INTELGT) {
		code_read_zebin(c);
	} else if (c->elf.machine == EM_X86_64 || c->elf.machine == EM_AARCH64 ||
	           c->elf.machine == EM_RISCV) {
		code_read_host(c);
	} else {
		int rc = af_fail_plain(err, -ENOEXEC, "code for machine %u, which is not known",
		                       (unsigned)c->elf.machine);
		free(c);
		return rc;
	}
	code_sort(c);
	*out = c;
	return 0;
}

void af_code_close(struct af_code *c)
{
	if (!c)
		return;
	free(c->functions);
	free(c->insns);
	free(c->by_name);
	code_lines_close(&c->lines);
	af_map_free(&c->paths);
	af_map_free(&c->shown);
	af_arena_free(&c->strings);
	free(c);
}

const char *af_code_arch(const struct af_code *c)
{
	return c->arch;
}

uint32_t af_code_sm(const struct af_code *c)
{
	return c->sm;
}

uint32_t af_code_nr_functions(const struct af_code *c)
{
	return c->nr;
}

const struct af_code_function *af_code_function(struct af_code *c, uint32_t i)
{
	struct af_code_function *f = i < c->nr ? &c->functions[i].known : NULL;

	/* Names of templates are long and many, and few are requested. */
	if (f && !f->shown)
		f->shown = code_shown(c, f->name);
	return f;
}

/* A function within a kernel by its own name: -1 when there is none, or several without @symbol. */
static int code_find_plain(const struct af_code *c, const char *name, uint32_t symbol)
{
	int found = -1;

	for (uint32_t i = 0; i < c->nr; i++) {
		const struct af_code_function *f = &c->functions[i].known;

		if (*f->name != '$' || strcmp(code_plain_name(f->name), name))
			continue;
		if (symbol && f->symbol == symbol)
			return (int)i;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

int af_code_find(const struct af_code *c, const char *name, uint32_t symbol)
{
	uint32_t low = 0, high = c->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (strcmp(c->functions[c->by_name[middle]].known.name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = low; i < c->nr; i++) {
		const struct af_code_function *f = &c->functions[c->by_name[i]].known;

		if (strcmp(f->name, name))
			break;
		if (!symbol || f->symbol == symbol)
			return (int)c->by_name[i];
	}
	if (low < c->nr && !strcmp(c->functions[c->by_name[low]].known.name, name))
		return (int)c->by_name[low];
	return code_find_plain(c, name, symbol);
}

int af_code_innermost(const struct af_code *c, uint32_t i, uint64_t offset, uint64_t *holder)
{
	if (i >= c->nr || offset >= c->functions[i].known.size)
		return -1;
	uint32_t outer = c->functions[i].known.holder, last = i;
	uint64_t at = c->functions[i].known.start + offset;

	for (uint32_t k = i + 1; k < c->nr && c->functions[k].known.holder == outer; k++) {
		const struct af_code_function *f = &c->functions[k].known;

		if (f->start > at)
			break;
		if (at - f->start < f->size)
			last = k;
	}
	*holder = at - c->functions[last].known.start;
	return (int)last;
}

uint64_t af_code_next(const struct af_code *c, uint32_t i, uint64_t offset)
{
	const struct af_code_function *f = &c->functions[i].known;

	if (c->sm)
		return offset + CODE_SASS_BYTES;
	if (c->elf.machine == EM_INTELGT && offset < f->size)
		return offset + code_zebin_step(f->bytes + offset, f->size - offset);
	return offset + 1;
}

int af_code_find_address(const struct af_code *c, uint64_t address, uint64_t *offset)
{
	uint32_t low = 0, high = code_by_section(c) ? 0 : c->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (c->functions[middle].known.start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -1;
	uint32_t outer = c->functions[low - 1].known.holder;
	return af_code_innermost(c, outer, address - c->functions[outer].known.start, offset);
}
