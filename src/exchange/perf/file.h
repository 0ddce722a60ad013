/*
 * perf.data: records of the kernel (perf_event_open(2)) and of perf itself, as
 * tools/perf/Documentation/perf.data-file-format.txt and linux/perf_event.h describe them. A file
 * in this machine's byte order, with a header that locates its parts, or a pipe, where everything
 * comes as records. Every byte is hostile.
 *
 * perf record --threads writes a directory: one such file, and others that have only records.
 *
 *	perf_file_open → { perf_file_next }* → { perf_file_more → … }* → perf_file_close
 *
 * The contents of the header and of perf's own records are kept here; the other records are handed
 * out.
 */
#ifndef AF_EXCHANGE_PERF_FILE_H
#define AF_EXCHANGE_PERF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/strtab.h"

struct af_import_source;

enum { PERF_BUILD_ID_MAX = 20, PERF_ATTRS_MAX = 1 << 12 };

/* Numbers of records that this reader knows. */
enum perf_type {
	PERF_MMAP = 1,
	PERF_LOST = 2,
	PERF_COMM = 3,
	PERF_EXIT = 4,
	PERF_FORK = 7,
	PERF_SAMPLE = 9,
	PERF_MMAP2 = 10,
	PERF_LOST_SAMPLES = 13,
	PERF_KSYMBOL = 17,
	PERF_KERNEL_TYPES = 64, /* from here on they are perf's own */
	PERF_HEADER_ATTR = 64,
	PERF_TRACING_DATA = 66,
	PERF_BUILD_ID = 67,
	PERF_AUXTRACE = 71,
	PERF_EVENT_UPDATE = 78,
	PERF_HEADER_FEATURE = 80,
	PERF_COMPRESSED = 81,
	PERF_COMPRESSED2 = 83,
};

/* Fields of a sample: bits of sample_type. */
enum {
	PERF_IP = 1 << 0,
	PERF_TID = 1 << 1,
	PERF_TIME = 1 << 2,
	PERF_ADDR = 1 << 3,
	PERF_READ = 1 << 4,
	PERF_CALLCHAIN = 1 << 5,
	PERF_ID = 1 << 6,
	PERF_CPU = 1 << 7,
	PERF_PERIOD = 1 << 8,
	PERF_STREAM_ID = 1 << 9,
	PERF_RAW = 1 << 10,
	PERF_BRANCH_STACK = 1 << 11,
	PERF_REGS_USER = 1 << 12,
	PERF_STACK_USER = 1 << 13,
	PERF_IDENTIFIER = 1 << 16,
};

/* An event that was counted (struct perf_event_attr). */
struct perf_attr {
	uint32_t type, name; /* of names; 0: perf did not write it */
	uint64_t config, config1;
	uint64_t rate; /* a period, or samples a second: @by_rate */
	uint64_t sample_type, read_format, branch_type;
	uint64_t registers; /* of the process in a sample, a bit for each */
	uint32_t max_stack;
	bool by_rate, ids_in_all; /* ids behind all records */
};

struct perf_record {
	uint32_t type, misc;
	const uint8_t *body; /* after the header; valid until the next call */
	size_t size;
};

struct perf_file {
	struct perf_attr *attrs;
	uint32_t nr_attrs, cap_attrs;
	struct af_map by_id; /* of an event → attr + 1 */
	struct af_strtab names;
	struct perf_build_id {
		uint32_t path; /* of names */
		uint8_t len, id[PERF_BUILD_ID_MAX];
	} * build_ids;
	uint32_t nr_build_ids, cap_build_ids;
	uint32_t host, release, command, machine; /* of names, 0: not known */
	/* The epoch's time less the clock of the times, 0: not known */
	uint64_t epoch_ns;
	bool compressed, unfinished; /* perf was killed: the header is not filled in */
	char complaint[160];         /* describes the damage of the file, "" for none */

	/* private */
	const struct af_import_source *in;
	uint8_t *buffer, *plain;
	size_t at, end, plain_at, plain_end, plain_cap;
	uint64_t position, data_end, features;
	bool pipe, over;
	struct ZSTD_DCtx_s *zstd;
};

/* Does a perf.data begin with these bytes? */
bool perf_file_is(const void *data, size_t len);

/* False: f->complaint tells why. Close it either way. */
bool perf_file_open(struct perf_file *f, const struct af_import_source *in);
bool perf_file_next(struct perf_file *f, struct perf_record *r);

/* After the last record: go on with the next file of a directory. False: there is none. */
bool perf_file_more(struct perf_file *f);
void perf_file_close(struct perf_file *f);

/* Add the event whose perf_event_attr these bytes begin with: its index, or -1. */
int perf_attr_add(struct perf_file *f, const uint8_t *data, size_t size);

/* The size that the attr itself gives, at most @size. */
size_t perf_attr_size(const uint8_t *data, size_t size);

/* Take the ids of the event @attr. */
void perf_attr_ids(struct perf_file *f, uint32_t attr, const uint8_t *ids, size_t size);

/* The name of the event, from perf or from its configuration. */
void perf_attr_name(const struct perf_file *f, uint32_t attr, char *to, size_t size);

/* Is its period in nanoseconds of CPU time? */
bool perf_attr_is_time(const struct perf_attr *a);

/*
 * Keep what is used of a section of the header, by its number, and of the records with the same
 * content.
 */
void perf_feature(struct perf_file *f, uint32_t number, const uint8_t *data, size_t size);
void perf_feature_build_id(struct perf_file *f, const uint8_t *body, size_t size, uint32_t misc);
void perf_feature_update(struct perf_file *f, const uint8_t *body, size_t size);

static inline uint16_t perf_u16(const uint8_t *p)
{
	uint16_t v;

	__builtin_memcpy(&v, p, sizeof v);
	return v;
}

static inline uint32_t perf_u32(const uint8_t *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, sizeof v);
	return v;
}

static inline uint64_t perf_u64(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof v);
	return v;
}

#endif
