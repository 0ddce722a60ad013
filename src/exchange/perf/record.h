/*
 * The contents of the kernel's records (linux/perf_event.h, struct perf_event_header and on).
 */
#ifndef AF_EXCHANGE_PERF_RECORD_H
#define AF_EXCHANGE_PERF_RECORD_H

#include "exchange/perf/file.h"

struct perf_sample {
	uint64_t ip, time_ns, period; /* period: 0 when not given */
	uint32_t pid, tid, cpu, attr;
	const uint8_t *chain; /* nr words, leaf first, with marks before each part; NULL: none */
	uint64_t nr;
	const uint8_t *registers; /* a word for each bit of the attr's; NULL: none, or of 32 bits */
	const uint8_t *stack;     /* of the process, from its stack pointer on; NULL: none */
	uint32_t stack_size;
	bool stack_cut; /* the stack was larger */
};

/* Where an instruction was: the low bits of misc. */
enum perf_mode {
	PERF_MODE_KERNEL = 1,
	PERF_MODE_USER = 2,
	PERF_MODE_MASK = 7,
};

/*
 * Marks in a call chain, which tell what kind of frames follow. All other values of that size are
 * marks too.
 */
#define PERF_CONTEXT_KERNEL UINT64_C(-128)
#define PERF_CONTEXT_USER UINT64_C(-512)
#define PERF_CONTEXT_MAX UINT64_C(-4095)

/* False: it cannot be read, or its event is not known. */
bool perf_sample_parse(const struct perf_file *f, const struct perf_record *r,
                       struct perf_sample *s);

/* The time after the end of a record; false: there is none. */
bool perf_record_time(const struct perf_file *f, const struct perf_record *r, uint64_t *time_ns);

/* MMAP and MMAP2. Strings and build-ids point into the record. */
struct perf_mmap {
	uint64_t start, size, offset;
	uint32_t pid;
	bool code, kernel;
	uint32_t build_id_len;
	const uint8_t *build_id;
	const char *path;
	size_t path_len;
};

/*
 * Parse the body of a PERF_RECORD_MMAP or MMAP2 (perf_event_open(2)). Texts point into @r. False:
 * the record is too short, or its range wraps.
 */
bool perf_mmap_parse(const struct perf_record *r, struct perf_mmap *m);

/* Kernel code made at run time: a BPF program, a trampoline. */
struct perf_ksymbol {
	uint64_t start;
	uint32_t size;
	bool gone;
	const char *name;
	size_t len;
};

/*
 * Parse the body of a PERF_RECORD_KSYMBOL. The name points into @r. False: too short, without a
 * name, or an empty range.
 */
bool perf_ksymbol_parse(const struct perf_record *r, struct perf_ksymbol *k);

struct perf_comm {
	uint32_t pid, tid;
	bool exec;
	const char *name;
	size_t len;
};

/* Parse the body of a PERF_RECORD_COMM. The name points into @r. False: too short. */
bool perf_comm_parse(const struct perf_record *r, struct perf_comm *c);

#endif
