/*
 * The collectors of this build, for `record` to choose from and for `doctor` to judge. The part of
 * a collector that runs in the target is in src/inject; its probe is here.
 */
#ifndef AF_COLLECT_PROBE_COLLECT_H
#define AF_COLLECT_PROBE_COLLECT_H

#include <stddef.h>
#include <stdint.h>

struct af_err;

struct af_collector_ops {
	const char *name;    /* the name that users type after --sample or --api */
	const char *summary; /* one line: what it records */
	uint32_t cpu_mode;   /* enum af_cpu_mode, 0 when it does not sample the CPU */
	uint32_t flags;      /* enum af_session_flag it sets in the session */

	/*
	 * Can it work here? Without side effects. 0: yes, and @words describe what was found; else
	 * -errno and a message that names the fix.
	 */
	int (*probe)(char *words, size_t size, struct af_err *err);
};

/* NULL-terminated; of two that do the same the better comes first. */
extern const struct af_collector_ops *const af_collectors[];

/* The collector of that name, or NULL. */
const struct af_collector_ops *af_collector_find(const char *name);

/*
 * Probe `perf` then `timer`; NULL when neither works. @why gets a line for the NOTE and the user.
 */
const struct af_collector_ops *af_collector_best_cpu(char *why, size_t size);

/* Where libaflame.so is, for the probes that load it; the string stays the caller's. */
void af_collect_library(const char *path);

/* src/collect/probe/opencl.c */
int af_opencl_probe(char *words, size_t size, struct af_err *err);

/* src/collect/probe/cuda.c */
int af_cuda_probe(char *words, size_t size, struct af_err *err);
int af_cuda_pc_probe(char *words, size_t size, struct af_err *err);

/* src/collect/probe/hip.c */
int af_hip_probe(char *words, size_t size, struct af_err *err);

/* src/collect/probe/ze.c */
int af_ze_probe(char *words, size_t size, struct af_err *err);

/* src/collect/probe/omp.c */
int af_omp_probe(char *words, size_t size, struct af_err *err);

/* src/collect/probe/tools.c */
int af_kokkos_probe(char *words, size_t size, struct af_err *err);
int af_itt_probe(char *words, size_t size, struct af_err *err);

#endif
