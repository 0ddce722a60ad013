/*
 * Batch buffers of Intel GPUs, read in the kernel at the moment they are submitted: struct
 * af_bpf_batch has the kernels that they start. A driver's hook, in the process that submits, calls
 *
 *	batch_submitted(context, version, address)
 *
 * and hooks that see where the process has the GPU's memory in its own call batch_memory_add() and
 * batch_memory_remove() before. A batch that is not written yet, or that lies where this program
 * may not read, is handed out with the reason: the recorder tries again (collect/batches).
 *
 * The walker is batch/walk.h's, a command for each step of bpf_loop(): programs that call
 * batch_submitted() or batch_memory_add() need Linux 5.17.
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_BATCH_BPF_H
#define AF_BPF_BATCH_BPF_H

#include "bpf/stacks.bpf.h"

__u64 batch_lost;        /* batches that were not read: too many others were at the same time */
__u64 batch_lost_memory; /* blocks of memory that there was no room for */

/* Where a walk reads; the range that it read last. */
struct af_batch_reader {
	struct af_bpf_batch_range range;
	__u32 pid;
};

/* Where processes have the GPU's memory in their own. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct af_bpf_batch_key);
	__type(value, struct af_bpf_batch_range);
} batch_memory SEC(".maps");

/* The bases that the GPU keeps with a context from batch to batch. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct af_bpf_batch_context);
	__type(value, struct af_batch_bases);
} batch_bases SEC(".maps");

struct batch_state {
	struct af_batch_walk walk;
	struct af_batch_reader reader;
	struct af_bpf_batch record;
};

/* Walks under way, by the kernel's own tid: their programs may be preempted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct batch_state);
} batch_walks SEC(".maps");

/* The state in which a walk begins; nobody writes to it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct batch_state);
} batch_empty SEC(".maps");

/* ---- memory ---- */

static __always_inline void batch_key_set(struct af_bpf_batch_key *key, __u32 pid, __u64 address,
                                          __u32 bits)
{
	__u64 big = __builtin_bswap64(address);

	key->bits = 32 + bits;
	key->pid = pid;
	__builtin_memcpy(key->address, &big, sizeof big);
}

static __always_inline int batch_read(struct af_batch_reader *r, __u64 address, void *to,
                                      __u32 bytes)
{
	if (address - r->range.gpu >= r->range.bytes) {
		struct af_bpf_batch_key key;
		batch_key_set(&key, r->pid, address, 64);
		const struct af_bpf_batch_range *found = bpf_map_lookup_elem(&batch_memory, &key);
		if (!found)
			return -1;
		r->range = *found;
	}
	__u64 offset = address - r->range.gpu;
	if (offset >= r->range.bytes || bytes > r->range.bytes - offset)
		return -1;
	asm volatile("" : "+r"(bytes));
	if (bytes > AF_BATCH_BYTES)
		return -1;
	return bpf_probe_read_user(to, bytes, (void *)(r->range.cpu + offset));
}

struct batch_blocks {
	struct af_bpf_batch_range range;
	__u64 at;
	__u32 pid;
	_Bool remove;
};

/* The next block of a range: the largest power of two that begins there and fits. */
static long batch_block(__u32 i, struct batch_blocks *b)
{
	__u64 left = b->range.gpu + b->range.bytes - b->at, size = 4096;
	struct af_bpf_batch_key key;
	__u32 bits = 52;

	if (b->at >= b->range.gpu + b->range.bytes)
		return 1;
	for (int k = 0; k < 36; k++) {
		if (size * 2 > left || b->at & (size * 2 - 1))
			break;
		size *= 2;
		bits--;
	}
	batch_key_set(&key, b->pid, b->at, bits);
	if (b->remove)
		bpf_map_delete_elem(&batch_memory, &key);
	else if (bpf_map_update_elem(&batch_memory, &key, &b->range, BPF_ANY))
		__sync_fetch_and_add(&batch_lost_memory, 1);
	b->at += size;
	return 0;
}

static __always_inline void batch_memory_set(__u64 gpu, __u64 cpu, __u64 bytes, _Bool remove)
{
	struct batch_blocks b = {
	    .range = {.gpu = gpu & ((1ull << 57) - 1), .bytes = bytes & ~4095ull, .cpu = cpu},
	    .pid = bpf_get_current_pid_tgid() >> 32,
	    .remove = remove,
	};

	b.at = b.range.gpu;
	if (!(gpu & 4095) && bytes < 1ull << 47)
		bpf_loop(96, batch_block, &b, 0);
}

