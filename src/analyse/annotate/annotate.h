/*
 * One kernel in full, as tables: its source lines and its instructions with the samples and the
 * stall reasons of each.
 */
#ifndef AF_ANALYSE_ANNOTATE_ANNOTATE_H
#define AF_ANALYSE_ANNOTATE_ANNOTATE_H

#include <stdint.h>

struct af_code_store;
struct af_facts;
struct af_sampled;
struct af_source;

/* Columns of the table "lines"; those of the reasons, in the order of the table "reasons", follow.
 */
enum af_annotate_line {
	AF_LINE_RANK, /* 1 has most samples, 0 has none */
	AF_LINE_FILE,
	AF_LINE_NUMBER,
	AF_LINE_FUNCTION, /* whose line it is, where it was inlined: the innermost's */
	AF_LINE_SOURCE,
	AF_LINE_SAMPLES,
	AF_LINE_SHARE,
	AF_LINE_TIME,
	AF_LINE_WITH_INLINED, /* samples, with those of calls that were inlined at the line */
	AF_LINE_REASONS
};

/* The same of the table "insns". */
enum af_annotate_insn {
	AF_INSN_RANK,
	AF_INSN_OFFSET,
	AF_INSN_TEXT,
	AF_INSN_FILE,
	AF_INSN_LINE,
	AF_INSN_INLINED, /* what was inlined into what, innermost first; "" where nothing was */
	AF_INSN_SAMPLES,
	AF_INSN_SHARE,
	AF_INSN_TIME,
	AF_INSN_WAITS, /* offsets of those whose results it waits for: "0x40 0x80" */
	AF_INSN_REASONS
};

/* Columns of the table "reasons". */
enum af_reasons_column {
	AF_REASON_LETTER,
	AF_REASON_NAME,
	AF_REASON_SAMPLES,
	AF_REASON_SHARE,
	AF_REASON_IDLE,
	AF_REASON_SORT, /* issued, memory, sync, execute, fetch or other */
	AF_REASON_MEANING,
	AF_REASON_ADVICE,
	AF_REASON_DRIVER, /* how the driver calls it */
	AF_REASON_COLUMNS
};

/* What samples are laid beside. Both may be NULL: then it is done without. */
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
void af_annotate(struct af_facts *f, const struct af_sampled *s, uint32_t function,
                 const struct af_annotate_with *with);

#endif
