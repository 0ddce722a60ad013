/*
 * Stacks of the calling thread, from inside the process, without frame pointers.
 *
 * Unwinding reads, on demand, the call frame information that the linker left mapped (.eh_frame
 * through the binary search table of .eh_frame_hdr: Linux Standard Base 5.0 core, 10.6; DWARF 5,
 * section 6.4), and keeps a cache from program counter to rule. Code without a table (JIT code,
 * gaps, anonymous memory) gets a checked frame-pointer step.
 *
 * Replay: a walk is a function of the registers and of the stack slots that it read. The slots and
 * values of the last walks of a (pc, sp) are kept. When all slots still hold the same values, the
 * stack is the same, by induction over the frames, and its id is reused without walking.
 *
 * All memory of an unwinder is one block of af_unwinder_size() bytes that the caller maps; nothing
 * is allocated later. It takes no lock, calls neither dl_iterate_phdr nor any libc function that is
 * not async-signal-safe, and causes no fault: the kernel is asked about memory before its first
 * read. Call af_modules_init() first. One thread uses an unwinder at a time. A signal handler of
 * that thread may walk in the middle of a walk or a record (the same thread never sees a cache
 * entry torn), but must not replay.
 */
#ifndef AF_INJECT_WALK_UNWIND_H
#define AF_INJECT_WALK_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/arch/regs.h"
#include "trace/layout.h"

enum {
	AF_STACK_MAX = 512, /* frames; of deeper stacks both ends are kept: ends.h */
};

struct af_unwinder;

/* Bytes of a struct af_unwinder, for the caller to allocate. */
size_t af_unwinder_size(void);

/*
 * Prepare a zeroed block (mmap it with MAP_NORESERVE: only the part that is used is touched, 64 KiB
 * for rules, 32 KiB and about 0.5 KiB a stack for replay). Call it again when another thread takes
 * the block over: caches stay valid, knowledge of the old thread's stack does not.
 */
void af_unwinder_init(struct af_unwinder *u);

/* Forget all remembered stacks: their ids have no meaning any more. */
void af_unwind_forget_stacks(struct af_unwinder *u);

/*
 * Walk from @regs. Writes at most @max addresses to @pcs, leaf first: interrupted frames as they
 * are (regs->pc, and frames below a signal), return addresses less one. *@stop is why the walk
 * ended. @leaf is true when regs->pc is where the thread was interrupted, false when it is a return
 * address (a hook's caller), which is then less one too. Returns the number of entries. A stack of
 * more than @max frames keeps both its ends, with AF_LEFT_OUT between them; AF_STOP_TOO_DEEP means
 * that even AF_WALK_MOST frames were not all of it.
 */
unsigned af_unwind_walk(struct af_unwinder *u, const struct af_regs *regs, bool leaf, uint64_t *pcs,
                        unsigned max, enum af_stop *stop);

/* The id remembered for exactly this stack, or 0. */
uint32_t af_unwind_replay(struct af_unwinder *u, const struct af_regs *regs);

/*
 * Walk as af_unwind_walk(leaf = false) does and remember the slots that were read. The caller then
 * gives the stack its id by af_unwind_remember(). A stack that cannot be replayed (too deep,
 * unreadable) is walked all the same, and remember() does nothing.
 */
unsigned af_unwind_record(struct af_unwinder *u, const struct af_regs *regs, uint64_t *pcs,
                          unsigned max, enum af_stop *stop);
void af_unwind_remember(struct af_unwinder *u, uint32_t id);

/*
 * Modules were unloaded: rules and stacks of every unwinder of the process are stale. Any thread.
 */
void af_unwind_forget(void);

#endif
