/*
 * Rows of the tables that passes of this room make: each member is a cell, and its name the key of
 * its column.
 */
#ifndef AF_ANALYSE_PASSES_ROWS_H
#define AF_ANALYSE_PASSES_ROWS_H

#include "analyse/table/table.h"

/* The phase of a run in which it repeats itself. */
#define AF_PHASE_STEADY "steady"

#define AF_PHASE_COLUMNS(C)                                                                        \
	C(phase, "Phase", AF_CELL_TEXT, .merge = AF_MERGE_KEY) /* start, warm-up, steady, end */   \
	C(from_ns, "From", AF_CELL_NS, .merge = AF_MERGE_MIN)  /* as --from and --to count */      \
	C(to_ns, "To", AF_CELL_NS, .merge = AF_MERGE_MAX)                                          \
	C(length_ns, "Length", AF_CELL_NS)                                                         \
	C(steps, "Steps", AF_CELL_COUNT)                                                           \
	C(step_ns, "A step, on average", AF_CELL_NS, .merge = AF_MERGE_MEAN, .of = "steps")
struct af_phase_row {
	AF_PHASE_COLUMNS(AF_ROW_CELL)
};

/* Steps are counted from 1. */
#define AF_SLOW_STEP_COLUMNS(C)                                                                    \
	C(step, "Step", AF_CELL_COUNT)                                                             \
	C(length_ns, "Length", AF_CELL_NS)                                                         \
	C(of_median, "Of the median", AF_CELL_PERCENT)                                             \
	C(from_ns, "From", AF_CELL_NS) /* as --from and --to count */                              \
	C(to_ns, "To", AF_CELL_NS)
struct af_slow_step_row {
	AF_SLOW_STEP_COLUMNS(AF_ROW_CELL)
};

