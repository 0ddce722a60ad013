/*
 * Code made at run time, from the file jit-<pid>.dump that a run-time compiler writes for perf
 * (linux/tools/perf/Documentation/jitdump-specification.txt): which code was loaded or moved where
 * and when, its name and its lines. Unlike a perf map it tells which code was at an address at a
 * given time.
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
	bool timed;       /* stamps are of CLOCK_MONOTONIC; else the last code at an address wins */
	bool lines_shift; /* addresses of lines count from an ELF header 64 bytes before the code */
	/* Code that lay in [start, end) from from_ns until till_ns; by start. */
	struct af_jitdump_code {
		uint64_t start, end, from_ns, till_ns;
		/*
		 * Over the entries of the subtree: greatest end, earliest time, latest, greatest
		 * order.
		 */
		uint64_t below, earliest, latest;
		uint32_t newest;
		uint64_t index;  /* unique name of the code in the file */
		uint64_t loaded; /* its address when its lines were written */
		uint32_t order;  /* in the file */
		uint32_t lines;  /* line table + 1, 0 for none */
		uint32_t image;  /* the caller's number of the ELF file it is of, 0 for none */
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
	uint64_t nr_skipped;   /* invalid records */
	uint64_t nr_beyond;    /* records beyond the limits */
	uint64_t nr_given_up;  /* addresses with too much code that lay over one another */
};

/*
 * Add code that is no file's to a zeroed table: @code without its order; its name is copied. False:
 * it has no bytes, or the table is full. When all is there, af_jitdump_build() makes it searchable.
 */
bool af_jitdump_add(struct af_jitdump *d, const struct af_jitdump_code *code);
void af_jitdump_build(struct af_jitdump *d);

/* The code at an address. Strings live as long as the struct af_jitdump. */
struct af_jitdump_answer {
	const char *name;
	const char *file; /* NULL when not known */
	uint32_t line;    /* 0 when not known */
	uint64_t start;   /* of the code, at the time asked for */
	uint32_t image;   /* number of the ELF file that the code is of, 0: of none */
};

/*
 * Read the dump that is open as @fd (it stays the caller's) of the process that calls itself @pid.
 * 0; -EPERM or -ESTALE as af_jit_open(); -ENOEXEC when it is not a dump of this machine and
 * process; -EFBIG beyond 2 GiB. Beyond a million records or 128 MiB of names and lines the rest is
 * left out. Its writer may still run: an incomplete last record is left out. On failure *@d is
 * empty.
 */
int af_jitdump_open(struct af_jitdump *d, int fd, uint32_t pid, const struct af_jit_trust *trust);
void af_jitdump_close(struct af_jitdump *d);

/*
 * Finds the code that was at @address at @time_ns of CLOCK_MONOTONIC; with UINT64_MAX, or when the
 * dump has other times, the last code there. False: none is known. One thread at a time.
 */
bool af_jitdump_find(struct af_jitdump *d, uint64_t address, uint64_t time_ns,
                     struct af_jitdump_answer *answer);

/*
 * Times after @after_ns at which code came to @address or left it, in no order, as far as @most of
 * them; returns their number, 0 for a dump with other times.
 */
uint32_t af_jitdump_times(const struct af_jitdump *d, uint64_t address, uint64_t after_ns,
                          uint64_t *times, uint32_t most);

#endif
