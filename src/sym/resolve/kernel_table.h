/*
 * Finds the symbols of a kernel that ran elsewhere or earlier: this kernel's own table when it is
 * the same kernel, or the copy that perf keeps of the kernels that it recorded
 * (tools/perf/Documentation/perf-buildid-cache.txt).
 */
#ifndef AF_SYM_RESOLVE_KERNEL_TABLE_H
#define AF_SYM_RESOLVE_KERNEL_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct af_kernel_table {
	char path[PATH_MAX]; /* as /proc/kallsyms */
	/* To be added to the table's addresses: each boot loads the kernel elsewhere */
	uint64_t shift;
};

/*
 * Find the table of the kernel with this @build_id (hexadecimal) in which @symbol, _text or the
 * like, was at @address. False: there is none that this process may read.
 */
bool af_kernel_table(struct af_kernel_table *t, const char *build_id, const char *symbol,
                     uint64_t address);

#endif
