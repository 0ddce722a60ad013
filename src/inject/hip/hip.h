/* The HIP runtime in the process, behind our wrappers. */
#ifndef AF_INJECT_HIP_HIP_H
#define AF_INJECT_HIP_HIP_H

#include "inject/api/shared.h"

/*
 * Put the function @name that comes behind ours into @slot; one that only fails where no library
 * has it. That of hipGetProcAddress gives wrappers of ours out.
 */
void af_hip_next(void **slot, const char *name);

#endif
