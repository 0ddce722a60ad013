/*
 * The flat profile of a tree that keeps locations: each function with its own share, and with the
 * share of the stacks that it is in; and the lines that were sampled. Frames with one text, kind
 * and module are one function, wherever they were called from and inlined to.
 *
 * A function is called `name (file.c:12)`, by where it begins in the source; traces without that
 * have the line that was sampled most. Without any line it is `name+0x1c`, by the address in it
 * that was sampled most, and without a name `0x1180`, an address in the file of its module. Frames
 * that are no machine code of the host keep their texts.
 */
#ifndef AF_ANALYSE_FUNCTIONS_FLAT_H
#define AF_ANALYSE_FUNCTIONS_FLAT_H

#include "analyse/table/table.h"
#include "analyse/tree/tree.h"

/* A function; shares are of the tree's weight. */
#define AF_FLAT_COLUMNS(C, unit)                                                                   \
	C(track, "Track", AF_CELL_TEXT, AF_SHOW_USED)                                              \
	C(self_share, "Self", AF_CELL_PERCENT, .of = "self")                                       \
	C(total_share, "Cumulative", AF_CELL_PERCENT, .of = "total")                               \
	C(samples, "Samples", AF_CELL_COUNT, AF_SHOW_USED) /* in the function itself */            \
	C(function, "Function", AF_CELL_TEXT)                                                      \
	C(kind, "Kind", AF_CELL_TEXT)                                                              \
	C(module, "Module", AF_CELL_TEXT, AF_SHOW_USED)                                            \
	C(self, "Self weight", unit, AF_SHOW_NEVER)                                                \
	C(total, "Total weight", unit, AF_SHOW_NEVER)                                              \
	C(name, "Name", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(file, "File", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(line, "Line", AF_CELL_COUNT, AF_SHOW_NEVER)                                              \
	C(offset, "Offset", AF_CELL_COUNT, AF_SHOW_NEVER)                                          \
	C(address, "Address", AF_CELL_COUNT, AF_SHOW_NEVER)
struct af_flat_row {
	AF_FLAT_COLUMNS(AF_ROW_CELL, AF_CELL_NS)
};

/* A line, or an address that has none: the innermost of inlined functions, and whose it is. */
#define AF_FLAT_LINE_COLUMNS(C, unit)                                                              \
	C(track, "Track", AF_CELL_TEXT, AF_SHOW_USED)                                              \
	C(self_share, "Self", AF_CELL_PERCENT, .of = "self")                                       \
	C(samples, "Samples", AF_CELL_COUNT, AF_SHOW_USED)                                         \
	C(location, "Line", AF_CELL_TEXT)                                                          \
	C(function, "Function", AF_CELL_TEXT)                                                      \
	C(kind, "Kind", AF_CELL_TEXT)                                                              \
	C(module, "Module", AF_CELL_TEXT, AF_SHOW_USED)                                            \
	C(self, "Self weight", unit, AF_SHOW_NEVER)                                                \
	C(file, "File", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(line, "Number", AF_CELL_COUNT, AF_SHOW_NEVER)                                            \
	C(offset, "Offset", AF_CELL_COUNT, AF_SHOW_NEVER)                                          \
	C(address, "Address", AF_CELL_COUNT, AF_SHOW_NEVER)
struct af_flat_line_row {
	AF_FLAT_LINE_COLUMNS(AF_ROW_CELL, AF_CELL_NS)
};

/*
 * Add the table "flat" of all functions of @t, finished, with any weight, or with @lines the table
 * "lines"; the one with most of its own first. @by (NULL: none) is a word of by_track.h: rows are
 * then kept apart by the tracks, of which @t has the frames, and a function counts once in a stack
 * of each. Frames of processes and threads are no functions, and marks count only where stacks end
 * in them.
 */
void af_flat_table(struct af_tables *f, const struct af_tree *t, uint32_t weight, const char *by,
                   bool lines);

#endif
