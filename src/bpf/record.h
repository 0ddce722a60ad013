/*
 * The records that the programs in the kernel hand to the recorder, in a ring buffer; all begin
 * with struct af_bpf_head. Both sides are built together, so nothing here is on disk.
 *
 * Process and thread ids come twice: in the recorder's pid namespace (`pid`, `tid`), and in the
 * thread's innermost one (`ns_pid`, `ns_tid`), which are the ids that the thread itself sees and
 * that libaflame writes.
 */
#ifndef AF_BPF_RECORD_H
#define AF_BPF_RECORD_H

#include <linux/types.h>

#include "batch/found.h"

#ifdef __bpf__
typedef __u64 af_bpf_address;
#else
#include <stdint.h>
typedef uint64_t af_bpf_address;
#endif

enum {
	AF_BPF_KERNEL_MAX = 64, /* frames of a stack that are kept */
	AF_BPF_USER_MAX = 128,
	AF_BPF_WORDS_MAX = 64, /* of the user's stack, copied from its top */
	/* For a call's user stack: a call has no kernel part, and uses its room. */
	AF_BPF_CALL_WORDS_MAX = AF_BPF_KERNEL_MAX + AF_BPF_WORDS_MAX,
	/* By so many ticks two clocks of one period may differ, whatever they measure. */
	AF_BPF_TICKS_BY_CHANCE = 4,
	/*
	 * A thread's samples may be so many periods behind its CPU time: the one that is just over,
	 * and one more to be sure.
	 */
	AF_BPF_BEHIND = 2,
	AF_BPF_NEW = 8,        /* periods in which every thread is found at least once */
	AF_BPF_TEXT_MAX = 512, /* bytes of a file name, and as many of the arguments */
	AF_BPF_BATCH_KERNELS = 64,
	AF_BPF_BATCH_COMMANDS = 8192, /* of a batch that are read in the kernel */
	AF_BPF_NAME = 32,             /* bytes of a ring's or a device's name */
	AF_BPF_FUNCTIONS = 128,       /* of --uprobe; a power of two */
	AF_BPF_PARTS = 4,             /* of a function's code */
};

enum af_bpf_kind {
	AF_BPF_SAMPLE = 1,
	AF_BPF_OFFCPU = 2,
	AF_BPF_WAKE = 3,
	AF_BPF_EXEC = 4,
	AF_BPF_EXIT = 5,
	AF_BPF_COMM = 6,
	AF_BPF_CALL = 7,
	AF_BPF_RECORDED_CALL = 8,
	AF_BPF_THREAD_EXIT = 9,
	AF_BPF_DRIVER_CALL = 10,
	AF_BPF_SUBMIT = 11,
	AF_BPF_WORK = 12,
	AF_BPF_BATCH = 13,
	AF_BPF_UNBOUND = 14,
	AF_BPF_FUNCTION = 15,
	AF_BPF_PASSED = 16,
};

/*
 * H(number, module, function of it, the call's name, enum af_call_category): calls of GPU drivers,
 * at the functions of Linux that get them. Each is optional.
 */
#define AF_BPF_DRIVER_HOOKS(H)                                                                     \
	H(1, xe, xe_exec_ioctl, xe_exec, LAUNCH)                                                   \
	H(2, xe, xe_vm_bind_ioctl, xe_vm_bind, OTHER)                                              \
	H(3, xe, xe_exec_queue_create_ioctl, xe_exec_queue_create, OTHER)                          \
	H(4, xe, xe_gem_mmap_offset_ioctl, xe_gem_mmap_offset, OTHER)                              \
	H(5, i915, i915_gem_do_execbuffer, i915_gem_execbuffer, LAUNCH)                            \
	H(6, i915, i915_gem_mmap_offset_ioctl, i915_gem_mmap_offset, OTHER)                        \
	H(7, i915, i915_gem_mmap, i915_gem_mmap, OTHER)                                            \
	H(8, i915, i915_gem_context_create_ioctl, i915_gem_context_create, OTHER)

enum { AF_BPF_DRIVER_HOOKS_END = 9 };

/*
 * B(program, module, function of it, fentry or fexit): where batches are seen, and the memory that
 * they lie in. Each is optional, but for the submission itself.
 */
