/*
 * Stand-in for hooks of a driver: uprobes on functions of submit.c, which call what hooks call.
 *
 * License of this file: Dual BSD/GPL.
 */
#include "bpf/batch.bpf.h"

/* Each process is an address space of a GPU here. */
static __always_inline struct batch_space own_space(void)
{
	struct batch_space space = {.file = 1, .vm = bpf_get_current_pid_tgid() >> 32};

	return space;
}

/* memory_is(gpu, cpu, bytes) */
SEC("uprobe")
int memory_added(struct pt_regs *ctx)
{
	struct batch_change *c = batch_change();

	if (!c)
		return 0;
	c->space = own_space();
	batch_memory_add(c, ctx->rdi, ctx->rsi, ctx->rdx);
	return 0;
}

/* memory_is_gone(gpu, bytes) */
SEC("uprobe")
int memory_removed(struct pt_regs *ctx)
{
	struct batch_change *c = batch_change();

	if (!c)
		return 0;
	c->space = own_space();
	batch_memory_remove(c, ctx->rdi, ctx->rsi);
	return 0;
}

/* submit(context, version, address) */
SEC("uprobe")
int submitted(struct pt_regs *ctx)
{
	struct batch_space space = own_space();
	struct batch_submission is = {.context = ctx->rdi, .version = ctx->rsi};

	batch_submitted(&space, &is, ctx->rdx);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
