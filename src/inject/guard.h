/*
 * Reading memory that may not be there, in a hook or a signal handler, without touching errno.
 *
 * Armed, a read is a plain load whose fault the process's SIGSEGV and SIGBUS handler repairs: a
 * few ns. Not armed, each page is first shown to the kernel: about 0.2 us, and no signal.
 */
#ifndef AF_INJECT_GUARD_H
#define AF_INJECT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A handler that calls af_guard_fault() first is installed for SIGSEGV and SIGBUS, or is gone. */
void af_guard_arm(bool armed);

/* Read @len bytes at an address that may be anything: 0, or -EFAULT (@dst is then undefined). */
int af_guarded_read(void *dst, uint64_t addr, size_t len);

/*
 * To be called first by the process's SIGSEGV and SIGBUS handler, with the handler's third
 * argument: true when the fault was a guarded read, which has been made to return -EFAULT.
 */
bool af_guard_fault(void *ucontext);

/* Can the page that holds @addr be read? Asks the kernel. */
bool af_guard_probe(uint64_t addr);

#endif