#define AF_MEMORY_COLUMNS(C)                                                                       \
	C(device, "Device", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(memory, "Memory", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(peak_bytes, "Peak", AF_CELL_BYTES)                                                       \
	C(end_bytes, "At the end", AF_CELL_BYTES)                                                  \
	C(allocated_bytes, "Allocated", AF_CELL_BYTES)                                             \
	C(allocations, "Allocations", AF_CELL_COUNT)                                               \
	C(frees, "Freed", AF_CELL_COUNT)                                                           \
	C(process, "Process", AF_CELL_TEXT)
struct af_memory_row {
	AF_MEMORY_COLUMNS(AF_ROW_CELL)
};

#define AF_CALL_COLUMNS(C)                                                                         \
	C(function, "Function", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                               \
	C(time_ns, "Time", AF_CELL_NS)                                                             \
	C(share, "Share", AF_CELL_PERCENT)                                                         \
	C(calls, "Calls", AF_CELL_COUNT)                                                           \
	C(mean_ns, "Mean", AF_CELL_NS)                                                             \
	C(max_ns, "Max", AF_CELL_NS)                                                               \
	C(failed, "Failed", AF_CELL_COUNT, AF_SHOW_USED)                                           \
	C(category, "To", AF_CELL_TEXT)                                                            \
	C(category_number, "Category", AF_CELL_COUNT, AF_SHOW_NEVER,                               \
	  .merge = AF_MERGE_SAME) /* enum af_call_category */
struct af_call_row {
	AF_CALL_COLUMNS(AF_ROW_CELL)
};

#define AF_OVERHEAD_COLUMNS(C)                                                                     \
	C(what, "What", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                       \
	C(time_ns, "Time", AF_CELL_NS)                                                             \
	C(count, "Times", AF_CELL_COUNT)
struct af_overhead_row {
	AF_OVERHEAD_COLUMNS(AF_ROW_CELL)
};

#define AF_KERNEL_COLUMNS(C)                                                                       \
	C(kernel, "Kernel", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(time_ns, "Time", AF_CELL_NS)                                                             \
	C(share, "Share", AF_CELL_PERCENT)                                                         \
	C(calls, "Calls", AF_CELL_COUNT)                                                           \
	C(mean_ns, "Mean", AF_CELL_NS)                                                             \
	C(min_ns, "Min", AF_CELL_NS)                                                               \
	C(max_ns, "Max", AF_CELL_NS)                                                               \
	C(queued_ns, "Queued", AF_CELL_NS)                                                         \
	C(registers, "Registers", AF_CELL_COUNT, AF_SHOW_USED, .merge = AF_MERGE_SAME)             \
	C(shared_bytes, "Shared", AF_CELL_BYTES, AF_SHOW_USED, .merge = AF_MERGE_SAME)             \
	C(grid, "Grid", AF_CELL_TEXT, AF_SHOW_USED)                                                \
	C(block, "Block", AF_CELL_TEXT, AF_SHOW_USED)                                              \
	C(device, "Device", AF_CELL_TEXT)                                                          \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_NEVER)                                         \
	C(samples, "Samples", AF_CELL_COUNT, AF_SHOW_USED)                                         \
	C(exact_percent, "Exact", AF_CELL_PERCENT, AF_SHOW_NEVER, .merge = AF_MERGE_MEAN,          \
	  .of = "samples")                                                                         \
	C(stall, "Stalled most by", AF_CELL_TEXT, AF_SHOW_USED)                                    \
	C(small_ns, "Time of small grids", AF_CELL_NS, AF_SHOW_NEVER) /* blocks < processors */    \
	C(small_blocks, "Blocks of small grids, most", AF_CELL_COUNT, AF_SHOW_NEVER,               \
	  .merge = AF_MERGE_MAX)                                                                   \
	C(processors, "Multiprocessors", AF_CELL_COUNT, AF_SHOW_NEVER, .merge = AF_MERGE_SAME)
struct af_kernel_row {
	AF_KERNEL_COLUMNS(AF_ROW_CELL)
};

#define AF_COPY_COLUMNS(C)                                                                         \
	C(operation, "Operation", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                             \
	C(time_ns, "Time", AF_CELL_NS)                                                             \
	C(calls, "Calls", AF_CELL_COUNT)                                                           \
	C(bytes, "Bytes", AF_CELL_BYTES)                                                           \
	C(bytes_per_s, "Per second", AF_CELL_BYTES)                                                \
	C(device, "Device", AF_CELL_TEXT)                                                          \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_NEVER)                                         \
	C(op, "Op", AF_CELL_COUNT, AF_SHOW_NEVER, .merge = AF_MERGE_SAME) /* enum af_op */
struct af_copy_row {
	AF_COPY_COLUMNS(AF_ROW_CELL)
};

#define AF_DEVICE_COLUMNS(C)                                                                       \
	C(device, "Device", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(busy_ns, "Busy", AF_CELL_NS)                                                             \
	C(busy_percent, "Of the run", AF_CELL_PERCENT, .merge = AF_MERGE_PART, .of = "busy_ns")    \
	C(work_ns, "Added up", AF_CELL_NS)                                                         \
	C(works, "Pieces of work", AF_CELL_COUNT)                                                  \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_USED)                                          \
	C(driver, "Driver", AF_CELL_TEXT)
struct af_device_row {
	AF_DEVICE_COLUMNS(AF_ROW_CELL)
};

#define AF_SAMPLED_COLUMNS(C)                                                                      \
	C(device, "Device", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(samples, "Samples", AF_CELL_COUNT)                                                       \
	C(exact_percent, "Exact", AF_CELL_PERCENT, .merge = AF_MERGE_MEAN, .of = "samples")        \
	C(apportioned_percent, "Apportioned", AF_CELL_PERCENT, .merge = AF_MERGE_MEAN,             \
	  .of = "samples")                                                                         \
	C(no_kernel_percent, "No kernel", AF_CELL_PERCENT, .merge = AF_MERGE_MEAN,                 \
	  .of = "samples")                                                                         \
	C(by_launches, "By launches", AF_CELL_COUNT, AF_SHOW_USED)                                 \
	C(shared, "At shared addresses", AF_CELL_COUNT, AF_SHOW_USED)                              \
	C(dropped, "Dropped", AF_CELL_COUNT, AF_SHOW_USED)                                         \
	C(driver, "Driver's own", AF_CELL_COUNT, AF_SHOW_USED)                                     \
	C(lost, "Lost", AF_CELL_COUNT, AF_SHOW_USED)                                               \
	C(period_cycles, "Period", AF_CELL_COUNT, AF_SHOW_USED, .merge = AF_MERGE_SAME)            \
	C(windows, "Windows", AF_CELL_COUNT, AF_SHOW_USED)                                         \
	C(full_windows, "Full", AF_CELL_COUNT, AF_SHOW_USED)                                       \
	C(cut_windows, "Of cut windows", AF_CELL_COUNT, AF_SHOW_USED)                              \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_NEVER)
struct af_sampled_row {
	AF_SAMPLED_COLUMNS(AF_ROW_CELL)
};

#define AF_PROCESS_COLUMNS(C, group_show)                                                          \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_ALWAYS)                                        \
	C(rank, "Rank", AF_CELL_TEXT, AF_SHOW_USED)                                                \
	C(user_ns, "User", AF_CELL_NS, AF_SHOW_ALWAYS)                                             \
	C(kernel_ns, "Kernel", AF_CELL_NS, AF_SHOW_ALWAYS)                                         \
	C(sampled_ns, "Sampled", AF_CELL_NS, AF_SHOW_ALWAYS)                                       \
	C(sampled_kernel_ns, "In the kernel", AF_CELL_NS, AF_SHOW_USED)                            \
	C(blocked_ns, "Blocked", AF_CELL_NS, AF_SHOW_USED)                                         \
	C(runnable_ns, "Waiting for CPU", AF_CELL_NS, AF_SHOW_USED)                                \
	C(peak_bytes, "Peak memory", AF_CELL_BYTES, AF_SHOW_ALWAYS)                                \
	C(status, "Status", AF_CELL_TEXT, AF_SHOW_USED)                                            \
	C(group, "Group", AF_CELL_TEXT, group_show)                                                \
	C(measured, "Measured", AF_CELL_TEXT, AF_SHOW_ALWAYS)                                      \
	C(name, "Name", AF_CELL_TEXT, AF_SHOW_NEVER, .merge = AF_MERGE_KEY)                        \
	C(pid, "Pid", AF_CELL_COUNT, AF_SHOW_NEVER)                                                \
	C(ordinal, "Ordinal", AF_CELL_COUNT, AF_SHOW_NEVER)                                        \
	C(parent, "Parent", AF_CELL_COUNT, AF_SHOW_NEVER)                                          \
	C(count, "Count", AF_CELL_COUNT, AF_SHOW_NEVER)                                            \
	C(command, "Command", AF_CELL_TEXT, AF_SHOW_NEVER)                                         \
	C(container, "Container", AF_CELL_TEXT, AF_SHOW_NEVER)                                     \
	C(cgroup, "Control group", AF_CELL_TEXT, AF_SHOW_NEVER)
struct af_process_row {
	AF_PROCESS_COLUMNS(AF_ROW_CELL, 0)
};

#define AF_THREAD_COLUMNS(C)                                                                       \
	C(thread, "Thread", AF_CELL_TEXT, AF_SHOW_ALWAYS)                                          \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_ALWAYS)                                        \
	C(sampled_ns, "Sampled", AF_CELL_NS, AF_SHOW_ALWAYS)                                       \
	C(sampled_kernel_ns, "In the kernel", AF_CELL_NS, AF_SHOW_USED)                            \
	C(blocked_ns, "Blocked", AF_CELL_NS, AF_SHOW_USED)                                         \
	C(runnable_ns, "Waiting for CPU", AF_CELL_NS, AF_SHOW_USED)                                \
	C(waits, "Waits", AF_CELL_COUNT, AF_SHOW_USED)                                             \
	C(name, "Name", AF_CELL_TEXT, AF_SHOW_NEVER, .merge = AF_MERGE_KEY)                        \
	C(tid, "Tid", AF_CELL_COUNT, AF_SHOW_NEVER)                                                \
	C(ordinal, "Ordinal", AF_CELL_COUNT, AF_SHOW_NEVER)
struct af_thread_row {
	AF_THREAD_COLUMNS(AF_ROW_CELL)
};

#define AF_TWICE_COLUMNS(C)                                                                        \
	C(seen, "Seen", AF_CELL_COUNT)                                                             \
	C(not_recorded, "Not recorded", AF_CELL_COUNT)
struct af_twice_row {
	AF_TWICE_COLUMNS(AF_ROW_CELL)
};

#define AF_SEEN_COLUMNS(C)                                                                         \
	C(function, "Function", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                               \
	C(category, "Does", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(calls, "Calls", AF_CELL_COUNT)                                                           \
	C(process, "Process", AF_CELL_TEXT)                                                        \
	C(pid, "PID", AF_CELL_COUNT)
struct af_seen_row {
	AF_SEEN_COLUMNS(AF_ROW_CELL)
};

#define AF_PROBED_COLUMNS(C)                                                                       \
	C(function, "Function", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                               \
	C(calls, "Calls", AF_CELL_COUNT)                                                           \
	C(timed, "Timed", AF_CELL_COUNT, AF_SHOW_USED)                                             \
	C(time_ns, "Time", AF_CELL_NS, AF_SHOW_USED)                                               \
	C(mean_ns, "Mean", AF_CELL_NS, AF_SHOW_USED)                                               \
	C(max_ns, "Longest", AF_CELL_NS, AF_SHOW_USED)                                             \
	C(process, "Process", AF_CELL_TEXT)                                                        \
	C(pid, "PID", AF_CELL_COUNT)
struct af_probed_row {
	AF_PROBED_COLUMNS(AF_ROW_CELL)
};

#define AF_LOST_COLUMNS(C)                                                                         \
	C(what, "What", AF_CELL_TEXT)                                                              \
	C(count, "Count", AF_CELL_COUNT)                                                           \
	C(key, "Key", AF_CELL_TEXT, AF_SHOW_NEVER,                                                 \
	  .merge = AF_MERGE_KEY) /* for programs, never changed */
/* The keys of rows that are shares of samples begin so. */
#define AF_LOST_STACKS "stacks_"
struct af_lost_row {
	AF_LOST_COLUMNS(AF_ROW_CELL)
};

struct af_stack_losses;

/* Add the rows of @t, the table `lost`, that are shares of samples. */
void af_lost_stacks(struct af_tables *f, struct af_table *t, const struct af_stack_losses *lost);

struct af_cost;

/* Add the table `cost` of labelled values: of one recorder, or of all of a set together. */
void af_cost_table(struct af_tables *f, const struct af_cost *c);

#define AF_PACKAGE_COLUMNS(C)                                                                      \
	C(file, "File", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                       \
	C(package, "Package", AF_CELL_TEXT)
struct af_package_row {
	AF_PACKAGE_COLUMNS(AF_ROW_CELL)
};

#endif