/* The current process has the GPU's memory [gpu, gpu + bytes), whole pages, at @cpu. */
static __always_inline void batch_memory_add(__u64 gpu, __u64 cpu, __u64 bytes)
{
	batch_memory_set(gpu, cpu, bytes, 0);
}

/* And not any more. The range is one that was added. */
static __always_inline void batch_memory_remove(__u64 gpu, __u64 bytes)
{
	batch_memory_set(gpu, 0, bytes, 1);
}

/* ---- walking ---- */

#define AF_BATCH_READ(reader, address, to, bytes) batch_read(reader, address, to, bytes)

#include "batch/walk.h"

static __always_inline void batch_emit(struct batch_state *s)
{
	__u64 nr = s->record.nr_kernels;

	asm volatile("" : "+r"(nr));
	if (nr > AF_BPF_BATCH_KERNELS)
		return;
	emit(&s->record,
	     __builtin_offsetof(struct af_bpf_batch, kernels) + nr * sizeof s->record.kernels[0]);
	s->record.nr_before += s->record.nr_kernels;
	s->record.nr_kernels = 0;
}

static __always_inline void batch_take(struct batch_state *s, __u32 i)
{
	__u32 to = s->record.nr_kernels;

	if (i >= s->walk.nr_kernels)
		return;
	AF_BATCH_MASK(to, 63);
	s->record.kernels[to] = s->walk.kernels[i];
	s->record.nr_kernels = to + 1;
	if (to + 1 == AF_BPF_BATCH_KERNELS)
		batch_emit(s);
}

static long batch_step(__u32 i, struct batch_state **of)
{
	struct batch_state *s = *of;
	_Bool goes_on = af_batch_next(&s->walk, &s->reader);

	batch_take(s, 0);
	batch_take(s, 1);
	batch_take(s, 2);
	return !goes_on;
}

static __always_inline void batch_begin(struct batch_state *s, __u32 version, __u64 address,
                                        const struct af_bpf_batch_context *key)
{
	const struct af_batch_bases *bases = bpf_map_lookup_elem(&batch_bases, key);
	struct task_struct *task = (void *)bpf_get_current_task();

	if (bases)
		s->walk.bases = *bases;
	s->walk.most = AF_BPF_BATCH_COMMANDS;
	af_batch_begin(&s->walk, version, address);
	s->reader.pid = key->pid;
	head_fill(&s->record.head, AF_BPF_BATCH, task);
	s->record.address = address;
	s->record.kernel_pid = key->pid;
	s->record.bases = s->walk.bases;
	s->record.context = key->context;
	s->record.version = version;
}

/*
 * The current process submits the batch at @address to a context of its own (a queue's number, say)
 * of a GPU of @version (GRAPHICS_VER).
 */
static __always_inline void batch_submitted(__u32 context, __u32 version, __u64 address)
{
	struct af_bpf_batch_context key = {bpf_get_current_pid_tgid() >> 32, context};
	__u32 tid = bpf_get_current_pid_tgid(), zero = 0;
	const struct batch_state *empty = bpf_map_lookup_elem(&batch_empty, &zero);
	struct batch_state *s;

	if (silent || !in_scope(seen_current()) || !empty)
		return;
	if (bpf_map_update_elem(&batch_walks, &tid, empty, BPF_ANY)) {
		__sync_fetch_and_add(&batch_lost, 1);
		return;
	}
	s = bpf_map_lookup_elem(&batch_walks, &tid);
	if (!s)
		return;
	batch_begin(s, version, address, &key);
	bpf_loop(AF_BPF_BATCH_COMMANDS + 1, batch_step, &s, 0);
	s->record.stop = s->walk.stop;
	s->record.at = s->walk.at;
	s->record.nr_commands = s->walk.nr_commands;
	s->record.nr_undescribed = s->walk.nr_undescribed;
	bpf_map_update_elem(&batch_bases, &key, &s->walk.bases, BPF_ANY);
	batch_emit(s);
	bpf_map_delete_elem(&batch_walks, &tid);
}

#endif
