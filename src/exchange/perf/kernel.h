/*
 * Recognises files of the operating system kernel by perf's names for them.
 */
#ifndef AF_EXCHANGE_PERF_KERNEL_H
#define AF_EXCHANGE_PERF_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is @module, as perf and the tools that followed it print it, the kernel, one of its modules or
 * BPF code: "[kernel.kallsyms]", "[nf_tables]", "/usr/lib/debug/boot/vmlinux-6.1.0-18-amd64",
 * "/lib/modules/…/nvme.ko.xz", "bpf_prog_6deef7357e7b4530_sd_egress"?
 */
bool perf_kernel_module(const char *module, size_t len);

#endif
