#include "sym/lines/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/buf.h"
#include "sym/lines/scopes.h"

/* Bounds that no compiler's output comes near; what lies beyond is left out. */
enum {
	LINES_DEPTH = 128,         /* nesting of scopes */
	LINES_SCOPES = 1 << 20,    /* entries looked at inside one function */
	LINES_UNIT_DIES = 8 << 20, /* entries looked at to find a unit's functions */
};

struct lines_unit {
	Dwarf_Die die;   /* holds the line table */
	Dwarf_Die scope; /* holds the functions; differs from die with split DWARF */
	bool placed;     /* it says where its code is */
	bool listed;     /* functions have been found */
	const char *directory;
	struct lines_function *functions;
	uint32_t nr_functions, cap_functions;
	struct af_ranges by_address; /* → function */
	struct af_scopes scopes;
};

struct lines_function {
	Dwarf_Die die;
	const void *declared; /* where what it is an instance of is declared */
	const char *source;   /* file and line of that */
	uint32_t source_line;
	bool walked; /* inlined calls have been found */
	struct lines_call *calls;
	uint32_t nr_calls, cap_calls;
	struct af_ranges by_address; /* → innermost call */
};

/* An inlined subroutine. */
struct lines_call {
	Dwarf_Die die;
	uint32_t parent; /* call it was inlined into, or AF_RANGES_NONE for the function itself */
	bool named;
	const void *declared;
	const char *name, *file; /* file and line of the call */
	uint32_t line;
	const char *source; /* of the function that was inlined */
	uint32_t source_line;
};

static void lines_elf_once(void)
{
	elf_version(EV_CURRENT);
}

/* Add each address range of @die; false when there is none. */
static bool lines_ranges(Dwarf_Die *die, struct af_ranges *ranges, uint32_t depth, uint32_t value)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	bool any = false;

	/* A range that begins at 0 is code that the linker threw away. */
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (start) {
			af_ranges_add(ranges, start, end, depth, value);
			any = true;
		}
	return any;
}

static void lines_add_unit(struct af_lines *l, const Dwarf_Die *die, const Dwarf_Die *scope)
{
	AF_GROW(l->units, l->nr_units, l->cap_units);
	struct lines_unit *u = &l->units[l->nr_units];
	*u = (struct lines_unit){.die = *die, .scope = *scope};
	u->placed = lines_ranges(&u->scope, &l->by_address, 1, l->nr_units);
	if (die != scope)
		lines_ranges(&u->die, &l->by_address, 1, l->nr_units);
	l->nr_units++;
}

/* The unit whose entry is at @offset, nr_units for none; units are in the order of offsets. */
static uint32_t lines_unit_at(const struct af_lines *l, Dwarf_Off offset)
{
	uint32_t low = 0, high = l->nr_units;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (dwarf_dieoffset(&l->units[middle].die) < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < l->nr_units && dwarf_dieoffset(&l->units[low].die) != offset)
		return l->nr_units;
	return low;
}

/* .debug_aranges, for units whose own entry does not say where they are; the latter is better. */
static void lines_add_aranges(struct af_lines *l)
{
	Dwarf_Aranges *aranges;
	size_t nr;

	if (dwarf_getaranges(l->dwarf, &aranges, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		Dwarf_Addr start;
		Dwarf_Word length;
		Dwarf_Off offset;

		if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &length, &offset))
			continue;
		uint32_t unit = lines_unit_at(l, offset);
		if (unit < l->nr_units && start && start + length > start)
			af_ranges_add(&l->by_address, start, start + length, 0, unit);
	}
}

static void lines_add_function(struct lines_unit *u, Dwarf_Die *die)
{
	AF_GROW(u->functions, u->nr_functions, u->cap_functions);
	u->functions[u->nr_functions] = (struct lines_function){.die = *die};
	/* Most are declarations and what was inlined everywhere. */
	if (lines_ranges(die, &u->by_address, 0, u->nr_functions))
		u->nr_functions++;
}

/* Functions stand in the unit or in its namespaces, and in Rust inside types too. */
static void lines_list(struct lines_unit *u, Dwarf_Die *parent, uint32_t scope, uint32_t depth,
                       uint32_t *left)
{
	Dwarf_Die die;

	if (depth > LINES_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		if (!*left)
			return;
		--*left;
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			af_scopes_add(&u->scopes, dwarf_dieoffset(&die), scope);
			lines_add_function(u, &die);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			lines_list(u, &die, af_scopes_add(&u->scopes, dwarf_dieoffset(&die), scope),
			           depth + 1, left);
			break;
		}
	} while (!dwarf_siblingof(&die, &die));
}

static void lines_list_unit(struct lines_unit *u)
{
	uint32_t left = LINES_UNIT_DIES;
	Dwarf_Attribute attr;

	u->listed = true;
	if (dwarf_attr(&u->die, DW_AT_comp_dir, &attr))
		u->directory = dwarf_formstring(&attr);
	lines_list(u, &u->scope, AF_SCOPES_NONE, 0, &left);
	af_ranges_build(&u->by_address);
}

