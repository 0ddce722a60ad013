/*
 * Where the symbols of a kernel are that ran elsewhere or before: this kernel's own table when it
 * is the same kernel, or the copy that perf keeps of those it has recorded
 * (tools/perf/Documentation/perf-buildid-cache.txt).
 */
#ifndef AF_SYM_RESOLVE_KERNEL_TABLE_H
#define AF_SYM_RESOLVE_KERNEL_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct af_kernel_table {
	char path[PATH_MAX]; /* as /proc/kallsyms */
	uint64_t shift; /* a kernel is loaded elsewhere at each boot: to be added to the table's */
};

/*
 * The table of the kernel with this @build_id (hexadecimal) where @symbol, _text or the like, was
 * at @address. False: there is none that this process may read.
 */
bool af_kernel_table(struct af_kernel_table *t, const char *build_id, const char *symbol,
                     uint64_t address);

#endif
