/*
 * The cost of calls of APIs by their use: a typed result, the table `usage`, with a row for each
 * use, function and caller. The pass is af_pass_usage (analyse/pass/pass.h).
 */
#ifndef AF_ANALYSE_USAGE_USAGE_H
#define AF_ANALYSE_USAGE_USAGE_H

#include "analyse/table/table.h"

/* U(NAME, word for programs, what people read) */
#define AF_USAGES(U)                                                                               \
	U(PAGEABLE, "pageable-copies", "copy of pageable memory")                                  \
	U(HOST_COPY, "host-copies", "copy of host memory that waits")                              \
	U(ALLOCATING, "steady-allocations", "memory in the steady part")                           \
	U(LOADING, "late-loading", "code loaded in the steady part")                               \
	U(NEEDLESS, "needless-waits", "wait with nothing to wait for")                             \
	U(WAIT_EACH, "waits-each", "wait after each piece of work")                                \
	U(POLLING, "polling", "queries in a loop")                                                 \
	U(TINY, "tiny-messages", "messages below 1 kB")                                            \
	U(MPI_WAIT, "mpi-waits", "wait in MPI")                                                    \
	U(MAPPING, "repeated-mappings", "the same memory mapped again")                            \
	U(IMBALANCE, "barrier-waits", "wait at the barriers of a parallel region")

enum af_usage_kind {
#define AF_U(NAME, word, text) AF_USAGE_##NAME,
	AF_USAGES(AF_U)
#undef AF_U
	    AF_USAGE_KINDS
};

enum {
	AF_USAGE_TINY_BYTES = 1024, /* a message of less is tiny */
	AF_USAGE_LOOP_LEAST = 16,   /* queries in a row: fewer are no loop */
	AF_USAGE_MANY = 32 /* waits, messages from a thread to one peer, or copies of one address */
};

#define AF_USAGE_COLUMNS(C)                                                                        \
	C(kind, "Kind", AF_CELL_TEXT, AF_SHOW_NEVER,                                               \
	  .merge = AF_MERGE_KEY) /* a word of AF_USAGES */                                         \
	C(use, "Use", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                         \
	C(function, "Function", AF_CELL_TEXT,                                                      \
	  .merge = AF_MERGE_KEY) /* the runtime's, where the call path has it */                   \
	C(driver, "Driver", AF_CELL_TEXT, AF_SHOW_USED, .merge = AF_MERGE_KEY)                     \
	C(caller, "Called by", AF_CELL_TEXT, AF_SHOW_USED, .merge = AF_MERGE_KEY)                  \
	C(caller_kind, "Kind of caller", AF_CELL_TEXT, AF_SHOW_NEVER, .merge = AF_MERGE_KEY)       \
	C(time_ns, "Time", AF_CELL_NS)                                                             \
	C(calls, "Calls", AF_CELL_COUNT)                                                           \
	C(of_calls, "Of", AF_CELL_COUNT, AF_SHOW_USED) /* calls that might have been such */       \
	C(bytes, "Bytes", AF_CELL_BYTES, AF_SHOW_USED)                                             \
	C(loops, "Loops", AF_CELL_COUNT, AF_SHOW_USED)                                             \
	C(lasted_ns, "Loops lasted", AF_CELL_NS, AF_SHOW_USED)                                     \
	C(steps, "Steps", AF_CELL_COUNT, AF_SHOW_USED) /* of the steady part; 0: not known */      \
	C(peers, "Peers", AF_CELL_COUNT, AF_SHOW_USED) /* pairs of a thread and a rank */          \
	C(threads, "Threads", AF_CELL_COUNT)                                                       \
	C(span_ns, "Time of these threads", AF_CELL_NS,                                            \
	  AF_SHOW_NEVER) /* in the run, its part or the region */
struct af_usage_row {
	AF_USAGE_COLUMNS(AF_ROW_CELL)
};

/* The word of a kind, for programs; a constant. */
const char *af_usage_word(enum af_usage_kind kind);

#endif
