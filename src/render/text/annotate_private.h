/* Shared by the files of annotate: a page of text about one kernel. */
#ifndef AF_RENDER_TEXT_ANNOTATE_PRIVATE_H
#define AF_RENDER_TEXT_ANNOTATE_PRIVATE_H

#include "analyse/annotate/annotate.h"
#include "analyse/table/table.h"
#include "render/text/annotate.h"

enum { ANNOTATE_BAR = 16 };

struct annotate_page {
	struct af_buf *b;
	const struct af_annotate_look *look;
	const struct af_table *kernel, *reasons, *lines, *insns;
	uint64_t most; /* samples of the longest bar */
};

static inline const struct af_line_row *annotate_line_row(const struct af_table *t, uint32_t r)
{
	return AF_ROW_AT(struct af_line_row, t, r);
}

static inline const struct af_insn_row *annotate_insn_row(const struct af_table *t, uint32_t r)
{
	return AF_ROW_AT(struct af_insn_row, t, r);
}

static inline const struct af_reason_row *annotate_reason_row(const struct af_table *t, uint32_t r)
{
	return AF_ROW_AT(struct af_reason_row, t, r);
}

/*
 * A bar for the @samples of a row, as long as @samples are of the most of any row: each reason's
 * letter as often as is its part, # for samples without a reason.
 */
void annotate_bar(struct annotate_page *p, const struct af_cell *reasons, uint32_t nr_reasons,
                  uint64_t samples);

/* Escape sequences, where there are colours. */
void annotate_faint(const struct annotate_page *p);
void annotate_bold(const struct annotate_page *p);
void annotate_plain(const struct annotate_page *p);

/* "12.34 %", to the right of 8 columns; blank for 0. */
void annotate_share(struct annotate_page *p, const struct af_cell *share);

/* "  0x0040   " */
void annotate_offset(struct annotate_page *p, uint64_t offset);

/* The row of @t's instruction at @offset, or UINT32_MAX. */
uint32_t annotate_insn(const struct af_table *t, uint64_t offset);

/*
 * "waits for 0x0040 LDG.E R2, [R2.64]" for each, after @indent columns, with the line between
 * source and instructions at column @line (0: none); nothing for nothing.
 */
void annotate_waits(struct annotate_page *p, uint32_t r, size_t indent, size_t line);

/* The two ways to lay it out. */
void annotate_by_line(struct annotate_page *p);
void annotate_by_insn(struct annotate_page *p);

#endif
