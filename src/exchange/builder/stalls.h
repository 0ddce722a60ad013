/*
 * Samples of device instructions, for a trace builder: how often an instruction was found in a
 * window of time, why it did not issue, and to which launch of the code it belongs. Profilers of
 * this kind tell neither when a kernel ran nor for how long, only from which stack it was launched.
 *
 *	af_draft_window, af_draft_code → af_draft_launch, af_draft_insn → af_draft_stall
 *
 * Indexes are made when new; all of this is stored in the draft. 24 bytes a stall.
 */
#ifndef AF_EXCHANGE_BUILDER_STALLS_H
#define AF_EXCHANGE_BUILDER_STALLS_H

#include <stdint.h>

#include "base/map.h"

struct af_draft;

/* A function of device code. Names are of draft->names. */
struct af_draft_code {
	uint32_t process, name, file; /* file: of its source, 0 not known */
};

/* A kernel, as launched from one stack; 0 is none. */
struct af_draft_launch {
	uint32_t code, node; /* node: 0 when the stack is not known */
};

struct af_draft_insn {
	uint32_t code, offset;
	uint32_t text, line; /* 0: not known */
};

struct af_draft_window {
	uint64_t start_ns, end_ns;
};

struct af_draft_stall {
	uint32_t window, process;
	uint32_t launch;         /* 0: in unknown code; nothing else of the sample is then known */
	uint32_t offset, reason; /* reason: of draft->names, 0: not told */
	uint32_t count;
};

struct af_draft_stalls {
	struct af_draft_code *codes;
	struct af_draft_launch *launches;
	struct af_draft_insn *insns;
	struct af_draft_window *windows;
	struct af_draft_stall *stalls;
	uint64_t nr, cap;
	uint32_t nr_codes, cap_codes, nr_launches, cap_launches, nr_insns, cap_insns;
	uint32_t nr_windows, cap_windows;
	struct af_map by_code, by_launch, by_insn;
};

void draft_stalls_free(struct af_draft_stalls *s); /* a zeroed one is fine */

/* The index of a code, made when new. @code is copied. */
uint32_t af_draft_code(struct af_draft *d, const struct af_draft_code *code);
/* The index of a launch, from 1 on. A @node of 0 is a launch whose stack is not known. */
uint32_t af_draft_launch(struct af_draft *d, uint32_t code, uint32_t node);
/* Describe the instruction at @offset; a later description of the same one is ignored. */
void af_draft_insn(struct af_draft *d, const struct af_draft_insn *insn);
/*
 * The index of a window; windows come in order of time. An invalid window is UINT32_MAX, and
 * counted.
 */
uint32_t af_draft_window(struct af_draft *d, uint64_t start_ns, uint64_t end_ns);
void af_draft_stall(struct af_draft *d, const struct af_draft_stall *s);

#endif
