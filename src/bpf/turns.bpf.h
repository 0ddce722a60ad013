/*
 * Reports the calls that have no record when their thread ends or runs another program.
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_TURNS_BPF_H
#define AF_BPF_TURNS_BPF_H

#include "bpf/stacks.bpf.h"

static __always_inline void turns_end(__u32 tid)
{
	struct af_bpf_turns *t = bpf_map_lookup_elem(&turns, &tid);

	if (!t)
		return;
	t->head.time_ns = clock_ns();
	emit(t, __builtin_offsetof(struct af_bpf_turns, left));
	bpf_map_delete_elem(&turns, &tid);
}

#endif