/*
 * NVIDIA's units say where they begin and not where they end: they are where their functions are.
 */
static void lines_place(struct af_lines *l, uint32_t unit)
{
	struct lines_unit *u = &l->units[unit];

	if (u->placed || !dwarf_hasattr(&u->scope, DW_AT_low_pc))
		return;
	lines_list_unit(u);
	for (uint32_t i = 0; i < u->nr_functions; i++)
		lines_ranges(&u->functions[i].die, &l->by_address, 0, unit);
}

static struct Dwarf *lines_dwarf(const struct af_lines_image *image, struct Elf **elf)
{
	*elf = elf_memory((char *)image->data, image->size);
	struct Dwarf *dwarf = *elf ? dwarf_begin_elf(*elf, DWARF_C_READ, NULL) : NULL;

	if (dwarf)
		dwarf_new_oom_handler(dwarf, af_memory_is_out);
	return dwarf;
}

int af_lines_open(struct af_lines *l, const struct af_lines_image *image,
                  const struct af_lines_image *alternate)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	*l = (struct af_lines){0};
	pthread_once(&once, lines_elf_once);
	l->dwarf = lines_dwarf(image, &l->elf);
	if (!l->dwarf) {
		af_lines_close(l);
		return -ENODATA;
	}
	if (alternate)
		l->dwarf_alternate = lines_dwarf(alternate, &l->elf_alternate);
	if (l->dwarf_alternate)
		dwarf_setalt(l->dwarf, l->dwarf_alternate);

	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	while (!dwarf_get_units(l->dwarf, cu, &cu, NULL, &type, &die, &split)) {
		if (type == DW_UT_compile || type == DW_UT_partial)
			lines_add_unit(l, &die, &die);
		else if (type == DW_UT_skeleton)
			lines_add_unit(l, &die, dwarf_tag(&split) ? &split : &die);
	}
	lines_add_aranges(l);
	for (uint32_t i = 0; i < l->nr_units; i++)
		lines_place(l, i);
	af_ranges_build(&l->by_address);
	if (l->by_address.nr_segments)
		return 0;
	af_lines_close(l);
	return -ENODATA;
}

void af_lines_close(struct af_lines *l)
{
	for (uint32_t i = 0; i < l->nr_units; i++) {
		struct lines_unit *u = &l->units[i];

		for (uint32_t k = 0; k < u->nr_functions; k++) {
			af_ranges_free(&u->functions[k].by_address);
			free(u->functions[k].calls);
		}
		af_ranges_free(&u->by_address);
		af_scopes_free(&u->scopes);
		free(u->functions);
	}
	free(l->units);
	af_map_free(&l->names);
	af_arena_free(&l->strings);
	af_ranges_free(&l->by_address);
	dwarf_end(l->dwarf);
	elf_end(l->elf);
	dwarf_end(l->dwarf_alternate);
	elf_end(l->elf_alternate);
	*l = (struct af_lines){0};
}

static uint32_t lines_add_call(struct lines_function *f, Dwarf_Die *die, uint32_t parent)
{
	AF_GROW(f->calls, f->nr_calls, f->cap_calls);
	f->calls[f->nr_calls] = (struct lines_call){.die = *die, .parent = parent};
	return f->nr_calls++;
}

static void lines_walk(struct lines_function *f, Dwarf_Die *parent, uint32_t holder, uint32_t depth,
                       uint32_t *left)
{
	Dwarf_Die die;

	if (depth > LINES_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		if (!*left)
			return;
		--*left;
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_inlined_subroutine) {
			uint32_t call = lines_add_call(f, &die, holder);

			lines_ranges(&die, &f->by_address, depth, call);
			lines_walk(f, &die, call, depth + 1, left);
		} else if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
		           tag == DW_TAG_catch_block) {
			lines_walk(f, &die, holder, depth + 1, left);
		}
	} while (!dwarf_siblingof(&die, &die));
}

/*
 * The linkage name of what @die is a copy of, else its plain name with the scopes it stands in.
 * Kept by the declaration: many inlined calls are of the same function.
 */
static const char *lines_name(struct af_lines *l, const struct lines_unit *u, Dwarf_Die *die)
{
	Dwarf_Die declared = af_scopes_declaration(die);
	uint64_t *known = af_map_at(&l->names, (uintptr_t)declared.addr, NULL);
	Dwarf_Attribute attr;

	if (*known)
		return (const char *)(uintptr_t)*known;
	const char *name = NULL;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name) {
		name = dwarf_diename(die);
		struct af_buf b = {0};
		if (name && declared.cu == u->scope.cu)
			af_scopes_qualify(&u->scopes, &declared, &b);
		if (b.len) {
			af_buf_str(&b, name);
			name = af_arena_strdup(&l->strings, b.data, b.len);
		}
		af_buf_free(&b);
	}
	*known = (uintptr_t)name;
	return name;
}

static const char *lines_file(Dwarf_Die *unit, Dwarf_Word index)
{
	Dwarf_Files *files;
	size_t nr;

	if (dwarf_getsrcfiles(unit, &files, &nr) || index >= nr)
		return NULL;
	return dwarf_filesrc(files, index, NULL, NULL);
}

