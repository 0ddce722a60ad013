/* The HIP runtime and ROCTX in the process, behind our functions. */
#ifndef AF_INJECT_HIP_HIP_H
#define AF_INJECT_HIP_HIP_H

#include "inject/api/shared.h"

/*
 * Put the function @name that comes behind ours into @slot; one that only fails where no library
 * has it. That of hipGetProcAddress gives wrappers of ours out.
 */
void af_hip_next(void **slot, const char *name);

/* Fill in af_api_lent, if nobody has: NULL where libaflame.so is not in the process. */
void af_hip_borrow(void);

#endif
