/*
 * Calls of the functions that --uprobe names, at uprobes on their entries. Needs Linux 5.15
 * (bpf_get_attach_cookie), and is loaded only where such functions are given.
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_FUNCTIONS_BPF_H
#define AF_BPF_FUNCTIONS_BPF_H

#include "bpf/calls.bpf.h"
#include "bpf/turns.bpf.h"

/* The thread's, made at its first call; NULL: there is no room for it. */
static __always_inline struct af_bpf_turns *turns_of(__u32 tid)
{
	struct af_bpf_turns *t = bpf_map_lookup_elem(&turns, &tid), *empty;
	__u32 zero = 0;

	if (t)
		return t;
	empty = bpf_map_lookup_elem(&no_turns, &zero);
	if (!empty || bpf_map_update_elem(&turns, &tid, empty, BPF_NOEXIST))
		return 0;
	t = bpf_map_lookup_elem(&turns, &tid);
	if (t)
		head_fill(&t->head, AF_BPF_PASSED, (void *)bpf_get_current_task());
	return t;
}

/*
 * The cookie has the function's number, and above 32 bits how many calls of it share one record.
 * A thread without turns has a record for every call.
 */
SEC("uprobe")
int function_call(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 function = cookie & (AF_BPF_FUNCTIONS - 1), every = cookie >> 32;
	__u32 tid = bpf_get_current_pid_tgid();

	if (silent || !in_scope(seen_current()))
		return 0;
	struct af_bpf_turns *t = turns_of(tid);
	if (!t) {
		call_record(ctx, AF_BPF_FUNCTION, function, 0);
		return 0;
	}
	if (t->left[function]) {
		t->left[function]--;
		t->passed[function]++;
	} else if (call_record(ctx, AF_BPF_FUNCTION, function, t->passed[function])) {
		t->passed[function] = 0;
		t->left[function] = every - 1;
	} else {
		t->passed[function]++;
	}
	return 0;
}

#endif
