/* Shared by the files of this room. */
#ifndef AF_INJECT_PROBE_PRIVATE_H
#define AF_INJECT_PROBE_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/write/probes.h"

/* The stack at a probe, from entry.c's frame pointer on. */
struct probe_frame {
	uint64_t fp, flags; /* of the caller */
	uint64_t back;      /* in the stub */
	uint64_t number;    /* of the probe; PROBE_LOADS: of ld.so, when it has loaded something */
	uint64_t ra;        /* where the function returns to */
			    /* The caller's stack pointer after that is behind it. */
};

enum { PROBE_LOADS = 0x7fffffff };

/* False where this machine cannot keep all registers. */
bool probe_entry_prepare(void);

/* The code that stubs call. */
void probe_entry(void);

/* Called by it. */
void probe_hit(const struct probe_frame *frame);

/* Place @probes, @nr of them, now and in what is loaded later. */
void probe_patch_start(const struct af_probe *probes, uint32_t nr);

/* In what is there now. */
void probe_patch_modules(void);

/* Where the function of probe @number lies. */
uint64_t probe_address(uint64_t number);

#endif
