/*
 * The OpenCL collector: a layer of the OpenCL loader (OPENCL_LAYERS; cl_loader_layers, Khronos
 * OpenCL-ICD-Loader), so it sees the program's calls of the loader, however the loader came into
 * the process.
 *
 *	opencl.c    the entry points clGetLayerInfo and clInitLayer, and the table of wrappers
 *	device.c    devices and their parts
 *	queue.c     contexts and queues; profiling forced on
 *	program.c   programs, kernels, and the objects they are made of
 *	native.c    code that the driver made of kernels and loaded into this process
 *	enqueue.c   calls that put work on a queue
 *	extension.c the same for functions that the program looks up by name
 *	wait.c      calls that wait for work, or ask after it
 *	work.c      work in flight: from an event to a WORK
 *	clock.c     pairs of the devices' clocks and the trace's
 *	calls.c     all calls with their arguments, where they are traced
 *
 * Work in flight is harvested, not called back: at later enqueues, at waits and once a second the
 * layer asks after the oldest events of a queue, and so finds the completed ones. That needs no
 * driver thread and no allocation, and the number of events held is bounded. Each piece of work
 * holds one reference to its event until then (visible as CL_EVENT_REFERENCE_COUNT, which the
 * specification calls unsuitable for general use).
 *
 * No lock is held while the runtime is called: a thread claims a queue's harvest by a flag that
 * nobody waits for.
 */
#ifndef AF_INJECT_OPENCL_OPENCL_H
#define AF_INJECT_OPENCL_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS

#include <CL/cl_layer.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/core/thread.h"

/*
 * The loader's functions that we call; entries that it does not have are NULL. Constant once set.
 */
extern struct _cl_icd_dispatch af_opencl_next;

/* Each file installs its own wrappers, where the loader has the function. */
void af_opencl_wrap_devices(struct _cl_icd_dispatch *d);
void af_opencl_wrap_queues(struct _cl_icd_dispatch *d);
void af_opencl_wrap_programs(struct _cl_icd_dispatch *d);
void af_opencl_wrap_native(struct _cl_icd_dispatch *d);
void af_opencl_wrap_releases(struct _cl_icd_dispatch *d);
void af_opencl_wrap_enqueues(struct _cl_icd_dispatch *d);
void af_opencl_wrap_waits(struct _cl_icd_dispatch *d);
void af_opencl_wrap_extensions(struct _cl_icd_dispatch *d);

/*
 * The last of them, where calls are traced: wrappers of all functions, which call those of @d, or
 * the loader's where @d has none.
 */
void af_opencl_wrap_calls(struct _cl_icd_dispatch *d);

/* The hook of @real, which was looked up by @name, where it puts work on a queue; else @real. */
void *af_opencl_wrap_enqueue(const char *name, void *real);

/* The same for a function @real that the program looked up by @name. */
void *af_opencl_wrap_call(const char *name, void *real);

/* Drop the parent's state when this is a forked child; cheap when it is not. */
void af_opencl_check_fork(void);
void af_opencl_devices_after_fork(void);
void af_opencl_queues_after_fork(void);
void af_opencl_programs_after_fork(void);
void af_opencl_releases_after_fork(void);
void af_opencl_work_after_fork(void);

enum { AF_OPENCL_HOST_CLOCKS = 4 };

/* A device, or a part of one. Never given back. */
struct af_opencl_device {
	cl_device_id handle;
	struct af_opencl_device *root; /* itself when it is no sub-device */
	uint32_t id;
	bool has_timer; /* clGetDeviceAndHostTimer works; of the root only, as all below */
	/* Without a timer: the enqueue whose QUEUED stamp will tell the clock. */
	_Atomic uint64_t bracket_correlation;
	uint64_t bracket_begin_ns[AF_OPENCL_HOST_CLOCKS], bracket_end_ns[AF_OPENCL_HOST_CLOCKS];
	_Atomic uint64_t next_bracket_ns;
	uint32_t nr_brackets;            /* that bounded the clock */
	uint32_t nr_burst;               /* brackets in this burst */
	int64_t ahead_least, ahead_most; /* ns, of the trace's clock, by this burst */
	uint64_t burst_begin_ns, last_queued;
	_Atomic uint32_t host_clocks; /* those the device's clock can still be: a bit for each */
};

/* A command queue. The struct is reused once the queue is released and nothing is pending. */
struct af_opencl_queue {
	cl_command_queue handle;
	struct af_opencl_device *device;
	uint32_t id;
	bool in_order;
	_Atomic bool user_profiling; /* the program asked for event times itself */
	_Atomic int32_t nr_refs;     /* the program's; 0: free once nothing is pending */
	uint32_t nr_properties;      /* as the program passed them, with the final 0 */
	cl_queue_properties properties[32];

