/*
 * A mock of a driver that does OpenCL by Level Zero (as Intel's LEO does): a layer of OpenCL's
 * loader, below aflame's, that makes a list of Level Zero's for each queue and launches a kernel
 * there for each kernel of OpenCL's. The real driver below it does the work.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>
#include <level_zero/ze_api.h>
#include <stdlib.h>
#include <string.h>

static struct _cl_icd_dispatch next, ours;
static ze_command_list_handle_t list;
static ze_kernel_handle_t kernel;

static void ze_begin(void)
{
	const ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	const ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	const ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
	                                      .pKernelName = "tiny"};
	const ze_module_desc_t module_desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
	                                      .format = ZE_MODULE_FORMAT_NATIVE,
	                                      .inputSize = 4,
	                                      .pInputModule = (const uint8_t *)"tiny"};
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	ze_module_handle_t module;
	uint32_t nr = 1;

	if (zeInit(0) || zeDriverGet(&nr, &driver) || zeDeviceGet(driver, &nr, &device) ||
	    zeContextCreate(driver, &context_desc, &context) ||
	    zeModuleCreate(context, device, &module_desc, &module, NULL) ||
	    zeKernelCreate(module, &kernel_desc, &kernel) ||
	    zeCommandListCreateImmediate(context, device, &queue_desc, &list))
		exit(7);
}

static cl_command_queue CL_API_CALL leo_queue(cl_context c, cl_device_id d,
                                              cl_command_queue_properties p, cl_int *rc)
{
	ze_begin();
	return next.clCreateCommandQueue(c, d, p, rc);
}

static cl_int CL_API_CALL leo_kernel(cl_command_queue q, cl_kernel k, cl_uint dim, const size_t *o,
                                     const size_t *g, const size_t *l, cl_uint n, const cl_event *w,
                                     cl_event *e)
{
	const ze_group_count_t groups = {1, 1, 1};

	if (zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL))
		exit(8);
	return next.clEnqueueNDRangeKernel(q, k, dim, o, g, l, n, w, e);
}

__attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL
clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret)
{
	if (name != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size >= sizeof(cl_layer_api_version))
		*(cl_layer_api_version *)value = CL_LAYER_API_VERSION_100;
	if (size_ret)
		*size_ret = sizeof(cl_layer_api_version);
	return CL_SUCCESS;
}

__attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL
clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *nr, const cl_icd_dispatch **ret)
{
	memcpy(&next, target, n * sizeof(void *) < sizeof next ? n * sizeof(void *) : sizeof next);
	ours.clCreateCommandQueue = leo_queue;
	ours.clEnqueueNDRangeKernel = leo_kernel;
	*nr = n < sizeof ours / sizeof(void *) ? n : sizeof ours / sizeof(void *);
	*ret = &ours;
	return CL_SUCCESS;
}
