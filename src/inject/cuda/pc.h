/*
 * The collector `cuda-pc`: which instructions a GPU executes, and why they stall, by CUPTI's PC
 * sampling. The device samples by itself and kernels run as they would; we read its samples a few
 * times a second.
 *
 *	pc.c        when to sample: contexts, modules, the flushing thread
 *	pc_read.c   one device: begin, read, adapt, end
 *	pc_gate.c   keeps threads from launching while CUPTI changes its state
 *	pc_claim.c  lets only one process sample a GPU
 *	pc_setup.c  the period, CUPTI's configuration, and the meaning of its refusals
 *	pc_write.c  writes the samples: STALL, CODE, GPU_WINDOW, GPU_SAMPLE
 *
 * One context of a device can be sampled at a time, by one process. CUPTI names functions, and
 * forgets the names once their module is gone, so we also read before each unload. That and the
 * reading thread exclude one another by the only lock that is held while CUPTI is called: a
 * callback waits for it a bounded time, then leaves the samples to the thread.
 *
 * CUPTI (13.0, on an H200) never comes back from Disable, Start or Stop while a thread launches, so
 * we call those behind a gate that launches pass. CUPTI takes another period or mode only after it
 * has been off, which costs the program about 150 ms. It crashes where Enable is not followed by a
 * buffer of ours, and where a second context of a device is enabled.
 */
#ifndef AF_INJECT_CUDA_PC_H
#define AF_INJECT_CUDA_PC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/cuda/cupti.h"
#include "inject/cuda/cupti_pc.h"

enum {
	AF_PC_REASONS_MAX = 128,
	AF_PC_DEVICES_MAX = 16,
	AF_PC_INSTRUCTIONS = 8192, /* read at once */
	AF_PC_KEPT = 4096,         /* instructions that CUPTI hands over by itself */
	/*
	 * Exact mode: CUPTI keeps so many between two readings, then adds samples to a wrong
	 * launch.
	 */
	AF_PC_KEPT_EXACT = 32768,
};

/* One device, while one of its contexts is sampled. */
struct af_pc_device {
	void *context;         /* NULL: none is */
	void *_Atomic enabled; /* the context that CUPTI samples, wanted or not */
	uint32_t device;       /* id */
	uint32_t ordinal;      /* by CUDA */
	uint64_t claim;
	bool is_broken; /* given up */
	/* Its buffer is full: there are no samples until sampling has been off */
	bool is_full;
	bool exact;                 /* kernels run one after the other */
	bool by_windows, in_window; /* … now and then only */
	uint32_t period;            /* cycles, as a power of two */
	uint32_t nr_restarts;
	uint64_t samples_second;         /* asked for */
	uint64_t enabled_ns, nr_samples; /* since then */
	uint64_t since_ns;               /* the next samples read are not older */
	uint32_t nr_reasons;
	uint32_t stalls[AF_PC_REASONS_MAX]; /* CUPTI's index → id */
	struct af_cupti_pc_data *data;      /* filled by GetData */
	struct af_cupti_pc_data *kept;      /* filled by CUPTI on its own */
};

extern struct af_cupti_pc_functions af_cupti_pc;

/* ---- pc.c, called by cuda.c and thread.c */

/* Does the session want sampling, and does this CUPTI have it? Once, before the first context. */
bool af_cuda_pc_start(void *library);

/* Callbacks. */
void af_cuda_pc_context(void *context);
void af_cuda_pc_context_ends(void *context);
void af_cuda_pc_context_gone(void *context); /* the same when recording is over */
void af_cuda_pc_module(uint32_t program, const struct af_cupti_module *m);
void af_cuda_pc_module_ends(void *context);

/* By the flushing thread: milliseconds until the next reading, 0 when nothing is sampled. */
uint32_t af_cuda_pc_interval_ms(void);
void af_cuda_pc_read(void);
void af_cuda_pc_read_now(void); /* whenever that is */
void af_cuda_pc_last(void);     /* before the end */
void af_cuda_pc_off(void);      /* after it, where the program goes on */

/* ---- pc_read.c, all under the lock */

/* Start sampling @context of @d, or note why not. In the callback that reports the context. */
void af_pc_begin(struct af_pc_device *d, void *context);

/* Write the samples so far. Afterwards @d->context is NULL if sampling had to end. */
void af_pc_read(struct af_pc_device *d);

/*
 * By the flushing thread, now and then: changes the period when it brings far too many or too few
 * samples, or when the buffer was full.
 */
void af_pc_adapt(struct af_pc_device *d);

/* In exact mode: end or begin a window. False: not now, because a launch takes long. */
bool af_pc_window_turn(struct af_pc_device *d);

/* Write the samples that CUPTI handed over by itself, as it does when modules come and go. */
void af_pc_kept_read(struct af_pc_device *d);

/*
 * Sampling of @d ends; write the remaining samples. CUPTI itself tears down what belongs to the
 * context.
 */
void af_pc_end(struct af_pc_device *d);

/* ---- pc_claim.c */

/*
 * Claim this GPU for this process, among all processes of the recording. 0: another process has it.
 */
uint64_t af_pc_claim(uint32_t ordinal);
void af_pc_unclaim(uint64_t claim);

/* ---- pc_setup.c */

/* Look up the functions af_cupti_pc in @library. False: *@missing is the name of one it lacks. */
bool af_pc_resolve(void *library, const char **missing);

/* A buffer for @nr instructions with @nr_reasons each; NULL without memory. Never freed. */
struct af_cupti_pc_data *af_pc_buffer(size_t nr, uint32_t nr_reasons);

/* Reset its counts, which are the room before CUPTI fills the buffer and the content afterwards. */
void af_pc_buffer_empty(struct af_cupti_pc_data *data, uint32_t nr_reasons);

/* Start sampling @d->context. False: @words tells why not and what would help. */
bool af_pc_enable(struct af_pc_device *d, char *words, size_t size);
uint32_t af_pc_disable(struct af_pc_device *d);

/* In exact mode: between start and stop, kernels run one after the other. */
uint32_t af_pc_start(struct af_pc_device *d);
uint32_t af_pc_stop(struct af_pc_device *d);

/* Describes in @words what CUPTI refused, and what would help. */
void af_pc_refusal(uint32_t rc, const char *what, char *words, size_t size);

/* ---- pc_gate.c */

/* From now on launches pass the gate. */
void af_pc_gate_use(void);
bool af_pc_gate_is_used(void);

/* A launch is about to begin: wait, half a second at most, while the gate is closed. */
void af_pc_gate_enter(void);
void af_pc_gate_leave(void);

/* By the flushing thread: wait until no thread is inside. False: some launch takes long. */
bool af_pc_gate_close(void);
void af_pc_gate_open(void);

/* ---- pc_write.c */

/* Define the reasons why @d's instructions stall. False: CUPTI did not tell them. */
bool af_pc_reasons_define(struct af_pc_device *d);

struct af_pc_window {
	uint64_t start_ns, end_ns;
	uint32_t flags; /* enum af_window_flag */
};

/* Write what CUPTI put into @data. */
void af_pc_write(const struct af_pc_device *d, const struct af_pc_window *w,
                 const struct af_cupti_pc_data *data);

/* A program's other name. */
void af_pc_crc_define(uint32_t program, uint64_t crc);

#endif
