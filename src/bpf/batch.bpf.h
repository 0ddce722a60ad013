/*
 * Batch buffers of Intel GPUs, read in the kernel at the moment they are submitted: struct
 * af_bpf_batch has the kernels that they start. A driver's hook, in the process that submits, calls
 *
 *	batch_submitted(&space, &is, address)
 *
 * and hooks that see where the process has the GPU's memory in its own call batch_memory_add() and
 * batch_memory_remove() before (submissions.bpf.h). A batch that is not written yet, or that lies
 * where this program may not read, is handed out with the reason: the recorder tries again
 * (collect/batches).
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

/* An address space of a GPU: that of a file's number. */
struct batch_space {
	__u64 file;
	__u32 vm;
};

/* Where a walk reads; the range that it read last. */
struct af_batch_reader {
	struct af_bpf_batch_range range;
	struct batch_space space;
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

static __always_inline void batch_key_set(struct af_bpf_batch_key *key,
                                          const struct batch_space *space, __u64 address,
                                          __u32 bits)
{
	__u64 big = __builtin_bswap64(address);

	key->bits = 96 + bits;
	key->vm = space->vm;
	key->file = space->file;
	__builtin_memcpy(key->address, &big, sizeof big);
}

static __always_inline int batch_read(struct af_batch_reader *r, __u64 address, void *to,
                                      __u32 bytes)
{
	if (address - r->range.gpu >= r->range.bytes) {
		struct af_bpf_batch_key key;
		batch_key_set(&key, &r->space, address, 64);
		const struct af_bpf_batch_range *found = bpf_map_lookup_elem(&batch_memory, &key);
		if (!found)
			return -1;
		r->range = *found;
	}
	__u64 offset = address - r->range.gpu;
	if (!r->range.cpu || offset >= r->range.bytes || bytes > r->range.bytes - offset)
		return -1;
	asm volatile("" : "+r"(bytes));
	if (bytes > AF_BATCH_BYTES)
		return -1;
	return bpf_probe_read_user(to, bytes, (void *)(r->range.cpu + offset));
}

/*
 * A change of `batch_memory` under way. Stacks of programs have 512 bytes in all, and this would
 * take more on its way down.
 */
struct batch_change {
	struct batch_space space;
	struct af_bpf_batch_range range; /* that is added or removed */
	struct af_bpf_batch_range was;   /* that is cut */
	__u64 at, cut_at, cut_end;
	__u32 remove, handle; /* handle: of the buffer that a range is of */
	struct af_bpf_batch_key key;
	struct af_bpf_batch_buffer buffer; /* of submissions.bpf.h, as the next one */
	__u64 words[12];
	struct af_bpf_unbound unbound;
};

/* By the kernel's own tid: their programs may be preempted. Threads that change nothing leave. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct batch_change);
} batch_changes SEC(".maps");

/* The state in which a change begins; nobody writes to it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct batch_change);
} batch_unchanged SEC(".maps");

/* The current thread's change. NULL: there is no room. */
static __always_inline struct batch_change *batch_change(void)
{
	__u32 tid = bpf_get_current_pid_tgid(), zero = 0;
	struct batch_change *c = bpf_map_lookup_elem(&batch_changes, &tid);

	if (c)
		return c;
	const struct batch_change *none = bpf_map_lookup_elem(&batch_unchanged, &zero);
	if (none)
		bpf_map_update_elem(&batch_changes, &tid, none, BPF_ANY);
	c = bpf_map_lookup_elem(&batch_changes, &tid);
	if (!c)
		__sync_fetch_and_add(&batch_lost_memory, 1);
	return c;
}

/*
 * The largest power of two in @n, and how many ones @n has: without a branch, because the verifier
 * walks both ways of each.
 */
static __always_inline __u64 power_in(__u64 n)
{
	n |= n >> 1;
	n |= n >> 2;
	n |= n >> 4;
	n |= n >> 8;
	n |= n >> 16;
	n |= n >> 32;
	return n ^ n >> 1;
}

static __always_inline __u32 ones_in(__u64 n)
{
	n -= n >> 1 & 0x5555555555555555ull;
	n = (n & 0x3333333333333333ull) + (n >> 2 & 0x3333333333333333ull);
	n = (n + (n >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return n * 0x0101010101010101ull >> 56;
}

/* The next block of a range: the largest power of two that begins there and fits. */
static long batch_block(__u32 i, struct batch_change **of)
{
	struct batch_change *c = *of;
	__u64 at = c->at, end = c->range.gpu + c->range.bytes, power = power_in(end - at);
	/* The lower of both is a power of two that begins there, too. */
	__u64 size = (at | power) & -(at | power);

	if (at >= end)
		return 1;
	batch_key_set(&c->key, &c->space, at, 64 - ones_in(size - 1));
	if (c->remove)
		bpf_map_delete_elem(&batch_memory, &c->key);
	else if (bpf_map_update_elem(&batch_memory, &c->key, &c->range, BPF_ANY))
		__sync_fetch_and_add(&batch_lost_memory, 1);
	c->at = at + size;
	return 0;
}

/* Enters the range of @c, or takes it out: of c->space. */
static __always_inline void batch_memory_set(struct batch_change *c, __u64 gpu, __u64 cpu,
                                             __u64 bytes, _Bool remove)
{
	c->range.gpu = gpu;
	c->range.cpu = cpu;
	c->range.bytes = bytes;
	c->at = gpu;
	c->remove = remove;
	bpf_loop(96, batch_block, &c, 0);
}

/* Can it be entered? An address counts 57 bits, memory whole pages. */
static __always_inline _Bool batch_memory_fits(__u64 *gpu, __u64 *bytes)
{
	*gpu &= (1ull << 57) - 1;
	*bytes &= ~4095ull;
	return !(*gpu & 4095) && *bytes < 1ull << 47;
}

/*
 * The current process has the GPU's memory [gpu, gpu + bytes) of c->space, whole pages, at @cpu; 0:
 * nowhere. It is of the buffer c->handle.
 */
static __always_inline void batch_memory_add(struct batch_change *c, __u64 gpu, __u64 cpu,
                                             __u64 bytes)
{
	c->range.handle = c->handle;
	if (batch_memory_fits(&gpu, &bytes))
		batch_memory_set(c, gpu, cpu, bytes, 0);
}

/* The range at c->cut_at is there no more; the rest of one that is larger than the removal is. */
static long batch_memory_cut(__u32 i, struct batch_change **of)
{
	struct batch_change *c = *of;

	batch_key_set(&c->key, &c->space, c->cut_at, 64);
	const struct af_bpf_batch_range *found = bpf_map_lookup_elem(&batch_memory, &c->key);
	if (!found || c->cut_at >= c->cut_end)
		return 1;
	c->was = *found;
	c->range.handle = c->was.handle;
	batch_memory_set(c, c->was.gpu, 0, c->was.bytes, 1);
	if (c->was.gpu < c->cut_at)
		batch_memory_set(c, c->was.gpu, c->was.cpu, c->cut_at - c->was.gpu, 0);
	__u64 was_end = c->was.gpu + c->was.bytes;
	if (was_end > c->cut_end)
		batch_memory_set(c, c->cut_end,
		                 c->was.cpu ? c->was.cpu + (c->cut_end - c->was.gpu) : 0,
		                 was_end - c->cut_end, 0);
	c->cut_at = was_end;
	return 0;
}

/* And not any more: nor are the ranges that follow it without a gap, up to its end. */
static __always_inline void batch_memory_remove(struct batch_change *c, __u64 gpu, __u64 bytes)
{
	if (!batch_memory_fits(&gpu, &bytes))
		return;
	c->cut_at = gpu;
	c->cut_end = gpu + bytes;
	bpf_loop(64, batch_memory_cut, &c, 0);
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

/* A submission is to a context (a queue, say) of a GPU of this version. */
struct batch_submission {
	__u32 context, version;
	const char *device; /* in the kernel's memory, or NULL */
};

static __always_inline void batch_begin(struct batch_state *s, const struct batch_space *space,
                                        const struct batch_submission *is, __u64 address)
{
	const struct af_bpf_batch_context key = {.file = space->file, .context = is->context};
	const struct af_batch_bases *bases = bpf_map_lookup_elem(&batch_bases, &key);
	struct task_struct *task = (void *)bpf_get_current_task();

	if (bases)
		s->walk.bases = *bases;
	s->walk.most = AF_BPF_BATCH_COMMANDS;
	af_batch_begin(&s->walk, is->version, address);
	s->reader.space = *space;
	head_fill(&s->record.head, AF_BPF_BATCH, task);
	s->record.address = address;
	s->record.file = space->file;
	s->record.vm = space->vm;
	s->record.bases = s->walk.bases;
	s->record.context = is->context;
	s->record.version = is->version;
	if (is->device)
		bpf_probe_read_kernel_str(s->record.device, sizeof s->record.device, is->device);
}

/* The record gets the reason why the walk is over, and what is left to hand out. */
static __always_inline void batch_end(struct batch_state *s)
{
	const struct af_bpf_batch_context key = {.file = s->record.file,
	                                         .context = s->record.context};

	s->record.stop = s->walk.stop;
	s->record.at = s->walk.at;
	s->record.nr_commands = s->walk.nr_commands;
	s->record.nr_undescribed = s->walk.nr_undescribed;
	bpf_map_update_elem(&batch_bases, &key, &s->walk.bases, BPF_ANY);
	batch_emit(s);
}

/* The current process submits the batch at @address of @space. */
static __always_inline void batch_submitted(const struct batch_space *space,
                                            const struct batch_submission *is, __u64 address)
{
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
	batch_begin(s, space, is, address);
	bpf_loop(AF_BPF_BATCH_COMMANDS + 1, batch_step, &s, 0);
	batch_end(s);
	bpf_map_delete_elem(&batch_walks, &tid);
}

#endif
