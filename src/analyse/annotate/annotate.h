/*
 * One kernel in full, as tables: its source lines and its instructions with the samples and the
 * stall reasons of each.
 */
#ifndef AF_ANALYSE_ANNOTATE_ANNOTATE_H
#define AF_ANALYSE_ANNOTATE_ANNOTATE_H

#include <stdint.h>

#include "analyse/table/table.h"

struct af_code_store;
struct af_query;
struct af_sampled;
struct af_source;

/*
 * A row of the table "lines". Behind its columns each reason has one, a count of samples, in the
 * order of the table "reasons"; its key is "stall_" and the driver's name of the reason.
 */
#define AF_LINE_COLUMNS(C)                                                                         \
	C(rank, "Rank", AF_CELL_COUNT, AF_SHOW_NEVER) /* 1 has most samples, 0 has none */         \
	C(file, "File", AF_CELL_TEXT)                                                              \
	C(number, "Line", AF_CELL_COUNT)                                                           \
	C(function, "Function",                                                                    \
	  AF_CELL_TEXT) /* whose line it is, where it was inlined: the innermost's */              \
	C(source, "Source", AF_CELL_TEXT)                                                          \
	C(samples, "Samples", AF_CELL_COUNT)                                                       \
	C(share, "Share", AF_CELL_PERCENT)                                                         \
	C(time_ns, "Time", AF_CELL_NS, AF_SHOW_USED)                                               \
	C(with_inlined, "With inlined",                                                            \
	  AF_CELL_COUNT) /* samples, with those of calls that were inlined at the line */
struct af_line_row {
	AF_LINE_COLUMNS(AF_ROW_CELL)
	struct af_cell reasons[];
};

/* A row of the table "insns"; columns of the reasons follow likewise. */
#define AF_INSN_COLUMNS(C)                                                                         \
	C(rank, "Rank", AF_CELL_COUNT, AF_SHOW_NEVER)                                              \
	C(offset, "Offset", AF_CELL_COUNT)                                                         \
	C(text, "Text", AF_CELL_TEXT)                                                              \
	C(file, "File", AF_CELL_TEXT)                                                              \
	C(line, "Line", AF_CELL_COUNT)                                                             \
	C(inlined, "Inlined", AF_CELL_TEXT,                                                        \
	  AF_SHOW_USED) /* what was inlined into what, innermost first; "" where nothing was */    \
	C(samples, "Samples", AF_CELL_COUNT)                                                       \
	C(share, "Share", AF_CELL_PERCENT)                                                         \
	C(time_ns, "Time", AF_CELL_NS, AF_SHOW_USED)                                               \
	C(waits, "Waits for", AF_CELL_TEXT,                                                        \
	  AF_SHOW_USED) /* offsets of those whose results it waits for: "0x40 0x80" */
struct af_insn_row {
	AF_INSN_COLUMNS(AF_ROW_CELL)
	struct af_cell reasons[];
};

/* Columns before those of the reasons. */
enum {
	AF_LINE_FIXED = sizeof(struct af_line_row) / sizeof(struct af_cell),
	AF_INSN_FIXED = sizeof(struct af_insn_row) / sizeof(struct af_cell)
};

/* A row of the table "reasons". */
#define AF_REASON_COLUMNS(C)                                                                       \
	C(letter, "Letter", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(name, "Reason", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                     \
	C(samples, "Samples", AF_CELL_COUNT)                                                       \
	C(share, "Share", AF_CELL_PERCENT, .merge = AF_MERGE_SHARE, .of = "samples")               \
	C(idle_percent, "Idle", AF_CELL_PERCENT, AF_SHOW_USED, .merge = AF_MERGE_MEAN,             \
	  .of = "samples")                                                                         \
	C(category, "Sort", AF_CELL_TEXT,                                                          \
	  AF_SHOW_NEVER) /* issued, memory, sync, execute, fetch or other */                       \
	C(meaning, "Meaning", AF_CELL_TEXT, AF_SHOW_USED)                                          \
	C(advice, "What to try", AF_CELL_TEXT, AF_SHOW_USED)                                       \
	C(driver, "Name", AF_CELL_TEXT, AF_SHOW_NEVER) /* how the driver calls it */
struct af_reason_row {
	AF_REASON_COLUMNS(AF_ROW_CELL)
};

/*
 * A row of the table "stalls": a kernel. Behind its columns the reasons have one each, the kernel's
 * share of samples, and "rest" has what people see of no other column.
 */
#define AF_STALL_COLUMNS(C)                                                                        \
	C(kernel, "Kernel", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(device, "Device", AF_CELL_TEXT, AF_SHOW_NEVER)                                           \
	C(samples, "Samples", AF_CELL_COUNT)                                                       \
	C(time_ns, "Time", AF_CELL_NS, AF_SHOW_USED)                                               \
	C(exact_percent, "Exact", AF_CELL_PERCENT, AF_SHOW_NEVER, .merge = AF_MERGE_MEAN,          \
	  .of = "samples")                                                                         \
	C(top_reason, "Top reason", AF_CELL_TEXT, AF_SHOW_USED)                                    \
	C(top_share, "Top share", AF_CELL_PERCENT, AF_SHOW_NEVER)                                  \
	C(hottest, "Hottest", AF_CELL_TEXT, AF_SHOW_NEVER) /* a line, or an offset */              \
	C(hottest_share, "Hottest share", AF_CELL_PERCENT, AF_SHOW_NEVER)
struct af_stall_row {
	AF_STALL_COLUMNS(AF_ROW_CELL)
	struct af_cell reasons[];
};

/* Sources and listings to show beside the samples. Both may be NULL. */
struct af_annotate_with {
	struct af_code_store *codes;
	struct af_source *sources;
	const char *others; /* a word on functions of the same name; may be NULL */
	uint32_t context;   /* lines and instructions around those with samples; UINT32_MAX: all */
	uint32_t most;      /* rows of a table at most; those of fewest samples are left out */
};

/*
 * Tables of function @function, which is an index of s->functions, at the end of @f:
 *
 *	kernel	facts, a label and a value each
 *	reasons	as af_sampled_reasons() has it
 *	lines	in order of files (that of most samples first) and numbers
 *	insns	in order of offsets
 */
void af_annotate(struct af_tables *f, const struct af_sampled *s, uint32_t function,
                 const struct af_annotate_with *with);

/*
 * The tables of the kernels that @query asks for: of one trace with the objects in @codes, which
 * may be NULL, or of a set, whose objects are in its traces. @s is finished.
 */
void af_annotate_kernels(const struct af_sampled *s, const struct af_query *query,
                         struct af_code_store *codes, struct af_tables *f);

#endif
