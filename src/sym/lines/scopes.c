#include "sym/lines/scopes.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/arena.h"
#include "sym/sym.h"

/* Bounds that no compiler's output comes near. */
enum { SCOPES_HOPS = 16, SCOPES_DEPTH = 64, SCOPES_DIES = 1 << 20 };

void af_scopes_free(struct af_scopes *s)
{
	free(s->at);
	*s = (struct af_scopes){0};
}

uint32_t af_scopes_add(struct af_scopes *s, Dwarf_Off offset, uint32_t parent)
{
	AF_GROW(s->at, s->nr, s->cap);
	s->at[s->nr] = (struct af_scope){offset, parent};
	return s->nr++;
}

Dwarf_Die af_scopes_declaration(const Dwarf_Die *die)
{
	Dwarf_Die at = *die, next;
	Dwarf_Attribute attr;

	for (int hop = 0; hop < SCOPES_HOPS; hop++) {
		if (!dwarf_attr(&at, DW_AT_abstract_origin, &attr) &&
		    !dwarf_attr(&at, DW_AT_specification, &attr))
			break;
		if (!dwarf_formref_die(&attr, &next))
			break;
		at = next;
	}
	return at;
}

/* The last scope that begins at @offset or before. */
static uint32_t scopes_before(const struct af_scopes *s, Dwarf_Off offset)
{
	uint32_t low = 0, high = s->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->at[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : AF_SCOPES_NONE;
}

/* Types without a name are mostly those of lambdas, which gcc names and clang does not. */
static void scopes_add_name(Dwarf_Die *die, struct af_buf *b)
{
	const char *name = dwarf_diename(die);

	if (!name)
		name = dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : "<lambda>";
	af_buf_str(b, name);
	af_buf_str(b, "::");
}

static void scopes_add_from(const struct af_scopes *s, uint32_t i, Dwarf *dwarf, int depth,
                            struct af_buf *b);

/* A function as a scope: by its linkage name when it has one. */
static void scopes_add_function(const struct af_scopes *s, Dwarf_Die *die, Dwarf *dwarf, int depth,
                                struct af_buf *b)
{
	Dwarf_Attribute attr;
	const char *linkage =
	    dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ? dwarf_formstring(&attr) : NULL;
	char *name = linkage ? af_demangle(linkage) : NULL;

	if (name) {
		af_buf_str(b, name);
		af_buf_str(b, "::");
		free(name);
		return;
	}
	Dwarf_Die declared = af_scopes_declaration(die);
	uint32_t i = scopes_before(s, dwarf_dieoffset(&declared));
	if (i != AF_SCOPES_NONE && s->at[i].offset == dwarf_dieoffset(&declared))
		scopes_add_from(s, s->at[i].parent, dwarf, depth + 1, b);
	scopes_add_name(&declared, b);
}

/* The names from the unit down to scope @i. */
static void scopes_add_from(const struct af_scopes *s, uint32_t i, Dwarf *dwarf, int depth,
                            struct af_buf *b)
{
	Dwarf_Die die;

	if (i == AF_SCOPES_NONE || depth > SCOPES_DEPTH ||
	    !dwarf_offdie(dwarf, s->at[i].offset, &die))
		return;
	if (dwarf_tag(&die) == DW_TAG_subprogram) {
		scopes_add_function(s, &die, dwarf, depth, b);
		return;
	}
	scopes_add_from(s, s->at[i].parent, dwarf, depth + 1, b);
	scopes_add_name(&die, b);
}

/* The names of the scopes between function @parent and the entry at @offset inside it. */
static void scopes_add_inside(Dwarf_Die *parent, Dwarf_Off offset, struct af_buf *b)
{
	uint32_t left = SCOPES_DIES;
	Dwarf_Die at = *parent, child, next;

	while (!dwarf_child(&at, &child)) {
		for (next = child; left && dwarf_dieoffset(&next) <= offset; left--) {
			child = next;
			if (dwarf_siblingof(&child, &next))
				break;
		}
		/* Offsets grow from parent to child; in damaged files they may not. */
		if (!left || dwarf_dieoffset(&child) >= offset ||
		    dwarf_dieoffset(&child) <= dwarf_dieoffset(&at))
			return;
		int tag = dwarf_tag(&child);
		if (tag != DW_TAG_lexical_block)
			scopes_add_name(&child, b);
		at = child;
	}
}

void af_scopes_qualify(const struct af_scopes *s, Dwarf_Die *die, struct af_buf *b)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(die->cu);
	Dwarf_Off offset = dwarf_dieoffset(die);
	uint32_t i = scopes_before(s, offset);
	Dwarf_Die outer;

	if (i == AF_SCOPES_NONE)
		return;
	if (s->at[i].offset == offset) {
		scopes_add_from(s, s->at[i].parent, dwarf, 0, b);
	} else if (dwarf_offdie(dwarf, s->at[i].offset, &outer)) {
		scopes_add_from(s, i, dwarf, 0, b);
		scopes_add_inside(&outer, offset, b);
	}
}
