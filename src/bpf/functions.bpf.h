/*
 * Calls of the functions that --uprobe names, at uprobes on their entries, and on their exits where
 * times are wanted. Needs Linux 5.15 (bpf_get_attach_cookie), and is loaded only where such
 * functions are given.
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_FUNCTIONS_BPF_H
#define AF_BPF_FUNCTIONS_BPF_H

#include "bpf/calls.bpf.h"
#include "bpf/exits.bpf.h"
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
 * The call under way whose place on the stack is that of the thread now. At the entry and at each
 * exit of a function the stack pointer is the same: it is where the return address lies.
 */
static __always_inline struct af_bpf_frame_key frame_key(struct pt_regs *ctx, __u32 tid)
{
	return (struct af_bpf_frame_key){.sp = ctx->rsp, .tid = tid};
}

/* The call gets its record when it is over. False: there is no room to remember it. */
static __always_inline _Bool frame_open(struct pt_regs *ctx, __u32 tid, __u32 function)
{
	struct af_bpf_frame_key key = frame_key(ctx, tid);
	struct af_bpf_frame frame = {.begin_ns = clock_ns(), .function = function};

	if (!bpf_map_update_elem(&frames, &key, &frame, BPF_ANY))
		return 1;
	bpf_map_delete_elem(&frames, &key); /* of an earlier call */
	return 0;
}

/*
 * An instruction that may end a call. Where a call that had this place on the stack was left
 * without an exit, a later call has taken the place over at its entry.
 */
static __always_inline void frame_close(struct pt_regs *ctx, __u32 number, __u64 now)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct af_bpf_frame_key key = frame_key(ctx, tid);
	struct af_bpf_frame *frame = bpf_map_lookup_elem(&frames, &key);
	const struct af_bpf_exit_site *at = frame ? bpf_map_lookup_elem(&exits, &number) : 0;

	if (!frame || !at || frame->function != at->function || !exit_is(ctx, at))
		return;
	__u64 begin_ns = frame->begin_ns;
	__u32 function = at->function & (AF_BPF_FUNCTIONS - 1);
	bpf_map_delete_elem(&frames, &key);
	struct af_bpf_turns *t = bpf_map_lookup_elem(&turns, &tid);
	/* It stays one of those that did not return, or was counted so when its thread was over. */
	if (!t || silent || !t->open[function])
		return;
	t->open[function]--;
	if (call_record(ctx, AF_BPF_FUNCTION, function, t->passed[function], begin_ns, now))
		t->passed[function] = 0;
	else
		t->passed[function]++;
}

static __always_inline void call_take_turn(struct pt_regs *ctx, struct af_bpf_turns *t,
                                           __u64 cookie)
{
	__u32 function = cookie & (AF_BPF_FUNCTIONS - 1), every = cookie >> AF_BPF_EVERY_SHIFT;
	__u32 tid = bpf_get_current_pid_tgid();
	_Bool returns = cookie >> AF_BPF_RETURNS_BIT & 1;

	if (t->left[function]) {
		struct af_bpf_frame_key key = frame_key(ctx, tid);
		t->left[function]--;
		t->passed[function]++;
		if (returns)
			bpf_map_delete_elem(&frames, &key);
	} else if (returns && frame_open(ctx, tid, function)) {
		t->open[function]++;
		t->left[function] = every - 1;
	} else if (call_record(ctx, AF_BPF_FUNCTION, function, t->passed[function], 0,
	                       clock_ns())) {
		t->passed[function] = 0;
		t->left[function] = every - 1;
	} else {
		t->passed[function]++;
	}
}

static __always_inline void call_enter(struct pt_regs *ctx, __u64 cookie)
{
	struct af_bpf_turns *t = turns_of(bpf_get_current_pid_tgid());

	if (t)
		call_take_turn(ctx, t, cookie);
	else /* every call has a record then */
		call_record(ctx, AF_BPF_FUNCTION, cookie & (AF_BPF_FUNCTIONS - 1), 0, 0,
		            clock_ns());
}

/*
 * See AF_BPF_RETURNS_BIT for the cookie. If the function's first instruction is an exit, one probe
 * is both, because the order of two would be the kernel's.
 */
SEC("uprobe")
int function_call(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 number = cookie >> AF_BPF_EXIT_SHIFT & AF_BPF_EXIT_MASK;

	if (silent || !in_scope(seen_current()))
		return 0;
	call_enter(ctx, cookie);
	if (number)
		frame_close(ctx, number - 1, clock_ns());
	return 0;
}

/* At an exit: the cookie is its number. */
SEC("uprobe")
int function_exit(struct pt_regs *ctx)
{
	__u64 now = clock_ns();

	frame_close(ctx, bpf_get_attach_cookie(ctx), now);
	return 0;
}

#endif
