/*
 * Around the second set of generated functions: those that a program gets by
 * zeDriverGetExtensionFunctionAddress. They go on to the driver's function, and not to the loader's
 * of the same name, whose handles may be others.
 */
#ifndef AF_INJECT_ZE_CALLS_EXTENSION_H
#define AF_INJECT_ZE_CALLS_EXTENSION_H

#include "inject/ze_calls/ze_calls.h"

#define af_api_ze_next af_ze_extension_next
#define af_api_ze_entries af_ze_extension_entries

/* It is there before the program has the function. */
#define AF_API_NEXT(slot, name) ((void)0)

#undef AF_API_REGS
#define AF_API_REGS(c) AF_REGS_CALLER(&(c)->regs)

#endif
