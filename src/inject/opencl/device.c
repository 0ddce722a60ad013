/* OpenCL devices and their sub-devices: one table entry and one DEVICE event each. */
#include "inject/opencl/opencl.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "inject/core/handles.h"
#include "inject/core/inject.h"

enum { DEVICES_MAX = 256, NAME_BYTES = 256 };

static struct af_handles opencl_devices = AF_HANDLES_INIT; /* → struct af_opencl_device * */

/* Taken to fill a slot and write its definition, never while the runtime is called. */
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static struct af_opencl_device devices[DEVICES_MAX];
static _Atomic uint32_t nr_devices;

/* The fields of a DEVICE event, queried before the lock is taken. */
struct device_info {
	uint32_t type;
	char name[NAME_BYTES], vendor[NAME_BYTES], driver[2 * NAME_BYTES + 2];
};

struct af_opencl_device *af_opencl_device_at(uint32_t i)
{
	return i < atomic_load_explicit(&nr_devices, memory_order_acquire) ? &devices[i] : NULL;
}

static void device_text(cl_device_id d, cl_device_info what, char *text, size_t size)
{
	size_t need = 0;

	text[0] = 0;
	if (af_opencl_next.clGetDeviceInfo(d, what, 0, NULL, &need) || need > size ||
	    af_opencl_next.clGetDeviceInfo(d, what, size, text, NULL))
		text[0] = 0;
	text[size - 1] = 0;
}

static uint32_t device_type(cl_device_id d)
{
	cl_device_type type = 0;

	af_opencl_next.clGetDeviceInfo(d, CL_DEVICE_TYPE, sizeof type, &type, NULL);
	if (type & CL_DEVICE_TYPE_GPU)
		return AF_DEVICE_GPU;
	if (type & CL_DEVICE_TYPE_CPU)
		return AF_DEVICE_CPU;
	return type & CL_DEVICE_TYPE_ACCELERATOR ? AF_DEVICE_ACCELERATOR : AF_DEVICE_OTHER;
}

static void device_ask(cl_device_id d, struct device_info *f)
{
	cl_platform_id platform = NULL;
	char version[NAME_BYTES];

	f->type = device_type(d);
	device_text(d, CL_DEVICE_NAME, f->name, sizeof f->name);
	device_text(d, CL_DEVICE_VENDOR, f->vendor, sizeof f->vendor);
	device_text(d, CL_DRIVER_VERSION, version, sizeof version);

	char words[NAME_BYTES] = "";
	af_opencl_next.clGetDeviceInfo(d, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
	if (!platform ||
	    af_opencl_next.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof words, words, NULL))
		words[0] = 0;
	words[sizeof words - 1] = 0;
	snprintf(f->driver, sizeof f->driver, "%s %s", words, version);
}

static void device_define(const struct af_opencl_device *d, uint32_t parent,
                          const struct device_info *f)
{
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	struct af_ev_device ev = {
	    .device = d->id, .parent = parent, .type = f->type, .api = AF_API_OPENCL};
	struct af_tail tail[] = {
	    {f->name, (uint32_t)strlen(f->name), 0},
	    {f->vendor, (uint32_t)strlen(f->vendor), 0},
	    {f->driver, (uint32_t)strlen(f->driver), 0},
	};
	af_stream_put_tail(&t->stream, AF_KIND_DEVICE, af_now_ns(), &ev, sizeof ev, tail, 3);
	af_thread_leave(t);
}

/* True when this call made the entry. */
static bool device_register(cl_device_id handle, struct af_opencl_device *parent,
                            const struct device_info *f, struct af_opencl_device **ret)
{
	struct af_opencl_device *d;

	pthread_mutex_lock(&devices_lock);
	uint32_t nr = atomic_load(&nr_devices);
	d = (void *)(uintptr_t)af_handles_get(&opencl_devices, (uintptr_t)handle);
	bool fresh = !d && nr < DEVICES_MAX;
	if (fresh) {
		d = &devices[nr];
		*d = (struct af_opencl_device){
		    .handle = handle,
		    .root = parent ? parent->root : d,
		    .id = af_inject_new_id(AF_ID_DEVICE),
		};
		device_define(d, parent ? parent->id : 0, f);
		atomic_store_explicit(&nr_devices, nr + 1, memory_order_release);
		af_handles_set(&opencl_devices, (uintptr_t)handle, (uintptr_t)d);
	}
	pthread_mutex_unlock(&devices_lock);
	*ret = d;
	return fresh;
}

struct af_opencl_device *af_opencl_device(cl_device_id handle)
{
	struct af_opencl_device *d =
	    (void *)(uintptr_t)af_handles_get(&opencl_devices, (uintptr_t)handle);
	struct af_opencl_device *parent = NULL;
	cl_device_id above = NULL;
	struct device_info info;

	if (d || !handle)
		return d;
	/* OpenCL 1.2; before it there are no parts of devices, and asking is an error. */
	if (!af_opencl_next.clGetDeviceInfo(handle, CL_DEVICE_PARENT_DEVICE, sizeof above, &above,
	                                    NULL) &&
	    above && above != handle)
		parent = af_opencl_device(above);
	device_ask(handle, &info);
	if (device_register(handle, parent, &info, &d))
		af_opencl_clock_start(d);
	return d ? d : parent;
}

/* Handles of parts come back for other parts: forget what they meant. */
static cl_int parts_made(cl_int rc, cl_uint room, const cl_device_id *out, const cl_uint *nr)
{
	for (cl_uint i = 0; !rc && out && i < room && (!nr || i < *nr); i++)
		af_handles_set(&opencl_devices, (uintptr_t)out[i], 0);
	return rc;
}

static cl_int CL_API_CALL opencl_create_parts(cl_device_id in,
                                              const cl_device_partition_property *properties,
                                              cl_uint room, cl_device_id *out, cl_uint *nr)
{
	cl_int rc = af_opencl_next.clCreateSubDevices(in, properties, room, out, nr);

	return parts_made(rc, room, out, nr);
}

static cl_int CL_API_CALL
opencl_create_parts_ext(cl_device_id in, const cl_device_partition_property_ext *properties,
                        cl_uint room, cl_device_id *out, cl_uint *nr)
{
	cl_int rc = af_opencl_next.clCreateSubDevicesEXT(in, properties, room, out, nr);

	return parts_made(rc, room, out, nr);
}

void af_opencl_wrap_devices(struct _cl_icd_dispatch *d)
{
	d->clCreateSubDevices = opencl_create_parts;
	d->clCreateSubDevicesEXT = opencl_create_parts_ext;
}

void af_opencl_devices_after_fork(void)
{
	pthread_mutex_init(&devices_lock, NULL);
	af_handles_after_fork(&opencl_devices);
	atomic_store(&nr_devices, 0);
}
