/*
 * Rows of the EU stall sampler of Intel's GPUs: 64 bytes, which say how often threads were at an
 * address, and for which of ten reasons. They are decoded and added up by address, in a table that
 * grows with the number of addresses, not of rows. One thread at a time. Calls in order:
 *
 *	af_xe_rows_open()
 *	{ af_xe_rows_add()* → af_xe_rows_at()* → af_xe_rows_empty() }*
 *	af_xe_rows_free()
 *
 * The layouts are those of drivers/gpu/drm/xe/xe_eu_stall.c (struct xe_eu_stall_data_pvc, _xe2,
 * _xe3p): an address in units of 8 bytes, then counts of 8 bits without a gap.
 */
#ifndef AF_COLLECT_XE_ROWS_H
#define AF_COLLECT_XE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	AF_XE_ROW_BYTES = 64,
	/* Each count of a row is 255 at most, so sums of so many rows fit into 32 bits. */
	AF_XE_ROWS_MOST = UINT32_MAX / 255,
	AF_XE_ADDRESSES_MOST = 4 << 20, /* of a table: 256 MiB */
};

enum af_xe_layout {
	AF_XE_PVC = 1, /* Ponte Vecchio: 29 bits of the address, no TDR */
	AF_XE_XE2,     /* Xe2 and Xe3: 29 bits */
	AF_XE_XE3P,    /* Xe3p: the whole address */
};

/* Reasons, each with its name in the Level Zero specification (metric group EuStallSampling). */
#define AF_XE_REASONS(R)                                                                           \
	R(ACTIVE, "Active")                                                                        \
	R(CONTROL, "ControlStall")                                                                 \
	R(PIPE, "PipeStall")                                                                       \
	R(SEND, "SendStall")                                                                       \
	R(DIST, "DistStall")                                                                       \
	R(SBID, "SbidStall")                                                                       \
	R(SYNC, "SyncStall")                                                                       \
	R(FETCH, "InstrFetchStall")                                                                \
	R(OTHER, "OtherStall")                                                                     \
	R(TDR, "PSDepStall")

enum af_xe_reason {
#define AF_R(NAME, name) AF_XE_##NAME,
	AF_XE_REASONS(AF_R)
#undef AF_R
	    AF_XE_NR_REASONS
};

/* The sum of all rows of an address. Counts that the layout lacks are 0. */
struct af_xe_row {
	uint64_t address; /* in bytes; but for AF_XE_XE3P its low 32 bits */
	uint32_t counts[AF_XE_NR_REASONS];
};

/*
 * The layout of the rows of a GPU whose GRAPHICS version is @major.@minor: 12.60 and later of 12,
 * 20 to 34, from 35 on. 0: it has no EU stall sampler (xe_eu_stall_supported_on_platform()).
 */
enum af_xe_layout af_xe_layout_of(uint32_t major, uint32_t minor);

/*
 * How many of the @nr rows at @rows say that rows before them were dropped: the prelim i915 driver
 * marks these (struct prelim_drm_i915_stall_cntr_info, in bytes 48 to 51), xe does not.
 */
uint32_t af_xe_rows_marked(const uint8_t *rows, size_t nr);

struct af_xe_sum;

struct af_xe_rows {
	enum af_xe_layout layout;
	struct af_xe_sum **chunks;
	uint32_t nr_chunks, cap_chunks, nr; /* @nr: addresses */
	uint32_t *index;                    /* by hash, number of the address plus one */
	uint32_t bits;                      /* the index has 2^bits places */
	uint32_t nr_rows;                   /* that were added, but for those of address 0 */
	uint32_t zero_rows;                 /* with the address 0, which no code has */
	uint64_t zero_counts;               /* in them */
	uint64_t scatter;                   /* odd; places are the high bits of products with it */
};

/* An empty table for rows of @layout. */
void af_xe_rows_open(struct af_xe_rows *t, enum af_xe_layout layout);

/*
 * Add the whole rows at @bytes. Returns how many of the @size bytes were taken: fewer than there
 * are whole rows only if the table is full and must be emptied.
 */
size_t af_xe_rows_add(struct af_xe_rows *t, const uint8_t *bytes, size_t size);

/*
 * Add counts that somebody else decoded, or added up; no rows may be in the table then. False: its
 * sums would not fit, and it must be emptied first.
 */
bool af_xe_rows_put(struct af_xe_rows *t, const struct af_xe_row *row);

/* The sum of the rows of address number @i < t->nr. */
void af_xe_rows_at(const struct af_xe_rows *t, uint32_t i, struct af_xe_row *out);

/* For how many more rows there is room, whatever their addresses are. */
uint32_t af_xe_rows_room(const struct af_xe_rows *t);

/* Forget all rows; the memory stays. */
void af_xe_rows_empty(struct af_xe_rows *t);

/* Bytes of memory that the table has. */
size_t af_xe_rows_bytes(const struct af_xe_rows *t);

/* Free what the table has. A zeroed struct is fine. */
void af_xe_rows_free(struct af_xe_rows *t);

#endif
