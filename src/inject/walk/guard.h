/*
 * Reads memory that may not be there, in a hook or a signal handler, without touching errno.
 *
 * Armed, a guarded read is a plain load whose fault the process's SIGSEGV and SIGBUS handler
 * repairs: a few ns. When not armed, and for a probed read, the kernel is first asked about each
 * page: about 0.2 us, and no signal. (A fault in a thread that blocks SIGSEGV ends the process. So
 * use a guarded read for memory that is there but for a race, and a probed read for memory that may
 * well not be there.)
 */
#ifndef AF_INJECT_WALK_GUARD_H
#define AF_INJECT_WALK_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/arch/arch.h"

/* Tell whether a handler that calls af_guard_fault() first is installed for SIGSEGV and SIGBUS. */
void af_guard_arm(bool armed);

extern atomic_bool af_guard_armed; /* by af_guard_arm() only */

/* Read @len bytes at an address that may be anything: 0, or -EFAULT (@dst is then undefined). */
int af_guarded_read(void *dst, uint64_t addr, size_t len);

/* The same of one word, in place: armed, a load and a branch. */
static inline int af_guarded_word(uint64_t *word, uint64_t addr);

/* The same, never by a fault: for threads that may have SIGSEGV blocked, where time allows. */
int af_probed_read(void *dst, uint64_t addr, size_t len);

/*
 * The process's SIGSEGV and SIGBUS handler calls it first, with the handler's third argument. True
 * when the fault was in a guarded read, which then returns -EFAULT.
 */
bool af_guard_fault(void *ucontext);

/* Can the page that holds @addr be read? Asks the kernel. */
bool af_guard_probe(uint64_t addr);

static inline int af_guarded_word(uint64_t *word, uint64_t addr)
{
	if (__builtin_expect(atomic_load_explicit(&af_guard_armed, memory_order_acquire), 1))
		return af_arch_guarded_word(word, addr);
	return af_probed_read(word, addr, sizeof *word);
}

#endif
