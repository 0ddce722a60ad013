/*
 * Rows of the tables that this room makes: each member is a cell, and its name the key of its
 * column.
 */
#ifndef AF_ANALYSE_IDLE_ROWS_H
#define AF_ANALYSE_IDLE_ROWS_H

#include "analyse/idle/verdict.h"
#include "analyse/table/table.h"

#define AF_GPU_COLUMNS(C)                                                                          \
	C(gpu, "GPU", AF_CELL_TEXT)                                                                \
	C(processes, "Processes", AF_CELL_COUNT, .merge = AF_MERGE_MAX)                            \
	C(busy_ns, "Busy", AF_CELL_NS)                                                             \
	C(busy_percent, "Of the run", AF_CELL_PERCENT, .merge = AF_MERGE_PART, .of = "busy_ns")    \
	C(kernels_ns, "Kernels", AF_CELL_NS)                                                       \
	C(works, "Pieces of work", AF_CELL_COUNT)                                                  \
	C(uuid, "UUID", AF_CELL_TEXT, .merge = AF_MERGE_KEY)
struct af_gpu_row {
	AF_GPU_COLUMNS(AF_ROW_CELL)
};

#define AF_IDLE_SHARE_COLUMN(C, NAME, key, title, text)                                            \
	C(key##_percent, title, AF_CELL_PERCENT, AF_SHOW_USED, .merge = AF_MERGE_MEAN,             \
	  .of = "span_ns")
#define AF_IDLE_COLUMNS(C)                                                                         \
	C(device, "Device", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(verdict, "Verdict", AF_CELL_TEXT)                                                        \
	C(span_ns, "Span", AF_CELL_NS)                                                             \
	AF_IDLE_SHARES(AF_IDLE_SHARE_COLUMN, C)                                                    \
	C(sampled_percent, "By samples", AF_CELL_PERCENT, AF_SHOW_USED, .merge = AF_MERGE_MEAN,    \
	  .of = "idle_ns")                                                                         \
	C(gaps, "Gaps", AF_CELL_COUNT)                                                             \
	C(longest_ns, "Longest", AF_CELL_NS)                                                       \
	C(idle_ns, "Idle", AF_CELL_NS, AF_SHOW_NEVER)                                              \
	C(before_ns, "Before", AF_CELL_NS)                                                         \
	C(after_ns, "After", AF_CELL_NS)                                                           \
	C(copies_ns, "Copies alone", AF_CELL_NS, AF_SHOW_NEVER)                                    \
	C(is_gpu, "GPU", AF_CELL_COUNT, AF_SHOW_NEVER,                                             \
	  .merge = AF_MERGE_SAME) /* 1, or 0 for other devices */
struct af_idle_row {
	AF_IDLE_COLUMNS(AF_ROW_CELL)
};

/*
 * Set the verdicts of the table `idle` of @f anew from its shares, as after several were merged,
 * and add the table `verdict`, a line for each device.
 */
void af_idle_verdicts(struct af_tables *f);

#define AF_GAP_COLUMNS(C)                                                                          \
	C(at_ns, "At", AF_CELL_NS)                                                                 \
	C(length_ns, "Length", AF_CELL_NS)                                                         \
	C(ended_by, "Ended by", AF_CELL_TEXT)                                                      \
	C(why_percent, "Why share", AF_CELL_PERCENT, AF_SHOW_NEVER)                                \
	C(why, "Why", AF_CELL_TEXT)                                                                \
	C(where, "Where", AF_CELL_TEXT)                                                            \
	C(second_why, "And", AF_CELL_TEXT, AF_SHOW_USED)                                           \
	C(second_where, "Where", AF_CELL_TEXT, AF_SHOW_USED)                                       \
	C(after_wait, "After a wait", AF_CELL_TEXT, AF_SHOW_USED)                                  \
	C(thread, "Thread", AF_CELL_TEXT)                                                          \
	C(device, "Device", AF_CELL_TEXT)
struct af_gap_row {
	AF_GAP_COLUMNS(AF_ROW_CELL)
};

#endif
