/*
 * Functions of --uprobe: the file of probes that libaflame sets in programs (trace/write/probes.h),
 * and a report of those that had no call, whoever counted the calls.
 */
#ifndef AF_COLLECT_FUNCTIONS_PROBES_H
#define AF_COLLECT_FUNCTIONS_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/write/probes.h"

/* Write @nr of @probes for the processes, into their directory. 0 or -errno. */
int af_probes_write(int shm_fd, const struct af_probe *probes, uint32_t nr);

/* Which were called, in the same order: AF_PROBES_MOST bytes. False: it cannot be read. */
bool af_probes_called(int shm_fd, uint8_t *called);

/* A function and whether it was called; those of one file follow one another. */
struct af_probed_call {
	const char *function, *file;
	bool called;
};

/*
 * A sentence on those of the first file in @all that were not called, "" where all were. Returns
 * how many of @all are of that file; @nr is not 0.
 */
uint32_t af_uncalled_words(const struct af_probed_call *all, uint32_t nr, char *words, size_t size);

#endif
