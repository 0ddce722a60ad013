/*
 * Watches the code that JIT compilers make in recorded processes: copies of their perf maps and of
 * the ELF files in GDB's JIT interface go into the recorder's stream and the trace's objects, with
 * the times at which they were first seen. One thread.
 *
 *	{ af_jit_watch_poll }* → af_jit_watch_end → … → af_jit_watch_close
 */
#ifndef AF_COLLECT_JIT_WATCH_H
#define AF_COLLECT_JIT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keys.h"
#include "base/map.h"

struct af_stream;
struct jit_watched;

/* A zeroed struct watches nothing. */
struct af_jit_watch {
	struct jit_watched *list;
	uint32_t nr, cap;
	struct af_map by_process;
	struct af_keys by_file; /* device and inode → where the descriptor is: descriptor.c */
	struct jit_file *files;
	uint32_t nr_files, cap_files;
	uint64_t map_bytes, image_bytes; /* copied so far */
	bool is_full;                    /* of one of those no more is copied */
};

/* Where to write. */
struct af_jit_trace {
	struct af_stream *stream;
	int dir_fd; /* of the trace */
};

/*
 * A process: its ordinal, its id here and in its own namespace, and when it was first known
 * (CLOCK_MONOTONIC): a map that is older is of another process.
 */
struct af_jit_process {
	uint32_t process;
	int pid;
	uint32_t own_pid;
	uint64_t since_ns;
};

/* Copy what is new of @p, at CLOCK_MONOTONIC @now_ns. Some 10 us where there is nothing. */
void af_jit_watch_poll(struct af_jit_watch *w, const struct af_jit_trace *trace,
                       const struct af_jit_process *p, uint64_t now_ns);

/* The process has ended: copy what it wrote last into a map that is open, and forget it. */
void af_jit_watch_end(struct af_jit_watch *w, const struct af_jit_trace *trace, uint32_t process,
                      uint64_t now_ns);
void af_jit_watch_close(struct af_jit_watch *w);

#endif
