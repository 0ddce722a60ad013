/*
 * The collector `bpf`: what the kernel can tell of programs and libaflame cannot. CPU samples of
 * every process in scope (also static ones, running ones, all), their kernel stacks, the time that
 * threads were off the CPU and who woke them, and the lives of processes. A watcher (watcher.h)
 * that knows every function but wanted() and run().
 */
#ifndef AF_COLLECT_BPF_BPF_H
#define AF_COLLECT_BPF_BPF_H

#include <stddef.h>
#include <stdint.h>

struct af_err;
struct af_watch_options;
struct af_watcher_ops;

/* af_collector_ops.probe: loads and attaches the real programs for a moment. */
int af_bpf_probe(char *words, size_t size, struct af_err *err);

/*
 * The same for a recording by @o of what it starts: the programs stay loaded, and the watcher that
 * is opened with these options takes them. To load them is most of what the beginning of a
 * recording costs.
 */
int af_bpf_prepare(const struct af_watch_options *o, uint64_t period_ns, char *words, size_t size,
                   struct af_err *err);

extern const struct af_watcher_ops af_bpf_watcher;

#endif
