/* Around the generated functions under the loader's names: what they need beside api.h. */
#ifndef AF_INJECT_ZE_CALLS_CALLS_H
#define AF_INJECT_ZE_CALLS_CALLS_H

#include "inject/ze_calls/ze_calls.h"

#define AF_API_EXPORT __attribute__((visibility("default")))
#define AF_API_ENTRIES

#define AF_API_NEXT(slot, name)                                                                    \
	do {                                                                                       \
		if (__builtin_expect(!__atomic_load_n((slot), __ATOMIC_RELAXED), 0))               \
			af_ze_calls_next((slot), (name));                                          \
	} while (0)

/* No hook within Level Zero looks for the caller: af_api_caller is libaflame.so's. */
#undef AF_API_REGS
#define AF_API_REGS(c) AF_REGS_CALLER(&(c)->regs)

#endif