/*
 * The file that @die is declared in; NULL: not known. dwarf_decl_file() takes 0 for none, but from
 * DWARF 5 on it is the number of the unit's own file, which clang uses.
 */
static const char *lines_declared_in(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word index;
	Dwarf_Half version;
	Dwarf_Die unit;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attr) || dwarf_formudata(&attr, &index) ||
	    !dwarf_cu_die(attr.cu, &unit, &version, NULL, NULL, NULL, NULL, NULL))
		return NULL;
	return index || version >= 5 ? lines_file(&unit, index) : NULL;
}

/* The file of the function @die, and its line in *@line: NULL and 0 when not known. */
static const char *lines_source(Dwarf_Die *die, uint32_t *line)
{
	const char *file = lines_declared_in(die);
	int at = 0;

	*line = file && !dwarf_decl_line(die, &at) && at > 0 ? (uint32_t)at : 0;
	return *line ? file : NULL;
}

static void lines_name_call(struct af_lines *l, struct lines_unit *u, struct lines_call *c)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	c->named = true;
	c->declared = af_scopes_declaration(&c->die).addr;
	c->name = lines_name(l, u, &c->die);
	if (dwarf_attr(&c->die, DW_AT_call_line, &attr) && !dwarf_formudata(&attr, &value))
		c->line = (uint32_t)value;
	if (dwarf_attr(&c->die, DW_AT_call_file, &attr) && !dwarf_formudata(&attr, &value))
		c->file = lines_file(&u->die, value);
	c->source = lines_source(&c->die, &c->source_line);
}

/* Call @i of @f with its name and place. */
static struct lines_call *lines_call_at(struct af_lines *l, struct lines_unit *u,
                                        struct lines_function *f, uint32_t i)
{
	if (!f->calls[i].named)
		lines_name_call(l, u, &f->calls[i]);
	return &f->calls[i];
}

/* The function of @unit that @vaddr lies in, with its inlined calls; NULL for none. */
static struct lines_function *lines_function_at(struct lines_unit *u, uint64_t vaddr)
{
	if (!u->listed)
		lines_list_unit(u);
	uint32_t i = af_ranges_find(&u->by_address, vaddr);
	if (i == AF_RANGES_NONE)
		return NULL;
	struct lines_function *f = &u->functions[i];
	if (!f->walked) {
		uint32_t left = LINES_SCOPES;

		f->walked = true;
		f->declared = af_scopes_declaration(&f->die).addr;
		f->source = lines_source(&f->die, &f->source_line);
		lines_walk(f, &f->die, AF_RANGES_NONE, 1, &left);
		af_ranges_build(&f->by_address);
	}
	return f;
}

/* The row of the line table at @vaddr in @at, as far as it is known. */
static bool lines_row(struct lines_unit *u, uint64_t vaddr, struct af_lines_frame *at)
{
	Dwarf_Line *row = dwarf_getsrc_die(&u->die, vaddr);
	int line = 0;

	*at = (struct af_lines_frame){.directory = u->directory};
	if (!row)
		return false;
	at->file = dwarf_linesrc(row, NULL, NULL);
	if (!dwarf_lineno(row, &line) && line > 0)
		at->line = (uint32_t)line;
	return true;
}

bool af_lines_row(struct af_lines *l, uint64_t vaddr, struct af_lines_frame *row)
{
	uint32_t unit = af_ranges_find(&l->by_address, vaddr);

	if (unit == AF_RANGES_NONE)
		return false;
	if (!l->units[unit].listed)
		lines_list_unit(&l->units[unit]);
	return lines_row(&l->units[unit], vaddr, row);
}

uint32_t af_lines_find(struct af_lines *l, uint64_t vaddr, struct af_lines_frame *frames,
                       uint32_t most)
{
	uint32_t unit = af_ranges_find(&l->by_address, vaddr), nr = 0;

	if (unit == AF_RANGES_NONE)
		return 0;
	struct lines_unit *u = &l->units[unit];
	struct lines_function *f = lines_function_at(u, vaddr);
	struct af_lines_frame at;

	if (!lines_row(u, vaddr, &at) && !f)
		return 0;

	uint32_t i = f ? af_ranges_find(&f->by_address, vaddr) : AF_RANGES_NONE;
	while (i != AF_RANGES_NONE) {
		struct lines_call *c = lines_call_at(l, u, f, i);
		const void *outer = c->parent == AF_RANGES_NONE
		                        ? f->declared
		                        : lines_call_at(l, u, f, c->parent)->declared;

		i = c->parent;
		/* gcc splits a function and inlines the part again: that is no call. */
		if (c->declared == outer)
			continue;
		at.name = c->name;
		at.source = c->source;
		at.source_line = c->source_line;
		if (nr + 1 < most)
			frames[nr++] = at;
		at.file = c->file;
		at.line = c->line;
	}
	at.name = f ? lines_name(l, u, &f->die) : NULL;
	at.source = f ? f->source : NULL;
	at.source_line = f ? f->source_line : 0;
	frames[nr++] = at;
	return nr;
}
