/*
 * The namespaces, types and functions that enclose an entry of the debug information; libdw itself
 * can go only down and forward. For names of functions that have no linkage name, such as lambdas.
 *
 *	{ af_scopes_add }* in the order of offsets → { af_scopes_qualify }* → af_scopes_free
 */
#ifndef AF_SYM_LINES_SCOPES_H
#define AF_SYM_LINES_SCOPES_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "base/buf.h"

#define AF_SCOPES_NONE UINT32_MAX

/* Namespaces, types and functions of one unit, not those inside functions. */
struct af_scopes {
	struct af_scope {
		Dwarf_Off offset;
		uint32_t parent; /* index, or AF_SCOPES_NONE for the unit itself */
	} * at;
	uint32_t nr, cap;
};

/* A zeroed struct is empty. */
void af_scopes_free(struct af_scopes *s);

/* Add a scope. Returns its index, which is the @parent of its children. */
uint32_t af_scopes_add(struct af_scopes *s, Dwarf_Off offset, uint32_t parent);

/* Append the scopes before the plain name of @die, of the same unit: "app::Box::", or nothing. */
void af_scopes_qualify(const struct af_scopes *s, Dwarf_Die *die, struct af_buf *b);

/* The entry that declares @die, when @die is an instance, an inlined copy or a definition. */
Dwarf_Die af_scopes_declaration(const Dwarf_Die *die);

#endif
