/* Our declarations of Level Zero are the vendor's (libze-dev): sizes, places, numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>
#include <level_zero/zet_api.h>

#include "inject/ze/ze_abi.h"

#define SAME_SIZE(ours, theirs) assert_int_equal(sizeof(struct ours), sizeof(theirs))
#define SAME(ours, member, theirs, other)                                                          \
	do {                                                                                       \
		assert_int_equal(offsetof(struct ours, member), offsetof(theirs, other));          \
		assert_int_equal(sizeof(((struct ours *)0)->member),                               \
		                 sizeof(((theirs *)0)->other));                                    \
	} while (0)

static void structs_are_the_same(void **state)
{
	(void)state;
	SAME_SIZE(af_ze_driver_properties, ze_driver_properties_t);
	SAME(af_ze_driver_properties, version, ze_driver_properties_t, driverVersion);
	SAME_SIZE(af_ze_device_properties, ze_device_properties_t);
	SAME(af_ze_device_properties, type, ze_device_properties_t, type);
	SAME(af_ze_device_properties, vendor, ze_device_properties_t, vendorId);
	SAME(af_ze_device_properties, device, ze_device_properties_t, deviceId);
	SAME(af_ze_device_properties, clock_mhz, ze_device_properties_t, coreClockRate);
	SAME(af_ze_device_properties, eus_subslice, ze_device_properties_t, numEUsPerSubslice);
	SAME(af_ze_device_properties, subslices_slice, ze_device_properties_t,
	     numSubslicesPerSlice);
	SAME(af_ze_device_properties, slices, ze_device_properties_t, numSlices);
	SAME(af_ze_device_properties, timer, ze_device_properties_t, timerResolution);
	SAME(af_ze_device_properties, timestamp_bits, ze_device_properties_t, timestampValidBits);
	SAME(af_ze_device_properties, kernel_timestamp_bits, ze_device_properties_t,
	     kernelTimestampValidBits);
	SAME(af_ze_device_properties, uuid, ze_device_properties_t, uuid);
	SAME(af_ze_device_properties, name, ze_device_properties_t, name);
	SAME_SIZE(af_ze_pci_properties, ze_pci_ext_properties_t);
	SAME(af_ze_pci_properties, domain, ze_pci_ext_properties_t, address.domain);
	SAME(af_ze_pci_properties, function, ze_pci_ext_properties_t, address.function);
	SAME_SIZE(af_ze_queue_desc, ze_command_queue_desc_t);
	SAME(af_ze_queue_desc, mode, ze_command_queue_desc_t, mode);
	SAME_SIZE(af_ze_module_desc, ze_module_desc_t);
	SAME(af_ze_module_desc, options, ze_module_desc_t, pBuildFlags);
	SAME_SIZE(af_ze_kernel_desc, ze_kernel_desc_t);
	SAME(af_ze_kernel_desc, name, ze_kernel_desc_t, pKernelName);
	SAME_SIZE(af_ze_pool_desc, ze_event_pool_desc_t);
	SAME(af_ze_pool_desc, flags, ze_event_pool_desc_t, flags);
	SAME(af_ze_pool_desc, count, ze_event_pool_desc_t, count);
	SAME_SIZE(af_ze_event_desc, ze_event_desc_t);
	SAME(af_ze_event_desc, signal, ze_event_desc_t, signal);
	SAME_SIZE(af_ze_memory_properties, ze_memory_allocation_properties_t);
	SAME(af_ze_memory_properties, type, ze_memory_allocation_properties_t, type);
	SAME_SIZE(af_ze_kernel_timestamp, ze_kernel_timestamp_result_t);
	SAME(af_ze_kernel_timestamp, global.end, ze_kernel_timestamp_result_t, global.kernelEnd);
	SAME_SIZE(af_ze_group_count, ze_group_count_t);
	SAME_SIZE(af_ze_copy_region, ze_copy_region_t);
	SAME(af_ze_copy_region, width, ze_copy_region_t, width);
	SAME_SIZE(af_ze_group_properties, zet_metric_group_properties_t);
	SAME(af_ze_group_properties, name, zet_metric_group_properties_t, name);
	SAME(af_ze_group_properties, sampling, zet_metric_group_properties_t, samplingType);
	SAME_SIZE(af_ze_metric_properties, zet_metric_properties_t);
	SAME(af_ze_metric_properties, type, zet_metric_properties_t, metricType);
	SAME(af_ze_metric_properties, value_type, zet_metric_properties_t, resultType);
	SAME(af_ze_metric_properties, units, zet_metric_properties_t, resultUnits);
	SAME_SIZE(af_ze_query_pool_desc, zet_metric_query_pool_desc_t);
	SAME(af_ze_query_pool_desc, type, zet_metric_query_pool_desc_t, type);
	SAME(af_ze_query_pool_desc, count, zet_metric_query_pool_desc_t, count);
	SAME_SIZE(af_ze_value, zet_typed_value_t);
	SAME(af_ze_value, as, zet_typed_value_t, value);
	SAME_SIZE(af_ze_tracer_desc, zel_tracer_desc_t);
	SAME(af_ze_tracer_desc, user, zel_tracer_desc_t, pUserData);
}

static void numbers_are_the_same(void **state)
{
	(void)state;
	assert_int_equal(AF_ZE_STYPE_GROUP_PROPERTIES, ZET_STRUCTURE_TYPE_METRIC_GROUP_PROPERTIES);
	assert_int_equal(AF_ZE_STYPE_METRIC_PROPERTIES, ZET_STRUCTURE_TYPE_METRIC_PROPERTIES);
	assert_int_equal(AF_ZE_STYPE_QUERY_POOL_DESC, ZET_STRUCTURE_TYPE_METRIC_QUERY_POOL_DESC);
	assert_int_equal(AF_ZE_EVENT_BASED, ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED);
	assert_int_equal(AF_ZE_METRIC_VALUES, ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES);
	assert_int_equal(AF_ZE_METRIC_DURATION, ZET_METRIC_TYPE_DURATION);
	assert_int_equal(AF_ZE_METRIC_EVENT, ZET_METRIC_TYPE_EVENT);
	assert_int_equal(AF_ZE_METRIC_EVENT_RANGE, ZET_METRIC_TYPE_EVENT_WITH_RANGE);
	assert_int_equal(AF_ZE_VALUE_UINT32, ZET_VALUE_TYPE_UINT32);
	assert_int_equal(AF_ZE_VALUE_UINT64, ZET_VALUE_TYPE_UINT64);
	assert_int_equal(AF_ZE_VALUE_FLOAT32, ZET_VALUE_TYPE_FLOAT32);
	assert_int_equal(AF_ZE_VALUE_FLOAT64, ZET_VALUE_TYPE_FLOAT64);
	assert_int_equal(AF_ZE_VALUE_BOOL8, ZET_VALUE_TYPE_BOOL8);
	assert_int_equal(AF_ZE_QUERY_PERFORMANCE, ZET_METRIC_QUERY_POOL_TYPE_PERFORMANCE);
	assert_int_equal(AF_ZE_TEXT, ZET_MAX_METRIC_NAME);
	assert_int_equal(AF_ZE_NOT_READY, ZE_RESULT_NOT_READY);
	assert_int_equal(AF_ZE_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED);
	assert_int_equal(AF_ZE_STYPE_DRIVER_PROPERTIES, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
	assert_int_equal(AF_ZE_STYPE_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
	assert_int_equal(AF_ZE_STYPE_DEVICE_PROPERTIES_1_2,
	                 ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
	assert_int_equal(AF_ZE_STYPE_EVENT_POOL_DESC, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
	assert_int_equal(AF_ZE_STYPE_EVENT_DESC, ZE_STRUCTURE_TYPE_EVENT_DESC);
	assert_int_equal(AF_ZE_STYPE_MEMORY_PROPERTIES,
	                 ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
	assert_int_equal(AF_ZE_STYPE_PCI_PROPERTIES, ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
	assert_int_equal(AF_ZE_STYPE_TRACER_DESC, ZEL_STRUCTURE_TYPE_TRACER_DESC);
	assert_int_equal(AF_ZE_POOL_HOST_VISIBLE, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
	assert_int_equal(AF_ZE_POOL_IPC, ZE_EVENT_POOL_FLAG_IPC);
	assert_int_equal(AF_ZE_POOL_TIMESTAMP, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	assert_int_equal(AF_ZE_SCOPE_HOST, ZE_EVENT_SCOPE_FLAG_HOST);
	assert_int_equal(AF_ZE_QUEUE_SYNCHRONOUS, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
	assert_int_equal(AF_ZE_DEVICE_GPU, ZE_DEVICE_TYPE_GPU);
	assert_int_equal(AF_ZE_DEVICE_CPU, ZE_DEVICE_TYPE_CPU);
	assert_int_equal(AF_ZE_MEMORY_HOST, ZE_MEMORY_TYPE_HOST);
	assert_int_equal(AF_ZE_MEMORY_DEVICE, ZE_MEMORY_TYPE_DEVICE);
	assert_int_equal(AF_ZE_MEMORY_SHARED, ZE_MEMORY_TYPE_SHARED);
	assert_int_equal(AF_ZE_DEBUG_ELF, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF);
	assert_int_equal(AF_ZE_HANDLE_KERNEL, ZEL_HANDLE_KERNEL);
	assert_int_equal(AF_ZE_PROLOGUE, ZEL_REGISTER_PROLOGUE);
	assert_int_equal(AF_ZE_EPILOGUE, ZEL_REGISTER_EPILOGUE);
}

/* The number of an argument that the callbacks take, as calls.c has it. */
#define ARGUMENT(params, member, number)                                                           \
	assert_int_equal(offsetof(params, member), (number) * sizeof(void *))

