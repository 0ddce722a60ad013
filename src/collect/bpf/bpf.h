/*
 * The collector `bpf`: data that the kernel has and libaflame lacks. CPU samples of every process
 * in scope (static programs, running ones, or all), their kernel stacks, the time that threads were
 * off the CPU and who woke them, and the lives of processes. It is a watcher (watcher.h) that has
 * every function but wanted() and run().
 */
#ifndef AF_COLLECT_BPF_BPF_H
#define AF_COLLECT_BPF_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_err;
struct af_watch_options;
struct af_watcher_ops;

/* af_collector_ops.probe: loads and attaches the real programs for a moment. */
int af_bpf_probe(char *words, size_t size, struct af_err *err);

/*
 * The same for a recording with @o of processes that it starts. The programs stay loaded, and the
 * watcher that is opened with these options takes them over: loading them is most of the cost of
 * starting a recording.
 */
int af_bpf_prepare(const struct af_watch_options *o, uint64_t period_ns, char *words, size_t size,
                   struct af_err *err);

/*
 * Try, too, how much can be seen of the kernel's GPU drivers, for programs without libaflame.
 * False: nothing, and @words has the reason.
 */
bool af_bpf_drivers_probe(char *words, size_t size);

extern const struct af_watcher_ops af_bpf_watcher;

#endif
