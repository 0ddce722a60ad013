/*
 * Finds the place at a function's entry where a probe of the kernel (a uprobe) is cheap.
 * Instructions that the kernel emulates (push, jumps, nops: arch/x86/kernel/uprobes.c) cost a tenth
 * of those that it must single-step.
 */
#ifndef AF_COLLECT_BPF_PROBE_PLACE_H
#define AF_COLLECT_BPF_PROBE_PLACE_H

#include <stdint.h>

enum { AF_PROBE_CODE = 24 /* bytes that are worth looking at */ };

/*
 * The offset of the probe from the entry, whose first @size bytes are @code. Up to there the
 * argument registers, the stack pointer and the stack's content are the caller's. x86-64.
 */
uint32_t af_probe_place(const uint8_t *code, uint32_t size);

#endif