	/* Work in flight: pushed by any thread, taken by the thread that holds `busy`. */
	_Atomic uint32_t nr_pending;
	_Atomic uint32_t pushed; /* stack of work indices */
	_Atomic uint32_t busy;
	uint32_t oldest, newest; /* list of work indices, owned by the holder of `busy` */
	uint32_t cursor;         /* where its next look goes on: behind this one, 0 at the start */
	_Atomic uint32_t patience; /* enqueues to let pass before asking again */
};

/*
 * The queue of a handle, registered now if it was made without our notice; NULL: the table is full.
 */
struct af_opencl_queue *af_opencl_queue(cl_command_queue handle);
bool af_opencl_queues_full(void);

/* Make a queue with @create, profiling forced on. */
typedef cl_command_queue(CL_API_CALL *af_opencl_queue_maker)(cl_context, cl_device_id,
                                                             const cl_queue_properties *, cl_int *);
cl_command_queue af_opencl_create_queue(af_opencl_queue_maker create, cl_context context,
                                        cl_device_id device, const cl_queue_properties *properties,
                                        cl_int *errcode_ret);

/* Each queue in use or with work in flight, by index; NULL for a free one. */
struct af_opencl_queue *af_opencl_queue_at(uint32_t i);
uint32_t af_opencl_nr_queues(void);

/* Ids of the process, defined in the trace when new; 0 when not known. */
struct af_opencl_device *af_opencl_device(cl_device_id handle);
uint32_t af_opencl_program(cl_program handle);
uint32_t af_opencl_program_id(void); /* of one that has no handle */
uint32_t af_opencl_kernel(cl_kernel handle);

/*
 * The program made these, with one reference each; and before it releases one of a program's. With
 * the last one the code of the program's kernels is gone (CODE_PLACED), once it does not run.
 */
void af_opencl_program_made(cl_program program);
void af_opencl_kernel_made(cl_kernel kernel, cl_program program);
void af_opencl_program_released(cl_program program);

/* Write that code is gone: where no work is in flight, or @all that was released. */
void af_opencl_codes_tidy(bool all);

/* One call that puts work on a queue, from its entry to its return. */
struct af_opencl_call {
	struct af_regs regs;
	struct af_opencl_queue *queue; /* NULL: this call is not recorded */
	uint64_t correlation;
	uint64_t begin_ns;
	uint64_t bracket_ns[AF_OPENCL_HOST_CLOCKS]; /* 0: this call is no bracket */
	cl_event event; /* the driver's, to be passed on to the program if it wants it */
	struct af_ev_descriptor descriptor;
};

/*
 * Before the driver's call: writes the LAUNCH. The wrapper fills descriptor.op and so on and passes
 * &call.event to the driver; when call.queue is NULL it passes the program's own pointer.
 */
void af_opencl_launch(struct af_opencl_call *call, cl_command_queue queue);

/* After the driver's call: hands the event to the program and remembers the work. Returns @rc. */
cl_int af_opencl_launched(struct af_opencl_call *call, cl_int rc, cl_event *event, bool blocking);

/*
 * Every wrapper of an enqueue has the same four steps: the caller's registers, the LAUNCH, the
 * driver's call with our event, the bookkeeping. The registers must be taken in the wrapper itself.
 */
#define AF_OPENCL_BEGIN(call, queue, what)                                                         \
	struct af_opencl_call call;                                                                \
	AF_REGS_CALLER(&(call).regs);                                                              \
	af_opencl_launch(&(call), queue);                                                          \
	(call).descriptor.op = (what)

/*
 * The event pointer for the driver; the program's own when the call is not recorded. Our event
 * starts with the program's value, so that when the call fails the program sees what the driver did
 * to it.
 */
#define AF_OPENCL_EVENT(call, program)                                                             \
	((call).queue ? ((call).event = (program) ? *(program) : NULL, &(call).event) : (program))

/* Write the completed work of one queue, at most @most pieces. */
void af_opencl_harvest(struct af_opencl_queue *q, uint32_t most);

/* Once a second: harvest all queues and read a pair of clocks. @now_ns may be old. */
void af_opencl_tick(uint64_t now_ns);

/* Write a pair for each device whose clock can be read. */
void af_opencl_clocks_read(void);

/* Find out which clock @d uses, and write its first pair. */
void af_opencl_clock_start(struct af_opencl_device *d);

/*
 * For clocks that cannot be read: called around some enqueues, and when the QUEUED stamp of one is
 * known (0: it has none after all).
 */
void af_opencl_bracket_begin(struct af_opencl_call *call);
void af_opencl_bracket_end(struct af_opencl_call *call);
void af_opencl_bracket_stamp(struct af_opencl_device *root, uint64_t correlation, uint64_t queued);

/* The i-th device, NULL after the last. */
struct af_opencl_device *af_opencl_device_at(uint32_t i);

/* Write the completed work of all queues. */
void af_opencl_harvest_all(void);

/* At exit, while the runtime still lives: harvest all queues and write the last pairs of clocks. */
void af_opencl_work_flush(void);

#endif
