/*
 * The CUDA collector: the driver loads this library in cuInit (CUDA_INJECTION64_PATH) and calls
 * InitializeInjection, however the program came by CUDA: runtime linked either way, driver API,
 * Triton, JAX, CuPy, libraries.
 *
 *	cuda.c      the entry point; which CUPTI calls and callbacks are enabled; the report
 *	find.c      which libcupti
 *	call.c      calls of the driver API: CALL, MEMORY
 *	calls.c     calls of driver and runtime with their arguments, where they are traced
 *	client.h    the program's own profiler beside us
 *	activity.c  buffers and records of device work: GPU_WORK and its definitions
 *	graph.c     nodes of graphs: GRAPH_NODE
 *	device.c    descriptions of the devices: DEVICE and its notes
 *	thread.c    the thread that flushes, reads the clocks, and handles the end
 *	cupti.h     the part of CUPTI that is used; cuda_functions.h (generated): which functions
 *
 * A plain recording has calls in the domain of the driver API only: every launch passes there, the
 * runtime's too, at half the price of both domains, and the runtime's function is in the stack
 * anyway.
 *
 * No callback calls a CUDA function, and no lock is held while CUPTI is called. A failure leaves
 * the program as it was: it goes on unrecorded, and the trace says why.
 */
#ifndef AF_INJECT_CUDA_CUDA_H
#define AF_INJECT_CUDA_CUDA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/core/thread.h"
#include "inject/cuda/cupti.h"

/* The functions of the CUPTI in use; constant once af_cuda_on(). */
extern struct af_cupti af_cupti;

/* Is CUDA recorded in this process? False in its forked children: CUDA does not survive a fork. */
bool af_cuda_on(void);

/*
 * Load the CUPTI that fits a driver of @driver_version (cuDriverGetVersion: 13000) and this
 * process: one that is loaded already, else the one that its Python's packages would load, else one
 * found by the loader's path, CUDA_HOME and /usr/local/cuda*. Returns the dlopen handle or NULL;
 * @words gets the path, or why there is none and what to do.
 */
void *af_cuda_find(int driver_version, char *words, size_t size);

/* Resolve all of af_cupti from @library; false, and @words says what is missing or wrong. */
bool af_cuda_resolve(void *library, char *words, size_t size);

/* A function of the loaded driver; NULL when the driver is not loaded or lacks it. */
void *af_cuda_driver(const char *name);

/* The CUPTI in use, as dlopen returned it, and our subscriber handle. */
void *af_cuda_library(void);
void *af_cuda_subscriber(void);

/* Does CUPTI call us back for this? Do we ask for records of this kind? */
bool af_cuda_wants(uint32_t domain, uint32_t id);
bool af_cuda_activity_wants(uint32_t kind);

/*
 * The program uses CUPTI before it starts CUDA: record by that CUPTI, as InitializeInjection would
 * later. False: CUDA is not to be recorded, or cannot be.
 */
bool af_cuda_start_early(void *library);

/*
 * Makes launches pass the gate of sampling (pc.h), also when recording is over, because sampling
 * must be ended then.
 */
void af_cuda_call_gate(uint32_t id, uint32_t site);

/*
 * The callback of the domain DRIVER_API. @traced: the call that ends has an event with its
 * arguments already (calls.h), which stands for the CALL.
 */
void af_cuda_call(uint32_t id, const struct af_cupti_call *call, const struct af_regs *regs,
                  bool traced);

/* Called now and then: enables what is traced now, where --ctl has changed that. */
void af_cuda_trace_poll(void);

/* Was this call made while recording was off? */
bool af_cuda_skipped(uint32_t correlation);

/* Define a FUNCTION for each function that can be called, before the first CALL. */
void af_cuda_functions_define(void);

/* Give CUPTI the two functions that hand out buffers and read them; enable what is wanted. Returns
 * the first error. */
enum af_cupti_result af_cuda_activity_start(void);

/* The id of the device that CUDA has at @ordinal. Its clock is read from then on. */
uint32_t af_cuda_device(uint32_t ordinal);

/* Define a DEVICE for each device, with notes that tell it from others. By a thread of ours. */
void af_cuda_devices_define(void);

/*
 * Called now and then by the flushing thread: notes it when so many nodes of graphs are timed that
 * it slows the program.
 */
void af_cuda_graphs_poll(uint64_t now_ns);

/* The id of a node from CUPTI's id (graph << 32 | index); 0 for 0. */
uint32_t af_cuda_node(uint64_t node);

/* An executable graph was updated, and CUPTI does not report its new nodes. */
void af_cuda_graph_updated(void *exec, const struct af_regs *regs);

/* Does CUPTI report each node of an updated graph? */
bool af_cuda_updates_reported(void);

/* The callbacks of the domain RESOURCE that report nodes. */
void af_cuda_graph(uint32_t id, const struct af_cupti_graph *g, const struct af_regs *regs);

/*
 * Recording is over and the program goes on: disable everything in CUPTI, so that it costs (almost)
 * nothing. By the flushing thread.
 */
void af_cuda_stop(void);
void af_cuda_activity_stop(void);

/* A context has been made, so there are buffers to flush: start the thread. */
void af_cuda_thread_start(void);

/*
 * The program is about to end, in whatever way: wait, at most a second, until the thread has
 * written the device work so far. Fit for a signal handler. Does nothing when CUDA is not recorded.
 */
void af_cuda_last(void);

/* Was af_cuda_last() called? Work that is flushed now has not ended. */
bool af_cuda_ending(void);

/* Devices seen so far, a bit each by ordinal: their clocks are read each second. */
extern _Atomic uint64_t af_cuda_devices;

#endif
