/* The parts of an annotated kernel: annotate.c gathers them, _tables.c makes tables. */
#ifndef AF_ANALYSE_ANNOTATE_PRIVATE_H
#define AF_ANALYSE_ANNOTATE_PRIVATE_H

#include "analyse/annotate/annotate.h"
#include "analyse/annotate/sampled.h"
#include "analyse/table/table.h"
#include "base/map.h"
#include "sym/device/code.h"

enum { ANNOTATE_REASONS = AF_TABLE_COLUMNS - AF_INSN_FIXED, ANNOTATE_WAITS = 4 };

struct af_listing;

struct annotated_insn {
	uint32_t offset;
	uint32_t line;      /* of lines, innermost; UINT32_MAX: not known */
	uint32_t rank;      /* from 1, 0 without samples */
	uint32_t first, nr; /* samples: function->at[first] and on */
	double samples, time_ns;
	uint32_t waits[ANNOTATE_WAITS], nr_waits;
	bool keep;
};

struct annotated_line {
	const char *file; /* of facts; "" when not known */
	uint32_t number, file_order;
	const char *function; /* whose line it is, innermost; "" not known */
	uint32_t rank;
	double samples, time_ns, with_inlined;
	uint32_t counted; /* the instruction (plus 1) that with_inlined was last counted for */
	double reasons[ANNOTATE_REASONS];
};

struct annotation {
	struct af_tables *f;
	const struct af_sampled *s;
	const struct af_sampled_function *function;
	const struct af_annotate_with *with;
	struct af_code *code; /* NULL: not there, @missing says why */
	int index;            /* of the function in it, -1 */
	const char *missing;
	struct af_table *kernel;    /* the table of facts */
	struct af_listing *listing; /* of its instructions, NULL without the object */
	uint32_t reasons[ANNOTATE_REASONS], nr_reasons; /* by column */
	struct annotated_insn *insns;
	uint32_t nr_insns, cap_insns;
	struct annotated_line *lines;
	uint32_t nr_lines, cap_lines;
	struct af_strtab files;
	struct af_map by_line; /* file and number → index */
	bool lines_known, ptx; /* any instruction has a line; it is one of the PTX */
};

/* The column of @reason, or UINT32_MAX. */
uint32_t annotation_column(const struct annotation *a, uint32_t reason);

/* The instruction at @offset; NULL when it is not known. */
const char *annotation_text(const struct annotation *a, uint32_t offset);

/* Line @line of @file, *@len bytes; NULL when it is not there. */
const char *annotation_source(struct annotation *a, const char *file, uint32_t line, size_t *len);

/* Find what @insn waits for: the results of which instructions. */
void annotation_waits(struct annotation *a, struct annotated_insn *insn);

/* The tables "kernel", "lines" and "insns". */
void annotation_tables(struct annotation *a);
void annotation_kernel(struct annotation *a);

#endif
