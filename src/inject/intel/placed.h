/*
 * Code of kernels in the memory of Intel's devices, whichever API brought it there: CODE and
 * CODE_PLACED. Samples of these devices are by address.
 *
 *	af_placed_put(program, …) for its kernels → af_placed_drop(program)
 */
#ifndef AF_INJECT_INTEL_PLACED_H
#define AF_INJECT_INTEL_PLACED_H

#include <stdbool.h>
#include <stdint.h>

struct af_zebin_kernel;

/*
 * The kernel @name of @program lies at @address in the memory of @device. What is known already is
 * not written again. Any thread, outside of af_thread_enter().
 */
void af_placed_put(uint32_t program, uint32_t device, const char *name, uint64_t address,
                   const struct af_zebin_kernel *k);

/* Is that written already? */
bool af_placed_has(uint32_t program, uint32_t device, const char *name, uint64_t address);

/* The code of @program is not there any more. */
void af_placed_drop(uint32_t program);

/* Forget the parent's code, in a forked child. */
void af_placed_after_fork(void);

#endif
