/*
 * The part of the kernel's types that the programs read. libbpf finds where each member lies in the
 * running kernel (CO-RE, preserve_access_index), so these declarations need neither be complete nor
 * in order. A struct with ___ in its name is the same struct in another version of Linux.
 */
#ifndef AF_BPF_KERN_H
#define AF_BPF_KERN_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* level + 1 of them, the outermost namespace first */
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct atomic_counter {
	int counter;
};

struct signal_struct {
	struct atomic_counter live;
	int nr_threads; /* threads that have not ended */
	__u64 utime, stime;
	unsigned long long sum_sched_runtime;
	unsigned long maxrss;
	int group_exit_code;
};

struct mm_struct {
	unsigned long arg_start, arg_end;
};

typedef struct {
	unsigned long sig[1]; /* bit N-1: signal N */
} sigset_t;

struct task_struct {
	unsigned int flags;
	unsigned int ptrace; /* not 0: a tracer is attached */
	sigset_t blocked;
	unsigned int __state; /* since Linux 5.14 */
	int pid, tgid;
	int exit_code;
	void *stack;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct sched_entity se;
	__u64 utime, stime;
	__u64 start_time; /* CLOCK_MONOTONIC */
	char comm[16];
};

struct task_struct___before_5_14 {
	long state;
};

struct kobject {
	const char *name;
};

struct device {
	struct kobject kobj;
};

struct dma_fence {
	__u64 seqno;
};

struct drm_gpu_scheduler {
	const char *name;
	struct device *dev;
};

struct drm_sched_fence {
	struct dma_fence finished;
};

struct drm_sched_job {
	struct drm_gpu_scheduler *sched;
	struct drm_sched_fence *s_fence;
};

struct file {
	void *private_data; /* struct drm_file of a GPU's file */
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff;
	struct file *vm_file;
};

struct drm_device {
	struct device *dev;
};

struct intel_device_info {
	__u32 graphics_verx100;
};

struct xe_device { /* begins with a drm_device */
	struct intel_device_info info;
};

struct intel_ip_version {
	__u8 ver;
};

struct intel_graphics {
	struct intel_ip_version ip;
};

struct intel_runtime_info {
	struct intel_graphics graphics;
};

struct drm_i915_private { /* begins with a drm_device */
	struct intel_runtime_info __runtime;
};

struct intel_engine_cs {
	struct drm_i915_private *i915;
	char name[8]; /* "rcs0" */
};

struct i915_request {
	struct dma_fence fence;
	struct intel_engine_cs *engine;
};

struct linux_binprm {
	const char *filename;
};

#pragma clang attribute pop

enum { KERN_SIGTRAP = 5 };

/* include/linux/sched.h. None of them has changed since 5.8. */
enum {
	KERN_TICK_NS = 4000000, /* of CONFIG_HZ=250 */
	KERN_PAGE = 4096,
	KERN_PF_EXITING = 0x4,
	KERN_PF_KTHREAD = 0x200000,
	KERN_TASK_INTERRUPTIBLE = 0x1,
	KERN_TASK_UNINTERRUPTIBLE = 0x2,
	KERN_TASK_STOPPED = 0x4,
	KERN_TASK_TRACED = 0x8,
	KERN_TASK_EXIT = 0x10 | 0x20 | 0x80, /* dead, a zombie, gone */
	KERN_TASK_PARKED = 0x40,
	KERN_TASK_NOLOAD = 0x400,
	KERN_NR_EXECVE = 59, /* arch/x86/entry/syscalls/syscall_64.tbl */
	KERN_NR_EXECVEAT = 322,
};

#endif
