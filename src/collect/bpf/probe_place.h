/*
 * Where at a function's entry a probe of the kernel (a uprobe) is cheap. Instructions that the
 * kernel follows by itself (push, jumps, nops: arch/x86/kernel/uprobes.c) cost it a tenth of those
 * that it must let the processor step over.
 */
#ifndef AF_COLLECT_BPF_PROBE_PLACE_H
#define AF_COLLECT_BPF_PROBE_PLACE_H

#include <stdint.h>

enum { AF_PROBE_CODE = 24 /* bytes that are worth looking at */ };

/*
 * How many bytes from the entry, whose first @size bytes are @code, the probe goes. Up to there
 * registers that hold arguments, the stack pointer and what is on the stack are the caller's.
 * x86-64.
 */
uint32_t af_probe_place(const uint8_t *code, uint32_t size);

#endif
