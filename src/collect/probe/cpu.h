/* Probes of the two CPU samplers. Each tries the real thing in a forked child. */
#ifndef AF_COLLECT_PROBE_CPU_H
#define AF_COLLECT_PROBE_CPU_H

#include <stddef.h>

struct af_err;

/*
 * Can the CPU samplers work here: by perf events with SIGTRAP, or by POSIX CPU timers? A child
 * process tries. 0, and @words describes the sampler; or -errno, and @err says why not and what to
 * do.
 */
int af_cpu_perf_probe(char *words, size_t size, struct af_err *err);
int af_cpu_timer_probe(char *words, size_t size, struct af_err *err);

#endif
