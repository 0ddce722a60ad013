/*
 * Names of code that a run-time compiler made, from the map it writes for perf
 * (linux/tools/perf/Documentation/jit-interface.txt): lines of START SIZE NAME in hexadecimal.
 * Where lines overlap the last one holds: the code was replaced.
 *
 *	af_jit_open → { af_jit_find }* → af_jit_close
 */
#ifndef AF_SYM_JIT_H
#define AF_SYM_JIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sym/ranges.h"

struct af_jit {
	char *text; /* the file, names NUL-terminated in place */
	struct af_jit_entry {
		uint64_t start;
		const char *name;
	} * entries;
	uint32_t nr, cap;
	struct af_ranges ranges;
};

/* Whose maps are believed, and how old they may be. */
struct af_jit_trust {
	uid_t owners[3];
	uint32_t nr_owners;
	uint64_t not_before_ns; /* of the epoch: an older map is of another process with this id */
};

/*
 * Read the map at @path. -EPERM when the file is not @trust's, -ESTALE when it is too old, -EFBIG
 * beyond 256 MiB; symbolic links and what is no file are refused. On failure *@j is empty.
 */
int af_jit_open(struct af_jit *j, const char *path, const struct af_jit_trust *trust);
void af_jit_close(struct af_jit *j);

/* The code at run-time address @address, or NULL. */
const struct af_jit_entry *af_jit_find(const struct af_jit *j, uint64_t address);

#endif