#define AF_BPF_BATCH_HOOKS(B)                                                                      \
	B(batch_xe_exec, xe, xe_exec_ioctl, fentry)                                                \
	B(batch_xe_queue, xe, xe_exec_queue_create_ioctl, fexit)                                   \
	B(batch_xe_bind, xe, xe_vm_bind_ioctl, fexit)                                              \
	B(batch_xe_offset, xe, xe_gem_mmap_offset_ioctl, fexit)                                    \
	B(batch_i915_buffers, i915, i915_gem_execbuffer2_ioctl, fentry)                            \
	B(batch_i915_exec, i915, i915_gem_do_execbuffer, fentry)                                   \
	B(batch_i915_bind, i915, i915_gem_vm_bind_ioctl, fexit)                                    \
	B(batch_i915_offset, i915, i915_gem_mmap_offset_ioctl, fexit)                              \
	B(batch_i915_map, i915, i915_gem_mmap, fexit)                                              \
	B(batch_i915_unmap, i915, vm_close, fentry)                                                \
	B(batch_i915_memory, i915, i915_gem_mmap_ioctl, fexit)                                     \
	B(batch_i915_userptr, i915, i915_gem_userptr_ioctl, fexit)                                 \
	B(batch_map, drm, drm_gem_mmap, fexit)                                                     \
	B(batch_unmap, drm, drm_gem_vm_close, fentry)                                              \
	B(batch_ttm_unmap, ttm, ttm_bo_vm_close, fentry)

/* The part of a process that its own event samples, and that the CPU clock's event leaves out. */
enum af_bpf_cover {
	AF_BPF_COVER_USER = 1, /* user mode only */
	AF_BPF_COVER_ALL = 2,
};

struct af_bpf_covered {
	__u32 how; /* enum af_bpf_cover */
	__u32 pad;
	__u64 since_ns; /* by the kernel's own clock: without the offset of a time namespace */
	/*
	 * Ticks of the CPU's clock, and ticks of the process's own event or sampled in their place.
	 */
	__u64 nr_clock, nr_own;
	__u64 live_ns;  /* CPU time of its living threads, as far as it was seen */
	__u64 ended_ns; /* of threads that had ended by then, ~0: not known yet */
};

struct af_bpf_head {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 kind;    /* enum af_bpf_kind */
	__u32 cpu;
	__u32 pid, tid; /* 0: not visible in the recorder's namespace, or the idle task */
	__u32 ns_pid, ns_tid;
	char comm[16];
};

/*
 * SAMPLE, OFFCPU, WAKE, CALLs, SUBMIT, FUNCTION: @pcs holds the kernel's part, then the user's part
 * by frame pointers, then the top of the user's stack, with which the recorder finds functions
 * without a frame pointer.
 */
struct af_bpf_stacks {
	struct af_bpf_head head;
	__u64 out_ns;   /* OFFCPU: when it left the CPU; FUNCTION: when it began, 0: not over */
	__u64 woken_ns; /* OFFCPU: when it was woken, 0: no wake-up was seen */
	/*
	 * OFFCPU: the WAKE that ended it, 0: none; WAKE: its own number; RECORDED_CALL: the call's;
	 * SAMPLE: the periods that it stands for; SUBMIT: the address of the work's fence;
	 * FUNCTION: the thread's calls of it before that have no record
	 */
	__u64 wake;
	/*
	 * SAMPLE: 1 joins the next SAMPLE of the thread; OFFCPU: enum af_thread_state; WAKE: the
	 * thread that was woken, as it sees itself; RECORDED_CALL: the function; DRIVER_CALL: its
	 * number in AF_BPF_DRIVER_HOOKS; FUNCTION: its number in the options
	 */
	__u32 what;
	__u32 kernel_bytes, user_bytes, stack_bytes;
	af_bpf_address sp, fp; /* the user's, where @stack_bytes were copied */
	af_bpf_address pcs[AF_BPF_KERNEL_MAX + AF_BPF_USER_MAX + AF_BPF_WORDS_MAX];
};

/* EXEC: @text is the file name and, NUL-separated, the arguments; COMM: the new name. */
struct af_bpf_text {
	struct af_bpf_head head;
	__u32 file_bytes, args_bytes;
	__u64 max_rss_pages; /* EXEC: the peak of memory before it, in EXIT's, too */
	char text[2 * AF_BPF_TEXT_MAX];
};

/* EXIT: for a whole process, from its last thread. */
struct af_bpf_exit {
	struct af_bpf_head head;
	__u64 utime, stime;  /* ns as the scheduler's tick found it: their ratio */
	__u64 runtime_ns;    /* exact sum of both */
	__u64 max_rss_pages; /* 0: not known */
	__s32 status;        /* as wait(2) gives it */
	__u32 pad;
};

/* THREAD_EXIT: for each thread of a process that had more than one. */
struct af_bpf_thread_exit {
	struct af_bpf_head head;
	__u64 utime, stime, runtime_ns; /* as in EXIT, of the thread alone */
};

/* WORK: a GPU did what the SUBMIT with this fence asked for; the head is the submitter's. */
struct af_bpf_work {
	struct af_bpf_head head; /* its time: when it was done */
	__u64 fence;
	__u64 queued_ns, run_ns; /* run_ns: when the device was given it, 0: not seen */
	char ring[AF_BPF_NAME], device[AF_BPF_NAME];
};

