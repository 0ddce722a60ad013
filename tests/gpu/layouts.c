/*
 * Compares every layout and number of src/inject/cuda/cupti.h and cupti_pc.h with the CUPTI headers
 * of this machine, at compile time: it compiles or it says which is wrong. Run, it names the CUPTI
 * it was compiled with.
 *
 *   cc -I src -I CUDA/include tests/gpu/layouts.c -o layouts && ./layouts
 */
#include "inject/cuda/cupti.h"
#include "inject/cuda/cupti_pc.h"

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <stdio.h>

#if CUPTI_API_VERSION >= 130000
#define KERNEL CUpti_ActivityKernel10
#define MEMCPY CUpti_ActivityMemcpy6
#else
#define KERNEL CUpti_ActivityKernel9
#define MEMCPY CUpti_ActivityMemcpy5
#endif

#define SIZE_OF(type, field) sizeof(((type *)0)->field)

/* Ours and theirs lie at the same place and are as large. */
#define SAME(ours, field, theirs, name)                                                            \
	_Static_assert(offsetof(struct ours, field) == offsetof(theirs, name),                     \
	               #ours "." #field " does not lie where " #theirs "." #name " does");         \
	_Static_assert(SIZE_OF(struct ours, field) == SIZE_OF(theirs, name),                       \
	               #ours "." #field " is not as large as " #theirs "." #name)

/* The same, but ours is an array of three of theirs that follow each other. */
#define SAME3(ours, field, theirs, x, y, z)                                                        \
	_Static_assert(offsetof(struct ours, field) == offsetof(theirs, x) &&                      \
	                   offsetof(struct ours, field[1]) == offsetof(theirs, y) &&               \
	                   offsetof(struct ours, field[2]) == offsetof(theirs, z),                 \
	               #ours "." #field " does not lie where " #theirs "." #x " does");            \
	_Static_assert(SIZE_OF(struct ours, field[0]) == SIZE_OF(theirs, x),                       \
	               #ours "." #field " is not as large as " #theirs "." #x)

/* Theirs may have grown at its end. */
#define INSIDE(ours, theirs)                                                                       \
	_Static_assert(sizeof(struct ours) <= sizeof(theirs), #ours " is larger than " #theirs)

#define VALUE(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours " is not " #theirs)

VALUE(AF_CUPTI_SUCCESS, CUPTI_SUCCESS);
VALUE(AF_CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
VALUE(AF_CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
VALUE(AF_CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
VALUE(AF_CUPTI_VIRTUALIZED, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
VALUE(AF_CUPTI_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
VALUE(AF_CUPTI_OTHER_SUBSCRIBER, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
VALUE(AF_CUPTI_VIRTUAL_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
VALUE(AF_CUPTI_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);

VALUE(AF_CUPTI_DRIVER_API, CUPTI_CB_DOMAIN_DRIVER_API);
VALUE(AF_CUPTI_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
VALUE(AF_CUPTI_STATE, CUPTI_CB_DOMAIN_STATE);
VALUE(AF_CUPTI_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
VALUE(AF_CUPTI_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
VALUE(AF_CUPTI_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
VALUE(AF_CUPTI_MODULE_UNLOAD_STARTING, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
VALUE(AF_CUPTI_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
VALUE(AF_CUPTI_GRAPHNODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
VALUE(AF_CUPTI_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR);
VALUE(AF_CUPTI_ENTER, CUPTI_API_ENTER);
VALUE(AF_CUPTI_EXIT, CUPTI_API_EXIT);

VALUE(AF_CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
VALUE(AF_CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
VALUE(AF_CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
VALUE(AF_CUPTI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
VALUE(AF_CUPTI_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
VALUE(AF_CUPTI_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
VALUE(AF_CUPTI_DEVICE_BUFFER_POOL_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
VALUE(AF_CUPTI_ZEROED_BUFFERS, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
VALUE(AF_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
VALUE(AF_CUPTI_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
VALUE(AF_CUPTI_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
VALUE(AF_CUPTI_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
VALUE(AF_CUPTI_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
VALUE(AF_CUPTI_ATOA, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA);
VALUE(AF_CUPTI_ATOD, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD);
VALUE(AF_CUPTI_DTOA, CUPTI_ACTIVITY_MEMCPY_KIND_DTOA);
VALUE(AF_CUPTI_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
VALUE(AF_CUPTI_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
VALUE(AF_CUPTI_PTOP, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);

SAME(af_cupti_call, site, CUpti_CallbackData, callbackSite);
SAME(af_cupti_call, function, CUpti_CallbackData, functionName);
SAME(af_cupti_call, params, CUpti_CallbackData, functionParams);
SAME(af_cupti_call, result, CUpti_CallbackData, functionReturnValue);
SAME(af_cupti_call, symbol, CUpti_CallbackData, symbolName);
SAME(af_cupti_call, context, CUpti_CallbackData, context);
SAME(af_cupti_call, context_id, CUpti_CallbackData, contextUid);
SAME(af_cupti_call, data, CUpti_CallbackData, correlationData);
SAME(af_cupti_call, correlation, CUpti_CallbackData, correlationId);
INSIDE(af_cupti_call, CUpti_CallbackData);
SAME(af_cupti_resource_data, context, CUpti_ResourceData, context);
SAME(af_cupti_resource_data, handle, CUpti_ResourceData, resourceHandle);
SAME(af_cupti_resource_data, what, CUpti_ResourceData, resourceDescriptor);
SAME(af_cupti_module, id, CUpti_ModuleResourceData, moduleId);
SAME(af_cupti_module, size, CUpti_ModuleResourceData, cubinSize);
SAME(af_cupti_module, cubin, CUpti_ModuleResourceData, pCubin);
SAME(af_cupti_graph, graph, CUpti_GraphData, graph);
SAME(af_cupti_graph, original_graph, CUpti_GraphData, originalGraph);
SAME(af_cupti_graph, node, CUpti_GraphData, node);
SAME(af_cupti_graph, original_node, CUpti_GraphData, originalNode);
SAME(af_cupti_graph, node_type, CUpti_GraphData, nodeType);
SAME(af_cupti_graph, dependency, CUpti_GraphData, dependency);
SAME(af_cupti_graph, exec, CUpti_GraphData, graphExec);

SAME(af_cupti_record, kind, CUpti_Activity, kind);

SAME(af_cupti_kernel, kind, KERNEL, kind);
SAME(af_cupti_kernel, cache, KERNEL, cacheConfig);
SAME(af_cupti_kernel, shared_config, KERNEL, sharedMemoryConfig);
SAME(af_cupti_kernel, registers, KERNEL, registersPerThread);
SAME(af_cupti_kernel, partition_requested, KERNEL, partitionedGlobalCacheRequested);
SAME(af_cupti_kernel, partition_used, KERNEL, partitionedGlobalCacheExecuted);
SAME(af_cupti_kernel, start, KERNEL, start);
SAME(af_cupti_kernel, end, KERNEL, end);
SAME(af_cupti_kernel, completed, KERNEL, completed);
SAME(af_cupti_kernel, device, KERNEL, deviceId);
SAME(af_cupti_kernel, context, KERNEL, contextId);
SAME(af_cupti_kernel, stream, KERNEL, streamId);
SAME3(af_cupti_kernel, grid, KERNEL, gridX, gridY, gridZ);
SAME3(af_cupti_kernel, block, KERNEL, blockX, blockY, blockZ);
SAME(af_cupti_kernel, static_shared, KERNEL, staticSharedMemory);
SAME(af_cupti_kernel, dynamic_shared, KERNEL, dynamicSharedMemory);
SAME(af_cupti_kernel, local_per_thread, KERNEL, localMemoryPerThread);
SAME(af_cupti_kernel, local_total, KERNEL, localMemoryTotal);
SAME(af_cupti_kernel, correlation, KERNEL, correlationId);
SAME(af_cupti_kernel, grid_id, KERNEL, gridId);
SAME(af_cupti_kernel, name, KERNEL, name);
SAME(af_cupti_kernel, reserved, KERNEL, reserved0);
SAME(af_cupti_kernel, queued, KERNEL, queued);
SAME(af_cupti_kernel, submitted, KERNEL, submitted);
SAME(af_cupti_kernel, launch_type, KERNEL, launchType);
SAME(af_cupti_kernel, carveout_requested, KERNEL, isSharedMemoryCarveoutRequested);
SAME(af_cupti_kernel, carveout, KERNEL, sharedMemoryCarveoutRequested);
SAME(af_cupti_kernel, shared_used, KERNEL, sharedMemoryExecuted);
SAME(af_cupti_kernel, node, KERNEL, graphNodeId);
SAME(af_cupti_kernel, shared_limit, KERNEL, shmemLimitConfig);
SAME(af_cupti_kernel, graph, KERNEL, graphId);
SAME(af_cupti_kernel, policy, KERNEL, pAccessPolicyWindow);
SAME(af_cupti_kernel, channel, KERNEL, channelID);
SAME(af_cupti_kernel, channel_type, KERNEL, channelType);
SAME3(af_cupti_kernel, cluster, KERNEL, clusterX, clusterY, clusterZ);
SAME(af_cupti_kernel, cluster_policy, KERNEL, clusterSchedulingPolicy);
INSIDE(af_cupti_kernel, KERNEL);

SAME(af_cupti_memcpy, kind, MEMCPY, kind);
SAME(af_cupti_memcpy, copy, MEMCPY, copyKind);
SAME(af_cupti_memcpy, source, MEMCPY, srcKind);
SAME(af_cupti_memcpy, target, MEMCPY, dstKind);
SAME(af_cupti_memcpy, flags, MEMCPY, flags);
SAME(af_cupti_memcpy, bytes, MEMCPY, bytes);
SAME(af_cupti_memcpy, start, MEMCPY, start);
SAME(af_cupti_memcpy, end, MEMCPY, end);
SAME(af_cupti_memcpy, device, MEMCPY, deviceId);
SAME(af_cupti_memcpy, context, MEMCPY, contextId);
SAME(af_cupti_memcpy, stream, MEMCPY, streamId);
SAME(af_cupti_memcpy, correlation, MEMCPY, correlationId);
SAME(af_cupti_memcpy, runtime_correlation, MEMCPY, runtimeCorrelationId);
SAME(af_cupti_memcpy, reserved, MEMCPY, reserved0);
SAME(af_cupti_memcpy, node, MEMCPY, graphNodeId);
SAME(af_cupti_memcpy, graph, MEMCPY, graphId);
SAME(af_cupti_memcpy, channel, MEMCPY, channelID);
SAME(af_cupti_memcpy, channel_type, MEMCPY, channelType);
INSIDE(af_cupti_memcpy, MEMCPY);

SAME(af_cupti_memcpy_peer, kind, CUpti_ActivityMemcpyPtoP4, kind);
SAME(af_cupti_memcpy_peer, copy, CUpti_ActivityMemcpyPtoP4, copyKind);
SAME(af_cupti_memcpy_peer, source, CUpti_ActivityMemcpyPtoP4, srcKind);
SAME(af_cupti_memcpy_peer, target, CUpti_ActivityMemcpyPtoP4, dstKind);
SAME(af_cupti_memcpy_peer, flags, CUpti_ActivityMemcpyPtoP4, flags);
SAME(af_cupti_memcpy_peer, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(af_cupti_memcpy_peer, start, CUpti_ActivityMemcpyPtoP4, start);
SAME(af_cupti_memcpy_peer, end, CUpti_ActivityMemcpyPtoP4, end);
SAME(af_cupti_memcpy_peer, device, CUpti_ActivityMemcpyPtoP4, deviceId);
SAME(af_cupti_memcpy_peer, context, CUpti_ActivityMemcpyPtoP4, contextId);
SAME(af_cupti_memcpy_peer, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(af_cupti_memcpy_peer, from_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME(af_cupti_memcpy_peer, from_context, CUpti_ActivityMemcpyPtoP4, srcContextId);
SAME(af_cupti_memcpy_peer, to_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
SAME(af_cupti_memcpy_peer, to_context, CUpti_ActivityMemcpyPtoP4, dstContextId);
SAME(af_cupti_memcpy_peer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(af_cupti_memcpy_peer, reserved, CUpti_ActivityMemcpyPtoP4, reserved0);
SAME(af_cupti_memcpy_peer, node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
SAME(af_cupti_memcpy_peer, graph, CUpti_ActivityMemcpyPtoP4, graphId);
SAME(af_cupti_memcpy_peer, channel, CUpti_ActivityMemcpyPtoP4, channelID);
SAME(af_cupti_memcpy_peer, channel_type, CUpti_ActivityMemcpyPtoP4, channelType);
INSIDE(af_cupti_memcpy_peer, CUpti_ActivityMemcpyPtoP4);

SAME(af_cupti_memset, kind, CUpti_ActivityMemset4, kind);
SAME(af_cupti_memset, value, CUpti_ActivityMemset4, value);
SAME(af_cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME(af_cupti_memset, start, CUpti_ActivityMemset4, start);
SAME(af_cupti_memset, end, CUpti_ActivityMemset4, end);
SAME(af_cupti_memset, device, CUpti_ActivityMemset4, deviceId);
SAME(af_cupti_memset, context, CUpti_ActivityMemset4, contextId);
SAME(af_cupti_memset, stream, CUpti_ActivityMemset4, streamId);
SAME(af_cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);
SAME(af_cupti_memset, flags, CUpti_ActivityMemset4, flags);
SAME(af_cupti_memset, memory, CUpti_ActivityMemset4, memoryKind);
SAME(af_cupti_memset, reserved, CUpti_ActivityMemset4, reserved0);
SAME(af_cupti_memset, node, CUpti_ActivityMemset4, graphNodeId);
SAME(af_cupti_memset, graph, CUpti_ActivityMemset4, graphId);
SAME(af_cupti_memset, channel, CUpti_ActivityMemset4, channelID);
SAME(af_cupti_memset, channel_type, CUpti_ActivityMemset4, channelType);
INSIDE(af_cupti_memset, CUpti_ActivityMemset4);

SAME(af_cupti_graph_trace, kind, CUpti_ActivityGraphTrace2, kind);
SAME(af_cupti_graph_trace, correlation, CUpti_ActivityGraphTrace2, correlationId);
SAME(af_cupti_graph_trace, start, CUpti_ActivityGraphTrace2, start);
SAME(af_cupti_graph_trace, end, CUpti_ActivityGraphTrace2, end);
SAME(af_cupti_graph_trace, device, CUpti_ActivityGraphTrace2, deviceId);
SAME(af_cupti_graph_trace, graph, CUpti_ActivityGraphTrace2, graphId);
SAME(af_cupti_graph_trace, context, CUpti_ActivityGraphTrace2, contextId);
SAME(af_cupti_graph_trace, stream, CUpti_ActivityGraphTrace2, streamId);
INSIDE(af_cupti_graph_trace, CUpti_ActivityGraphTrace2);

SAME(af_cupti_overhead, kind, CUpti_ActivityOverhead3, kind);
SAME(af_cupti_overhead, overhead, CUpti_ActivityOverhead3, overheadKind);
SAME(af_cupti_overhead, object, CUpti_ActivityOverhead3, objectKind);
SAME(af_cupti_overhead, object_id, CUpti_ActivityOverhead3, objectId);
SAME(af_cupti_overhead, start, CUpti_ActivityOverhead3, start);
SAME(af_cupti_overhead, end, CUpti_ActivityOverhead3, end);
SAME(af_cupti_overhead, correlation, CUpti_ActivityOverhead3, correlationId);
INSIDE(af_cupti_overhead, CUpti_ActivityOverhead3);

VALUE(AF_CUPTI_PC_PERIOD, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD);
VALUE(AF_CUPTI_PC_SCRATCH_BYTES, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE);
VALUE(AF_CUPTI_PC_HARDWARE_BYTES, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE);
VALUE(AF_CUPTI_PC_MODE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE);
VALUE(AF_CUPTI_PC_START_STOP, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL);
VALUE(AF_CUPTI_PC_BUFFER, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);
VALUE(AF_CUPTI_PC_SLEEP_MS,
      CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN);
VALUE(AF_CUPTI_PC_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
VALUE(AF_CUPTI_PC_SERIALIZED, CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED);
VALUE(AF_CUPTI_PC_NAME_BYTES, CUPTI_STALL_REASON_STRING_SIZE);

SAME(af_cupti_pc_stall, index, CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex);
SAME(af_cupti_pc_stall, samples, CUpti_PCSamplingStallReason, samples);
INSIDE(af_cupti_pc_stall, CUpti_PCSamplingStallReason);
SAME(af_cupti_pc, size, CUpti_PCSamplingPCData, size);
SAME(af_cupti_pc, crc, CUpti_PCSamplingPCData, cubinCrc);
SAME(af_cupti_pc, offset, CUpti_PCSamplingPCData, pcOffset);
SAME(af_cupti_pc, symbol, CUpti_PCSamplingPCData, functionIndex);
SAME(af_cupti_pc, name, CUpti_PCSamplingPCData, functionName);
SAME(af_cupti_pc, nr_stalls, CUpti_PCSamplingPCData, stallReasonCount);
SAME(af_cupti_pc, stalls, CUpti_PCSamplingPCData, stallReason);
SAME(af_cupti_pc, correlation, CUpti_PCSamplingPCData, correlationId);
INSIDE(af_cupti_pc, CUpti_PCSamplingPCData);
SAME(af_cupti_pc_data, size, CUpti_PCSamplingData, size);
SAME(af_cupti_pc_data, nr_max, CUpti_PCSamplingData, collectNumPcs);
SAME(af_cupti_pc_data, samples, CUpti_PCSamplingData, totalSamples);
SAME(af_cupti_pc_data, dropped, CUpti_PCSamplingData, droppedSamples);
SAME(af_cupti_pc_data, nr, CUpti_PCSamplingData, totalNumPcs);
SAME(af_cupti_pc_data, nr_remaining, CUpti_PCSamplingData, remainingNumPcs);
SAME(af_cupti_pc_data, range, CUpti_PCSamplingData, rangeId);
SAME(af_cupti_pc_data, pcs, CUpti_PCSamplingData, pPcData);
SAME(af_cupti_pc_data, other, CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
SAME(af_cupti_pc_data, full, CUpti_PCSamplingData, hardwareBufferFull);
INSIDE(af_cupti_pc_data, CUpti_PCSamplingData);
SAME(af_cupti_pc_setting, attribute, CUpti_PCSamplingConfigurationInfo, attributeType);
SAME(af_cupti_pc_setting, status, CUpti_PCSamplingConfigurationInfo, attributeStatus);
SAME(af_cupti_pc_setting, value, CUpti_PCSamplingConfigurationInfo, attributeData);
INSIDE(af_cupti_pc_setting, CUpti_PCSamplingConfigurationInfo);
SAME(af_cupti_pc_settings, size, CUpti_PCSamplingConfigurationInfoParams, size);
SAME(af_cupti_pc_settings, private, CUpti_PCSamplingConfigurationInfoParams, pPriv);
SAME(af_cupti_pc_settings, context, CUpti_PCSamplingConfigurationInfoParams, ctx);
SAME(af_cupti_pc_settings, nr, CUpti_PCSamplingConfigurationInfoParams, numAttributes);
SAME(af_cupti_pc_settings, settings, CUpti_PCSamplingConfigurationInfoParams,
     pPCSamplingConfigurationInfo);
INSIDE(af_cupti_pc_settings, CUpti_PCSamplingConfigurationInfoParams);
SAME(af_cupti_pc_context, size, CUpti_PCSamplingEnableParams, size);
SAME(af_cupti_pc_context, private, CUpti_PCSamplingEnableParams, pPriv);
SAME(af_cupti_pc_context, context, CUpti_PCSamplingEnableParams, ctx);
INSIDE(af_cupti_pc_context, CUpti_PCSamplingEnableParams);
SAME(af_cupti_pc_context, context, CUpti_PCSamplingDisableParams, ctx);
INSIDE(af_cupti_pc_context, CUpti_PCSamplingDisableParams);
SAME(af_cupti_pc_context, context, CUpti_PCSamplingStartParams, ctx);
SAME(af_cupti_pc_context, context, CUpti_PCSamplingStopParams, ctx);
SAME(af_cupti_pc_get, size, CUpti_PCSamplingGetDataParams, size);
SAME(af_cupti_pc_get, private, CUpti_PCSamplingGetDataParams, pPriv);
SAME(af_cupti_pc_get, context, CUpti_PCSamplingGetDataParams, ctx);
SAME(af_cupti_pc_get, data, CUpti_PCSamplingGetDataParams, pcSamplingData);
INSIDE(af_cupti_pc_get, CUpti_PCSamplingGetDataParams);
SAME(af_cupti_pc_nr_reasons, size, CUpti_PCSamplingGetNumStallReasonsParams, size);
SAME(af_cupti_pc_nr_reasons, private, CUpti_PCSamplingGetNumStallReasonsParams, pPriv);
SAME(af_cupti_pc_nr_reasons, context, CUpti_PCSamplingGetNumStallReasonsParams, ctx);
SAME(af_cupti_pc_nr_reasons, nr, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
INSIDE(af_cupti_pc_nr_reasons, CUpti_PCSamplingGetNumStallReasonsParams);
SAME(af_cupti_pc_reasons, size, CUpti_PCSamplingGetStallReasonsParams, size);
SAME(af_cupti_pc_reasons, private, CUpti_PCSamplingGetStallReasonsParams, pPriv);
SAME(af_cupti_pc_reasons, context, CUpti_PCSamplingGetStallReasonsParams, ctx);
SAME(af_cupti_pc_reasons, nr, CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
SAME(af_cupti_pc_reasons, indices, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
SAME(af_cupti_pc_reasons, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
INSIDE(af_cupti_pc_reasons, CUpti_PCSamplingGetStallReasonsParams);
SAME(af_cupti_cubin_crc, size, CUpti_GetCubinCrcParams, size);
SAME(af_cupti_cubin_crc, cubin_size, CUpti_GetCubinCrcParams, cubinSize);
SAME(af_cupti_cubin_crc, cubin, CUpti_GetCubinCrcParams, cubin);
SAME(af_cupti_cubin_crc, crc, CUpti_GetCubinCrcParams, cubinCrc);
INSIDE(af_cupti_cubin_crc, CUpti_GetCubinCrcParams);
/* An array of them is CUPTI's to walk. */
_Static_assert(sizeof(struct af_cupti_pc) == sizeof(CUpti_PCSamplingPCData) &&
                   sizeof(struct af_cupti_pc_stall) == sizeof(CUpti_PCSamplingStallReason) &&
                   sizeof(struct af_cupti_pc_setting) == sizeof(CUpti_PCSamplingConfigurationInfo),
               "elements of arrays are not as large as CUPTI's");

int main(void)
{
	printf("%d\n", CUPTI_API_VERSION);
	return 0;
}
