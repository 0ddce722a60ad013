/*
 * Device work of HIP by AMD's rocprofiler-sdk. The SDK asks for a number for each kernel and copy
 * in the thread that launches it (launch.c), and later hands out records with these numbers and
 * times (work.c). See README.md.
 */
#ifndef AF_INJECT_ROCM_ROCM_H
#define AF_INJECT_ROCM_ROCM_H

#include <stdbool.h>

#include "inject/core/thread.h"
#include "inject/rocm/sdk.h"

/* The SDK's functions; constant once af_rocm_is_on(). */
extern struct af_rocm_sdk af_rocm_sdk;

/* Is device work recorded in this process? Not in its forked children: HIP does not survive it. */
bool af_rocm_is_on(void);

/* The callback by which the SDK asks for a number. 0: nothing is recorded now. */
int af_rocm_request(uint64_t thread, uint64_t context, uint32_t kind, int32_t operation,
                    uint64_t internal, uint64_t *external, void *arg);

/* Numbers with this bit are of a LAUNCH and not of a call. Those of OpenMP have another one. */
#define AF_ROCM_LAUNCH_BIT (1ull << 41)

/* How many numbers were given out in this process. */
uint64_t af_rocm_nr_asked(void);

/* The callback for full buffers, and what has not come when nothing more will come. */
void af_rocm_buffer(uint64_t context, uint64_t buffer, struct af_rocm_header **headers, size_t nr,
                    void *arg, uint64_t nr_dropped);
void af_rocm_works_end(void);

/* The callbacks for code objects, of versions before 1.0 and of later ones. */
void af_rocm_code(struct af_rocm_callback record, uint64_t *kept, void *arg);
void af_rocm_code_1(struct af_rocm_callback_1 record, uint64_t *kept, void *arg);

/* The id of a kernel that code objects have, 0 when it is not known. */
uint32_t af_rocm_kernel_id(uint64_t kernel);

/* Define all GPUs; @version is the SDK's. */
void af_rocm_devices_define(uint32_t version);

/* Is the agent a GPU? */
bool af_rocm_is_gpu(uint64_t agent);

/* The id of the queue @queue of @agent, or with 0 of all copies of @agent. */
uint32_t af_rocm_queue(struct af_thread_context *t, uint64_t agent, uint64_t queue);

/* Write a pair of clocks for each device that has a queue. */
void af_rocm_clocks_write(void);

/* Start the thread that fetches records each second; af_rocm_last() fetches the last ones. */
void af_rocm_thread_start(uint64_t buffer);
void af_rocm_last(void);

#endif
