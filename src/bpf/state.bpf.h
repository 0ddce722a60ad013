/*
 * State of the programs: what the recorder sets, and the maps. Maps of Linux 5.8 only.
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_STATE_BPF_H
#define AF_BPF_STATE_BPF_H

#include "base/system/handler_mask.h"
#include "bpf/kern.h"
#include "bpf/record.h"

/* Set by the recorder before the programs are loaded. */
const volatile __u32 recorder_pid;        /* in its own namespace */
const volatile __u32 recorder_ns;         /* its pid namespace, 0: the initial one */
const volatile __u64 period_ns;           /* of samples */
const volatile __u64 begun_ns;            /* when they began, by the kernel's own clock */
const volatile __s64 ahead_ns;            /* the recorder's clock, by its time namespace */
const volatile __u64 min_block_ns;        /* shorter blocks are not reported */
const volatile _Bool all_processes;       /* not only those in `scope` */
const volatile _Bool wakers;              /* also who ended a block */
const volatile _Bool mutes;               /* 0 from task_sample() keeps the signal back */
const volatile __u64 ring_low = 64 << 10; /* bytes in the ring that are worth a wake-up */

/* Changed by it at run time. */
_Bool adopts; /* what the recorder forks now is to be recorded */
_Bool silent; /* nothing is recorded, but whom it would be about is followed */
_Bool probes; /* calls of device APIs are seen */

__u64 counts[AF_BPF_COUNTS];

/* Records, on their way to the recorder. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* Processes to record, by pid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u32);
} scope SEC(".maps");

/* Processes with an event of their own. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct af_bpf_covered);
} covered SEC(".maps");

/* The time of a thread that samples stand for, and the time that it used. */
struct balance {
	__u64 since_ns; /* when this began */
	__s64 lead;     /* ticks of CPUs' clocks that its own event has not had yet */
	__u64 nr;       /* periods that its samples stand for */
	__u64 base_ns;  /* its CPU time before the first of them */
	__u64 seen_ns;  /* its CPU time that its process's counts */
	__u64 whole;    /* nr stands for all its CPU time, not only for user mode */
};

/* By the kernel's own tid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct balance);
} balances SEC(".maps");

/* Threads that were on a CPU once; out_ns is set while they are off it. By the kernel's own tid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u32);
	__type(value, struct af_bpf_stacks);
} slots SEC(".maps");

/*
 * Threads that called a device's API, by the kernel's own tid. A uprobe's program may be preempted,
 * and another thread then be in it on the same CPU: its records are put together here.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct af_bpf_stacks);
} callers SEC(".maps");

/*
 * Threads that called a function of --uprobe, by the kernel's own tid. The recorder makes room for
 * them where there are any.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct af_bpf_turns);
} turns SEC(".maps");

/*
 * Calls of theirs that are under way. A call that is left by an exception or a longjmp stays until
 * another one has its place on the stack, or is dropped as the oldest.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct af_bpf_frame_key);
	__type(value, struct af_bpf_frame);
} frames SEC(".maps");

/* Where they end. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct af_bpf_exit_site);
} exits SEC(".maps");

/* A value of it is so at first: never written to. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct af_bpf_turns);
} no_turns SEC(".maps");

/*
 * Where records are put together. A sample may interrupt the making of another kind of record on
 * its CPU, so each kind has its own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, struct af_bpf_stacks);
} stacks_scratch SEC(".maps");

/* A sample with two pages of the user's stack. */
struct whole {
	struct af_bpf_stacks s;
	char more[2 * KERN_PAGE];
};

/* Where such a sample is put together. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct whole);
} whole_scratch SEC(".maps");

/* Where records with texts are put together. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct af_bpf_text);
} text_scratch SEC(".maps");

/* By CPU: the number of the last record of a wake-up. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} wake_numbers SEC(".maps");

enum { SCRATCH_SAMPLE = 0, SCRATCH_WAKE = 1, SCRATCH_SLOT = 2 };

#endif
