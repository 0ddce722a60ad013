/*
 * Definitions in a stream: a stack, a Python stack or a call path is written once, and afterwards
 * costs only its id. Known ones are found by a 64-bit hash of their content in small tables. A full
 * table forgets the oldest, which are then defined again under a new id; readers accept that. Two
 * different stacks with equal hashes would be confused: for a million stacks the probability is
 * 10^-7. The hash uses a secret of the process (base/hash.h), so no input can cause it on purpose.
 */
#ifndef AF_INJECT_CORE_CALLPATH_H
#define AF_INJECT_CORE_CALLPATH_H

#include <stdint.h>

#include "trace/write/stream.h"

struct af_capture;
struct af_regs;
struct af_thread_context;

enum {
	AF_MEMO_WAYS = 4,
	AF_MEMO_SETS = 512,
	AF_RECENT_PATHS = 64,
	AF_RECENT_PY = 29, /* Python entries of a path that is kept whole */
};

/* hash → id, set-associative; the oldest of a set gives way. */
struct af_memo {
	uint64_t hash[AF_MEMO_SETS][AF_MEMO_WAYS];
	uint32_t id[AF_MEMO_SETS][AF_MEMO_WAYS];
};

/* The call path that a native stack was last part of, with its Python stack in full. */
struct af_recent_path {
	uint32_t stack, callpath, nr_py;
	uint64_t py[AF_RECENT_PY];
};

struct af_callpaths {
	uint32_t next_stack, next_py_stack, next_callpath; /* ids handed out so far */
	uint32_t epoch; /* module epoch in which the stacks were walked */
	struct af_memo stacks, py_stacks, paths;
	struct af_recent_path recent[AF_RECENT_PATHS]; /* by stack */
};

/* With --launches: which launches of a thread have stacks. A zeroed one is at its start. */
struct af_launch_choice {
	uint32_t left;   /* without a stack, up to the next that has one, with it; 0: not known */
	uint32_t random; /* state of a generator, 0 before the first number */
};

/* The id of the native stack in @c, defined in @s when new; 0 when it could not be written. */
uint32_t af_callpath_stack(struct af_callpaths *p, struct af_stream *s, const struct af_capture *c);

/*
 * The id of @stack under the Python stack in @c; 0 for no stack, or when it could not be written.
 */
uint32_t af_callpath_path(struct af_callpaths *p, struct af_stream *s, uint32_t stack,
                          const struct af_capture *c);

/*
 * As af_thread_callpath(), for a call of @category: of those that put work on a device, one in
 * session->launches_every has its stack, by chance. The others have one without frames, which ends
 * with AF_STOP_NOT_CHOSEN.
 */
uint32_t af_callpath_call(struct af_thread_context *t, const struct af_regs *regs,
                          enum af_call_category category);

/* Forget all definitions: ids are given from 1 again. */
void af_callpath_forget(struct af_callpaths *p);

/*
 * In a forked child: start over, because mappings and code objects are defined once for each
 * process.
 */
void af_callpath_after_fork(void);

#endif