/*
 * BATCH: the kernels that a submission to a GPU starts, as many records as they need. Of the last
 * one `stop` says why the walk was over, of those before it is 0.
 */
struct af_bpf_batch {
	struct af_bpf_head head;
	__u64 address;               /* of the batch, in the GPU's address space of the process */
	__u64 at;                    /* the command that the walk stopped at */
	struct af_batch_bases bases; /* before this batch: for another try */
	__u64 file;                  /* of the device, as the kernel has it: vm, context are its */
	__u32 vm, context;           /* an address space of the GPU; who keeps bases */
	__u32 version, stop;         /* GRAPHICS_VER; enum af_batch_stop */
	__u32 nr_commands;           /* that were read */
	__u32 nr_undescribed;        /* walkers whose descriptor could not be read */
	__u32 nr_before, nr_kernels; /* in records of this batch before, and here */
	char device[AF_BPF_NAME];    /* as sysfs names it: a PCI address; or empty */
	struct af_batch_kernel kernels[AF_BPF_BATCH_KERNELS];
};

/* UNBOUND: memory that the GPU has no more in that address space. */
struct af_bpf_unbound {
	struct af_bpf_head head;
	__u64 file, gpu, bytes;
	__u32 vm, pad;
};

/* The map `batch_bases`: what the GPU keeps of a context from batch to batch. */
struct af_bpf_batch_context {
	__u64 file;
	__u32 context, pad;
};

/* A file numbers its queues, its buffers, and the places to map them from. */
struct af_bpf_batch_number {
	__u64 file;
	__u32 number, pad;
};

/* The map `batch_buffers`: where the GPU has a buffer, and where a process has it. */
struct af_bpf_batch_buffer {
	__u64 gpu, gpu_bytes, gpu_from; /* bytes, from that byte of the buffer on; 0: nowhere */
	__u64 cpu, cpu_bytes, cpu_from;
	__u32 vm, pid; /* pid: who mapped it, in the kernel's own numbers */
};

/*
 * The map `batch_memory`: where processes have the GPU's memory in their own. Ranges are kept in
 * blocks of a power of two, the longest prefix of an address finds its block.
 */
struct af_bpf_batch_key {
	__u32 bits;      /* of the members below that are given */
	__u32 vm;        /* an address space of @file */
	__u64 file;      /* of a device, as the kernel has it */
	__u8 address[8]; /* big-endian */
};

struct af_bpf_batch_range {
	__u64 gpu, bytes, cpu; /* the whole range; cpu 0: no process has it in its own memory */
	__u32 handle, pad;     /* of the buffer, 0: memory of a process */
};

/*
 * PASSED: calls of a thread that have no FUNCTION of their own, by number of the function. Its
 * first part is the record; all of it is the thread's value in the map `turns`.
 */
struct af_bpf_turns {
	struct af_bpf_head head;
	__u32 passed[AF_BPF_FUNCTIONS];
	__u32 open[AF_BPF_FUNCTIONS]; /* … those that get one when they return, so far not */
	__u32 left[AF_BPF_FUNCTIONS]; /* calls until the next that gets a FUNCTION */
};

/* The cookie of a function's entry: its number, and … */
enum {
	AF_BPF_RETURNS_BIT = 8, /* its returns are probed */
	AF_BPF_EXIT_SHIFT = 9,  /* number of the exit that its first instruction is, plus 1 */
	AF_BPF_EXIT_MASK = 0x7fffff,
	AF_BPF_EVERY_SHIFT = 32, /* calls that share one record */
};

/*
 * The map `exits`: an instruction that leaves a function, or may. Addresses are those of the file;
 * members are as in struct af_watch_exit.
 */
struct af_bpf_exit_site {
	__u64 address;
	__s64 add;
	__u64 starts[AF_BPF_PARTS], sizes[AF_BPF_PARTS];
	__u32 function;
	__u8 how, condition, base, index;
	__u32 scale, pad;
};

/* The map `frames`: calls that are under way, by the stack pointer as they begin and end. */
struct af_bpf_frame_key {
	__u64 sp;
	__u32 tid, pad; /* the kernel's own */
};

struct af_bpf_frame {
	__u64 begin_ns;
	__u32 function, pad;
};

enum af_bpf_count {
	AF_BPF_COUNT_RING_FULL = 0, /* records that the ring had no room for */
	AF_BPF_COUNT_NO_SLOT = 1,   /* threads whose blocking could not be remembered */
	AF_BPF_COUNT_NO_CALLER = 2, /* calls of a thread that there was no room for */
	AF_BPF_COUNTS = 3,
};

#endif
