/*
 * Around the generated wrappers of HIP's functions: what they need beside api.h. The functions of
 * api.h come from libaflame.so (shared.h).
 */
#ifndef AF_INJECT_HIP_CALLS_H
#define AF_INJECT_HIP_CALLS_H

#include "inject/hip/hip.h"

#define AF_API_EXPORT __attribute__((visibility("default")))

#define AF_API_NEXT(slot, name)                                                                    \
	do {                                                                                       \
		if (__builtin_expect(!__atomic_load_n((slot), __ATOMIC_RELAXED), 0))               \
			af_hip_next((slot), (name));                                               \
	} while (0)

/* Hooks inside of HIP have stacks that lead through the wrapper: its frame is HIP's. */
#undef AF_API_REGS
#define AF_API_REGS(c) AF_REGS_CALLER(&(c)->regs)

#endif
