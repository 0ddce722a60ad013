/*
 * The functions of Level Zero whose calls are recorded: F(NAME, CATEGORY), without the prefix ze.
 * Their ids in the trace are in this order.
 */
#ifndef AF_INJECT_ZE_CALLS_H
#define AF_INJECT_ZE_CALLS_H

#define AF_ZE_CALLS(F)                                                                             \
	F(CommandListAppendLaunchKernel, LAUNCH)                                                   \
	F(CommandListAppendLaunchCooperativeKernel, LAUNCH)                                        \
	F(CommandListAppendLaunchKernelIndirect, LAUNCH)                                           \
	F(CommandListAppendLaunchMultipleKernelsIndirect, LAUNCH)                                  \
	F(CommandListAppendLaunchKernelWithParameters, LAUNCH)                                     \
	F(CommandListAppendLaunchKernelWithArguments, LAUNCH)                                      \
	F(CommandListAppendMemoryCopy, COPY)                                                       \
	F(CommandListAppendMemoryCopyRegion, COPY)                                                 \
	F(CommandListAppendMemoryCopyFromContext, COPY)                                            \
	F(CommandListAppendImageCopy, COPY)                                                        \
	F(CommandListAppendImageCopyRegion, COPY)                                                  \
	F(CommandListAppendImageCopyToMemory, COPY)                                                \
	F(CommandListAppendImageCopyFromMemory, COPY)                                              \
	F(CommandListAppendMemoryFill, FILL)                                                       \
	F(CommandListAppendBarrier, OTHER)                                                         \
	F(CommandListAppendMemoryRangesBarrier, OTHER)                                             \
	F(CommandListAppendSignalEvent, OTHER)                                                     \
	F(CommandListAppendWaitOnEvents, OTHER)                                                    \
	F(CommandListAppendEventReset, OTHER)                                                      \
	F(CommandListAppendMemoryPrefetch, OTHER)                                                  \
	F(CommandListClose, OTHER)                                                                 \
	F(CommandListReset, OTHER)                                                                 \
	F(CommandQueueExecuteCommandLists, GRAPH_LAUNCH)                                           \
	F(CommandListImmediateAppendCommandListsExp, GRAPH_LAUNCH)                                 \
	F(CommandQueueSynchronize, SYNC)                                                           \
	F(CommandListHostSynchronize, SYNC)                                                        \
	F(FenceHostSynchronize, SYNC)                                                              \
	F(EventHostSynchronize, SYNC)                                                              \
	F(ModuleCreate, LOAD)                                                                      \
	F(KernelCreate, OTHER)                                                                     \
	F(MemAllocDevice, ALLOC)                                                                   \
	F(MemAllocShared, ALLOC)                                                                   \
	F(MemAllocHost, ALLOC)                                                                     \
	F(MemFree, FREE)

#endif
