/*
 * Stand-in for hooks of a driver: uprobes on functions of submit.c, which call what hooks call.
 *
 * License of this file: Dual BSD/GPL.
 */
#include "bpf/batch.bpf.h"

/* memory_is(gpu, cpu, bytes) */
SEC("uprobe")
int memory_added(struct pt_regs *ctx)
{
	batch_memory_add(ctx->rdi, ctx->rsi, ctx->rdx);
	return 0;
}

/* memory_is_gone(gpu, bytes) */
SEC("uprobe")
int memory_removed(struct pt_regs *ctx)
{
	batch_memory_remove(ctx->rdi, ctx->rsi);
	return 0;
}

/* submit(context, version, address) */
SEC("uprobe")
int submitted(struct pt_regs *ctx)
{
	batch_submitted(ctx->rdi, ctx->rsi, ctx->rdx);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
