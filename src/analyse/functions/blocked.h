/*
 * Finds the frame of an off-CPU path that tells what the thread waited for.
 */
#ifndef AF_ANALYSE_FUNCTIONS_BLOCKED_H
#define AF_ANALYSE_FUNCTIONS_BLOCKED_H

#include <stdint.h>

#include "analyse/table/table.h"
#include "analyse/tree/tree.h"

/* A row of the table "thread_waits": where a thread waited longest. */
#define AF_THREAD_WAIT_COLUMNS(C)                                                                  \
	C(thread, "Thread", AF_CELL_TEXT)                                                          \
	C(blocked_ns, "Blocked", AF_CELL_NS)                                                       \
	C(waited_in, "Waited in", AF_CELL_TEXT)                                                    \
	C(kernel, "Kernel", AF_CELL_TEXT)                                                          \
	C(time_ns, "Time", AF_CELL_NS)                                                             \
	C(waits, "Waits", AF_CELL_COUNT)                                                           \
	C(longest_ns, "Longest", AF_CELL_NS)                                                       \
	C(kind, "Kind", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(tid, "Tid", AF_CELL_COUNT, AF_SHOW_NEVER)                                                \
	C(ordinal, "Ordinal", AF_CELL_COUNT, AF_SHOW_NEVER)
struct af_thread_wait_row {
	AF_THREAD_WAIT_COLUMNS(AF_ROW_CELL)
};

/*
 * The function of the program that waited: from @node, the end of an off-CPU path, towards the
 * root. 0 when the path has none (a kernel thread, or the process that ended a wait).
 */
uint32_t af_blocked_user(const struct af_tree *t, uint32_t node);

/*
 * The kernel's function that decided to wait: the innermost that does not belong to the scheduler.
 * 0: none.
 */
uint32_t af_blocked_kernel(const struct af_tree *t, uint32_t node);

#endif
