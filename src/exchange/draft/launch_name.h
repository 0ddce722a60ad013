/* Which functions of CUDA and HIP launch kernels: gpuperf's text has stacks that end in them. */
#ifndef AF_EXCHANGE_DRAFT_LAUNCH_NAME_H
#define AF_EXCHANGE_DRAFT_LAUNCH_NAME_H

#include <stdbool.h>

/*
 * Whether @name is one: cudaLaunchKernel, cuLaunchKernelEx_ptsz, hipModuleLaunchKernel, … Launches
 * of graphs and of functions of the host are none, nor is what only begins like an API's function
 * (cutlass::…).
 */
bool exchange_is_launch(const char *name);

#endif
