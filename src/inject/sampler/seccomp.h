/*
 * A program may put a filter on its own system calls (seccomp(2)) that ends it for each call that
 * it does not make itself. These functions run the filter beforehand, to learn whether it allows
 * what recording needs.
 */
#ifndef AF_INJECT_SAMPLER_SECCOMP_H
#define AF_INJECT_SAMPLER_SECCOMP_H

#include <stdbool.h>
#include <stdint.h>

struct sock_fprog;

/*
 * The result of filter @p (classic BPF over struct seccomp_data; memory that may not be there) for
 * a call on this machine: SECCOMP_RET_…; KILL_PROCESS when @p is not a filter. Async-signal-safe.
 */
uint32_t af_seccomp_run(const struct sock_fprog *p, int call, const uint64_t args[6]);

/* Would a system call that recording makes end the program, or be handed to it? */
bool af_seccomp_forbids(const struct sock_fprog *p);

#endif
