/*
 * Names of code made at run time, from the map that a run-time compiler writes for perf
 * (linux/tools/perf/Documentation/jit-interface.txt): lines of START SIZE NAME in hexadecimal.
 * Where lines overlap the last one holds: the code was replaced.
 *
 *	af_jit_open_path → af_jit_open → { af_jit_find }* → af_jit_close
 */
#ifndef AF_SYM_JIT_JIT_H
#define AF_SYM_JIT_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sym/elf/ranges.h"

struct af_jit {
	char *text; /* the file, names NUL-terminated in place */
	struct af_jit_entry {
		uint64_t start;
		const char *name;
	} * entries;
	uint32_t nr, cap;
	uint64_t left_out; /* bytes at the beginning of a file that is too large */
	struct af_ranges ranges;
};

/* The users whose maps are trusted, and how old a map may be. */
struct af_jit_trust {
	uid_t owners[3];
	uint32_t nr_owners;
	uint64_t not_before_ns; /* of the epoch: an older map is of another process with this id */
	bool growing;           /* the process runs: the last line may be incomplete */
};

struct stat;

/*
 * 0, or why @trust does not hold for a file: -EINVAL when it is not a regular file, -EPERM,
 * -ESTALE.
 */
int af_jit_check(const struct stat *st, const struct af_jit_trust *trust);

/*
 * Split a line of a map, in place: its first address, its size and its name. False: it is no such
 * line.
 */
bool af_jit_line(char *line, uint64_t *start, uint64_t *size, char **name);

/* Open a map or dump: a descriptor, or -errno. A symbolic link is not followed. */
int af_jit_open_path(const char *path);

/*
 * Read the map open as @fd, which stays the caller's. -EPERM when the file is not owned by one of
 * @trust's users, -ESTALE when it is too old; only regular files are read. Of a file beyond 64 MiB
 * or a million lines the end is read, because the last line for an address holds. Its writer may
 * still run: with @trust->growing an incomplete last line is left out. On failure *@j is empty.
 */
int af_jit_open(struct af_jit *j, int fd, const struct af_jit_trust *trust);
void af_jit_close(struct af_jit *j);

/* The code at run-time address @address, or NULL. */
const struct af_jit_entry *af_jit_find(const struct af_jit *j, uint64_t address);

#endif
