/*
 * A jitdump in the making (linux/tools/perf/Documentation/jitdump-specification.txt), in memory:
 * dump_begin → { dump_lines, dump_load, dump_move }* → dump_save. For tests of its reader.
 */
#ifndef AF_TESTS_JITDUMP_MAKER_H
#define AF_TESTS_JITDUMP_MAKER_H

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

static inline void dump_u32(struct af_buf *b, uint32_t v)
{
	af_buf_add(b, &v, sizeof v);
}

static inline void dump_u64(struct af_buf *b, uint64_t v)
{
	af_buf_add(b, &v, sizeof v);
}

static inline void dump_begin(struct af_buf *b, uint32_t pid, uint64_t flags)
{
	dump_u32(b, 0x4a695444);
	dump_u32(b, 1);
	dump_u32(b, 40);
	dump_u32(b, 62); /* x86-64 */
	dump_u32(b, 0);
	dump_u32(b, pid);
	dump_u64(b, 0);
	dump_u64(b, flags);
}

static inline void dump_prefix(struct af_buf *b, uint32_t id, size_t body, uint64_t time_ns)
{
	dump_u32(b, id);
	dump_u32(b, (uint32_t)(16 + body));
	dump_u64(b, time_ns);
}

static inline void dump_load(struct af_buf *b, uint64_t time_ns, uint64_t address, const void *code,
                             uint64_t size, uint64_t index, const char *name)
{
	dump_prefix(b, 0, 40 + strlen(name) + 1 + size, time_ns);
	dump_u64(b, 0); /* pid, tid */
	dump_u64(b, address);
	dump_u64(b, address);
	dump_u64(b, size);
	dump_u64(b, index);
	af_buf_add(b, name, strlen(name) + 1);
	af_buf_add(b, code, size);
}

static inline void dump_move(struct af_buf *b, uint64_t time_ns, uint64_t from, uint64_t to,
                             uint64_t size, uint64_t index)
{
	dump_prefix(b, 1, 48, time_ns);
	dump_u64(b, 0);
	dump_u64(b, to);
	dump_u64(b, from);
	dump_u64(b, to);
	dump_u64(b, size);
	dump_u64(b, index);
}

/* @nr lines from @first on, one every 16 bytes, the first @offset bytes into the code. */
static inline void dump_lines(struct af_buf *b, uint64_t address, uint64_t offset, const char *file,
                              uint32_t first, uint64_t nr)
{
	dump_prefix(b, 2, 16 + nr * 16 + strlen(file) + 1 + (nr - 1) * 2, 0);
	dump_u64(b, address);
	dump_u64(b, nr);
	for (uint64_t i = 0; i < nr; i++) {
		dump_u64(b, address + offset + i * 16);
		dump_u32(b, first + (uint32_t)i);
		dump_u32(b, 0);
		/* The same file again is a byte of all ones. */
		af_buf_add(b, i ? "\xff" : file, i ? 2 : strlen(file) + 1);
	}
}

/* Write it to @path; a descriptor for reading, or -1. */
static inline int dump_save(const struct af_buf *b, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd >= 0 && write(fd, b->data, b->len) != (ssize_t)b->len) {
		close(fd);
		return -1;
	}
	return fd;
}

#endif
