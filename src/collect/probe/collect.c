#include "collect/probe/collect.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "collect/bpf/bpf.h"
#include "collect/probe/cpu.h"
#include "collect/xe/eustall.h"
#include "collect/xe_oa/oa.h"
#include "collect/zet/meters.h"
#include "collect/zet/stall.h"
#include "trace/write/session.h"

/* Threads of processes that carry libaflame are sampled by their own event where that works. */
static const struct af_collector_ops collector_bpf = {
    .name = "bpf",
    .summary = "CPU samples with kernel stacks, of any process; off-CPU time and wakers",
    .cpu_mode = AF_CPU_PERF,
    .flags = AF_SESSION_KERNEL,
    .probe = af_bpf_probe,
};

static const struct af_collector_ops collector_perf = {
    .name = "perf",
    .summary = "CPU samples by perf_event_open: user mode, exact rate, all threads",
    .cpu_mode = AF_CPU_PERF,
    .probe = af_cpu_perf_probe,
};

static const struct af_collector_ops collector_timer = {
    .name = "timer",
    .summary = "CPU samples by per-thread CPU-time timers: works where perf events are refused",
    .cpu_mode = AF_CPU_TIMER,
    .probe = af_cpu_timer_probe,
};

static const struct af_collector_ops collector_opencl = {
    .name = "opencl",
    .summary = "OpenCL kernels and copies, with the stack of each enqueue",
    .flags = AF_SESSION_OPENCL,
    .probe = af_opencl_probe,
};

static const struct af_collector_ops collector_cuda = {
    .name = "cuda",
    .summary = "CUDA kernels, copies, graphs and memory, with the stack of each call",
    .flags = AF_SESSION_CUDA,
    .probe = af_cuda_probe,
};

static const struct af_collector_ops collector_ze = {
    .name = "ze",
    .summary = "Level Zero kernels, copies and command lists, with the stack of each call",
    .flags = AF_SESSION_ZE,
    .probe = af_ze_probe,
};

/* Its calls are recorded by --api, or where the kernel has AMD's driver. */
static const struct af_collector_ops collector_hip = {
    .name = "hip",
    .summary = "calls of AMD's HIP with their arguments, and the stack of each launch",
    .probe = af_hip_probe,
};

static const struct af_collector_ops collector_kokkos = {
    .name = "kokkos",
    .summary = "kernels, copies and regions of Kokkos, as ranges",
    .flags = AF_SESSION_KOKKOS,
    .probe = af_kokkos_probe,
};

static const struct af_collector_ops collector_itt = {
    .name = "itt",
    .summary = "tasks, frames, markers and counters of Intel's ITT, as ranges",
    .flags = AF_SESSION_ITT,
    .probe = af_itt_probe,
};

static const struct af_collector_ops collector_omp = {
    .name = "omp",
    .summary = "OpenMP target regions and their data transfers, with the stack of each",
    .flags = AF_SESSION_OMP,
    .probe = af_omp_probe,
};

/* A part of CUDA's, which --gpu-samples turns on. */
static const struct af_collector_ops collector_cuda_pc = {
    .name = "cuda-pc",
    .summary = "samples of the instructions that NVIDIA GPUs execute, and why they stall",
    .probe = af_cuda_pc_probe,
};

/* These sample from outside the program, and --gpu-samples turns them on. */
static const struct af_collector_ops collector_xe = {
    .name = AF_COLLECTOR_XE,
    .summary = "samples of the instructions that Intel GPUs execute, and why they stall",
    .probe = af_xe_eustall_probe,
};

static const struct af_collector_ops collector_i915 = {
    .name = AF_COLLECTOR_I915,
    .summary = "the same by Intel's own i915 driver for Ponte Vecchio",
    .probe = af_i915_eustall_probe,
};

static const struct af_collector_ops collector_zet = {
    .name = AF_COLLECTOR_ZET,
    .summary = "the same by Level Zero, where the kernel does not give it",
    .probe = af_zet_stall_probe,
};

static const struct af_collector_ops collector_xe_oa = {
    .name = AF_COLLECTOR_XE_OA,
    .summary = "frequency and activity of Intel GPUs over time",
    .probe = af_xe_oa_probe,
};

static const struct af_collector_ops collector_zet_metrics = {
    .name = AF_COLLECTOR_ZET_METRICS,
    .summary = "counters of Intel GPUs over time by Level Zero: a metric group that is named",
    .probe = af_zet_meters_probe,
};

const struct af_collector_ops *const af_collectors[] = {
    &collector_bpf,
    &collector_perf,
    &collector_timer,
    &collector_opencl,
    &collector_cuda,
    &collector_cuda_pc,
    &collector_ze,
    &collector_hip,
    &collector_kokkos,
    &collector_itt,
    &collector_omp,
    &collector_xe,
    &collector_i915,
    &collector_zet,
    &collector_xe_oa,
    &collector_zet_metrics,
    NULL,
};

const struct af_collector_ops *af_collector_find(const char *name)
{
	for (int i = 0; af_collectors[i]; i++)
		if (!strcmp(af_collectors[i]->name, name))
			return af_collectors[i];
	return NULL;
}

const struct af_collector_ops *af_collector_best_cpu(char *why, size_t size)
{
	char words[256] = "";
	struct af_err first = {0};

	if (!af_cpu_perf_probe(words, sizeof words, &first)) {
		snprintf(why, size, "perf: %s", words);
		return &collector_perf;
	}
	struct af_err second = {0};
	if (!af_cpu_timer_probe(words, sizeof words, &second)) {
		snprintf(why, size, "timer: perf is not usable here (%s); %s", first.msg, words);
		return &collector_timer;
	}
	snprintf(why, size, "no CPU samples: %s; %s", first.msg, second.msg);
	return NULL;
}
