/*
 * Samples of device instructions, for a trace builder: how often an instruction was found in a
 * window of time, why it did not issue, and to which launch of the code it belongs. Profilers of
 * this kind tell neither when a kernel ran nor for how long, only from which stack it was launched.
 *
 *	af_builder_window, af_builder_code → af_builder_launch, af_builder_insn → af_builder_stall
 *
 * Indexes are made when new; all of this is stored in the builder. 24 bytes a stall.
 */
#ifndef AF_EXCHANGE_BUILDER_STALLS_H
#define AF_EXCHANGE_BUILDER_STALLS_H

#include <stdint.h>

#include "base/map.h"

struct af_builder;

/* A function of device code. Names are of builder->names. */
struct af_builder_code {
	uint32_t process, name, file; /* file: of its source, 0 not known */
};

/* A kernel, as launched from one stack; 0 is none. */
struct af_builder_launch {
	uint32_t code, node; /* node: 0 when the stack is not known */
};

struct af_builder_insn {
	uint32_t code, offset;
	uint32_t text, line; /* 0: not known */
};

struct af_builder_window {
	uint64_t start_ns, end_ns;
};

struct af_builder_stall {
	uint32_t window, process;
	uint32_t launch;         /* 0: in unknown code; nothing else of the sample is then known */
	uint32_t offset, reason; /* reason: of builder->names, 0: unknown */
	uint32_t count;
};

struct af_builder_stalls {
	struct af_builder_code *codes;
	struct af_builder_launch *launches;
	struct af_builder_insn *insns;
	struct af_builder_window *windows;
	struct af_builder_stall *stalls;
	uint64_t nr, cap;
	uint32_t nr_codes, cap_codes, nr_launches, cap_launches, nr_insns, cap_insns;
	uint32_t nr_windows, cap_windows;
	struct af_map by_code, by_launch, by_insn;
};

void builder_stalls_free(struct af_builder_stalls *s); /* a zeroed one is fine */

/* The index of a code, made when new. @code is copied. */
uint32_t af_builder_code(struct af_builder *d, const struct af_builder_code *code);
/* The index of a launch, from 1 on. A @node of 0 is a launch whose stack is not known. */
uint32_t af_builder_launch(struct af_builder *d, uint32_t code, uint32_t node);
/* Describe the instruction at @offset; a later description of the same one is ignored. */
void af_builder_insn(struct af_builder *d, const struct af_builder_insn *insn);
/*
 * The index of a window; windows come in order of time. An invalid window is UINT32_MAX, and
 * counted.
 */
uint32_t af_builder_window(struct af_builder *d, uint64_t start_ns, uint64_t end_ns);
void af_builder_stall(struct af_builder *d, const struct af_builder_stall *s);

#endif