static void arguments_are_the_same(void **state)
{
	(void)state;
	ARGUMENT(ze_command_list_append_launch_kernel_params_t, ppLaunchFuncArgs, 2);
	ARGUMENT(ze_command_list_append_launch_kernel_params_t, phSignalEvent, 3);
	ARGUMENT(ze_command_list_append_launch_cooperative_kernel_params_t, phSignalEvent, 3);
	ARGUMENT(ze_command_list_append_launch_kernel_indirect_params_t, phSignalEvent, 3);
	ARGUMENT(ze_command_list_append_launch_multiple_kernels_indirect_params_t, phSignalEvent,
	         5);
	ARGUMENT(ze_command_list_append_memory_copy_params_t, psize, 3);
	ARGUMENT(ze_command_list_append_memory_copy_params_t, phSignalEvent, 4);
	ARGUMENT(ze_command_list_append_memory_copy_region_params_t, psrcptr, 5);
	ARGUMENT(ze_command_list_append_memory_copy_region_params_t, phSignalEvent, 9);
	ARGUMENT(ze_command_list_append_memory_copy_from_context_params_t, psrcptr, 3);
	ARGUMENT(ze_command_list_append_memory_copy_from_context_params_t, phSignalEvent, 5);
	ARGUMENT(ze_command_list_append_image_copy_params_t, phSignalEvent, 3);
	ARGUMENT(ze_command_list_append_image_copy_region_params_t, phSignalEvent, 5);
	ARGUMENT(ze_command_list_append_image_copy_to_memory_params_t, phSignalEvent, 4);
	ARGUMENT(ze_command_list_append_image_copy_from_memory_params_t, phSignalEvent, 4);
	ARGUMENT(ze_command_list_append_memory_fill_params_t, psize, 4);
	ARGUMENT(ze_command_list_append_memory_fill_params_t, phSignalEvent, 5);
	ARGUMENT(ze_command_list_append_event_reset_params_t, phEvent, 1);
	ARGUMENT(ze_command_queue_execute_command_lists_params_t, pphCommandLists, 2);
	ARGUMENT(ze_command_queue_execute_command_lists_params_t, phFence, 3);
	ARGUMENT(ze_event_pool_create_params_t, pdesc, 1);
	ARGUMENT(ze_event_pool_create_params_t, pphEventPool, 4);
	ARGUMENT(ze_event_create_params_t, pphEvent, 2);
	ARGUMENT(ze_context_create_params_t, pphContext, 2);
	ARGUMENT(ze_context_create_ex_params_t, pphContext, 4);
	ARGUMENT(ze_command_queue_create_params_t, pphCommandQueue, 3);
	ARGUMENT(ze_command_list_create_params_t, pphCommandList, 3);
	ARGUMENT(ze_command_list_create_immediate_params_t, paltdesc, 2);
	ARGUMENT(ze_command_list_create_immediate_params_t, pphCommandList, 3);
	ARGUMENT(ze_module_create_params_t, pdesc, 2);
	ARGUMENT(ze_module_create_params_t, pphModule, 3);
	ARGUMENT(ze_kernel_create_params_t, pphKernel, 2);
	ARGUMENT(ze_kernel_set_group_size_params_t, pgroupSizeZ, 3);
	ARGUMENT(ze_mem_alloc_device_params_t, psize, 2);
	ARGUMENT(ze_mem_alloc_device_params_t, ppptr, 5);
	ARGUMENT(ze_mem_alloc_shared_params_t, psize, 3);
	ARGUMENT(ze_mem_alloc_shared_params_t, ppptr, 6);
	ARGUMENT(ze_mem_alloc_host_params_t, psize, 2);
	ARGUMENT(ze_mem_alloc_host_params_t, ppptr, 4);
	ARGUMENT(ze_command_list_append_launch_kernel_params_t, pnumWaitEvents, 4);
	ARGUMENT(ze_command_list_append_launch_kernel_params_t, pphWaitEvents, 5);
	ARGUMENT(ze_command_list_append_launch_kernel_indirect_params_t, pphWaitEvents, 5);
	ARGUMENT(ze_command_list_append_launch_cooperative_kernel_params_t, pphWaitEvents, 5);
	ARGUMENT(ze_command_list_append_launch_multiple_kernels_indirect_params_t, pphWaitEvents,
	         7);
	ARGUMENT(ze_mem_free_params_t, pptr, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(structs_are_the_same),
	    cmocka_unit_test(numbers_are_the_same),
	    cmocka_unit_test(arguments_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
