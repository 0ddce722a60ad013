/*
 * The functions of CUDA and HIP that launch kernels: stacks of gpuperf's text end in them.
 */
#ifndef AF_EXCHANGE_BUILDER_LAUNCH_NAME_H
#define AF_EXCHANGE_BUILDER_LAUNCH_NAME_H

#include <stdbool.h>

/*
 * Is @name such a function: cudaLaunchKernel, cuLaunchKernelEx_ptsz, hipModuleLaunchKernel, …? Not
 * launches of graphs and of host functions, nor names that only begin like an API's function
 * (cutlass::…).
 */
bool exchange_is_launch(const char *name);

#endif
