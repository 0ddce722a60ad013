/* Shared by the files of this room. */
#ifndef AF_INJECT_PROBE_PRIVATE_H
#define AF_INJECT_PROBE_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/write/probes.h"

/* The stack at a probe, as entry.c leaves it. */
struct probe_frame {
	/* r11 to r8, rdi, rsi, rdx, rcx, rbx, rax. With PROBE_RED r15 to r12 are before them. */
	uint64_t registers[10];
	uint64_t fp, flags; /* of the caller */
	uint64_t back;      /* in the stub */
	uint64_t number;    /* of the probe; PROBE_LOADS: of ld.so, when it has loaded something */
	uint64_t ra;        /* where the function returns to; PROBE_RED: any bytes */
			    /* The caller's stack pointer after that is behind it. */
};

/*
 * At an exit that the function may go on behind, its stack is left alone for so many bytes (the red
 * zone, System V ABI for AMD64, 3.2.2), and the frame's @ra is there.
 */
enum { PROBE_RED = 128 };

enum { PROBE_LOADS = 0x7fffffff };

/* False where this machine cannot keep all registers. */
bool probe_entry_prepare(void);

/* The code that stubs call; the second where the function may go on. */
void probe_entry(void);
void probe_entry_red(void);

/* Called by it. */
void probe_hit(const struct probe_frame *frame);

/* Is @p, an exit, one behind which the function may go on? */
static inline bool probe_is_red(const struct af_probe *p)
{
	return p->is_exit && p->how != AF_EXIT_ALWAYS;
}

/*
 * Calls under way that are timed, of the calling thread in the process @process: each has its place
 * on the stack, @sp, where the return address lies. _open: false when there is no room for one
 * more. _close: when it began, and it is no longer one; 0: none of function @number is there.
 */
bool probe_call_open(uint32_t process, uint64_t sp, uint32_t number, uint64_t now_ns);
uint64_t probe_call_close(uint32_t process, uint64_t sp, uint32_t number);

/* The thread has none any more. */
void probe_calls_end(void);

/* Does the exit @p leave its function now? @frame: as probe_hit() has it. */
bool probe_leaves(const struct af_probe *p, const struct probe_frame *frame);

/* Place @probes, @nr of them, now and in what is loaded later. */
void probe_patch_start(const struct af_probe *probes, uint32_t nr);

/* In what is there now. */
void probe_patch_modules(void);

/* Where the function @number lies. */
uint64_t probe_address(uint64_t number);

/* How much higher than in its file the code of function @number lies. */
uint64_t probe_bias(uint64_t number);

#endif
