/*
 * Code that a run-time compiler made, from the file jit-<pid>.dump that it writes for perf
 * (linux/tools/perf/Documentation/jitdump-specification.txt): when which code was loaded or moved
 * where, its name and its lines. Unlike a perf map it tells what was at an address at what time.
 *
 *	af_jitdump_open → { af_jitdump_find }* → af_jitdump_close
 */
#ifndef AF_SYM_JIT_JITDUMP_H
#define AF_SYM_JIT_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "sym/jit/jit.h"

struct af_jitdump {
	bool timed; /* stamps are of CLOCK_MONOTONIC; else the last code at an address has it */
	bool lines_shift; /* addresses of lines count from an ELF header 64 bytes before the code */
	/* Code that lay in [start, end) from from_ns until till_ns; by start. */
	struct af_jitdump_code {
		uint64_t start, end, from_ns, till_ns;
		/* Of the entries of the subtree: greatest end, earliest time, latest, greatest
		 * order. */
		uint64_t below, earliest, latest;
		uint32_t newest;
		uint64_t index;  /* unique name of the code in the file */
		uint64_t loaded; /* where it was when its lines were told */
		uint32_t order;  /* in the file */
		uint32_t lines;  /* line table + 1, 0 for none */
		const char *name;
	} * codes;
	uint32_t nr, cap;
	struct af_jitdump_table {
		uint64_t address; /* of the code */
		uint64_t nr;      /* entries, if there are as many */
		const uint8_t *entries;
		size_t size;
	} * tables;
	uint32_t nr_tables, cap_tables;
	struct af_arena arena; /* names and lines: the writer may still change the file */
	size_t kept;           /* bytes in it */
	uint64_t nr_skipped;   /* records that cannot be */
	uint64_t nr_beyond;    /* … that were too many */
	uint64_t nr_given_up;  /* addresses with too much code that lay over one another */
};

/* What is at an address. Strings live as long as the struct af_jitdump. */
struct af_jitdump_answer {
	const char *name;
	const char *file; /* NULL when not known */
	uint32_t line;    /* 0 when not known */
	uint64_t start;   /* of the code, at the time asked for */
};

/*
 * Read the dump that is open as @fd (it stays the caller's) of the process that calls itself @pid:
 * 0; -EPERM or -ESTALE as af_jit_open(); -ENOEXEC for what is no dump of this machine and process;
 * -EFBIG beyond 2 GiB; of a million records and 128 MiB of names and lines the rest is left out.
 * Its writer may still be there: what ends inside a record is left out. On failure *@d is empty.
 */
int af_jitdump_open(struct af_jitdump *d, int fd, uint32_t pid, const struct af_jit_trust *trust);
void af_jitdump_close(struct af_jitdump *d);

/*
 * What was at @address at @time_ns of CLOCK_MONOTONIC; at UINT64_MAX, or when the dump has other
 * times, what was there last. One thread at a time.
 */
bool af_jitdump_find(struct af_jitdump *d, uint64_t address, uint64_t time_ns,
                     struct af_jitdump_answer *answer);

#endif
