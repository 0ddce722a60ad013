/*
 * Batches that programs submit to Intel's drivers: what xe and i915 are asked for tells where a
 * process has the GPU's memory in its own, and which batch it submits (batch.bpf.h reads it).
 * Structures of calls are the drivers' user interface, include/uapi/drm/xe_drm.h of Linux 6.15 and
 * i915_drm.h; vm_bind of i915 is that of intel-i915-dkms.
 *
 * License of this file: Dual BSD/GPL.
 */
#ifndef AF_BPF_SUBMISSIONS_BPF_H
#define AF_BPF_SUBMISSIONS_BPF_H

#include "bpf/batch.bpf.h"
#include "bpf/drm.bpf.h"

/* No trace point tells of a driver's launches: each submission is one. Set by the recorder. */
_Bool batch_xe_launches, batch_i915_launches;

/* Queues of xe's files: the address space that each works in. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct af_bpf_batch_number);
	__type(value, __u32);
} batch_queues SEC(".maps");

/* Buffers of files, by their handles. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct af_bpf_batch_number);
	__type(value, struct af_bpf_batch_buffer);
} batch_buffers SEC(".maps");

/* The buffer that a place of a file is of, in pages. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct af_bpf_batch_number);
	__type(value, __u32);
} batch_offsets SEC(".maps");

/* A driver's call by ioctl(2): its arguments (dev, data, file) and what it returned. */
struct batch_call {
	__u64 dev, data, file, rc;
};

/* False where nothing is recorded: what programs have then is not known later. */
static __always_inline _Bool call_of(struct batch_call *call, const void *ctx, __u32 bytes)
{
	call->rc = 0;
	return in_scope(seen_current()) && !bpf_probe_read_kernel(call, bytes, ctx);
}

/* ---- buffers ---- */

/*
 * The GPU has c->buffer, of the file of c->space, and perhaps the process has it: a batch can be
 * read in the bytes that both have.
 */
static __always_inline void buffer_place(struct batch_change *c)
{
	const struct af_bpf_batch_buffer *b = &c->buffer;
	__u64 from = b->gpu_from > b->cpu_from ? b->gpu_from : b->cpu_from;
	__u64 gpu_end = b->gpu_from + b->gpu_bytes, cpu_end = b->cpu_from + b->cpu_bytes;
	__u64 end = gpu_end < cpu_end ? gpu_end : cpu_end;
	__u64 gpu = b->gpu, cpu = 0, bytes = b->gpu_bytes;

	if (!bytes)
		return;
	if (b->cpu && from < end) {
		gpu += from - b->gpu_from;
		cpu = b->cpu + (from - b->cpu_from);
		bytes = end - from;
	}
	c->space.vm = b->vm;
	batch_memory_remove(c, b->gpu, b->gpu_bytes);
	batch_memory_add(c, gpu, cpu, bytes);
}

/* c->buffer is what is known of the buffer @handle; _keep: is from now on. */
static __always_inline void buffer_get(struct batch_change *c, __u32 handle)
{
	const struct af_bpf_batch_number key = {.file = c->space.file, .number = handle};
	const struct af_bpf_batch_buffer *known = bpf_map_lookup_elem(&batch_buffers, &key);

	c->handle = handle;
	if (known)
		c->buffer = *known;
	else
		__builtin_memset(&c->buffer, 0, sizeof c->buffer);
}

static __always_inline void buffer_keep(struct batch_change *c, __u32 handle)
{
	const struct af_bpf_batch_number key = {.file = c->space.file, .number = handle};

	bpf_map_update_elem(&batch_buffers, &key, &c->buffer, BPF_ANY);
	buffer_place(c);
}

static __always_inline void buffer_bound(struct batch_change *c, __u32 handle, __u64 gpu,
                                         __u64 bytes, __u64 from)
{
	buffer_get(c, handle);
	c->buffer.gpu = gpu;
	c->buffer.gpu_bytes = bytes;
	c->buffer.gpu_from = from;
	c->buffer.vm = c->space.vm;
	buffer_keep(c, handle);
}

/*
 * c->buffer, as far as the GPU still has it: its memory may have been unbound, or be another
 * buffer's by now, without a word of this one.
 */
static __always_inline void buffer_unbound_forget(struct batch_change *c)
{
	const struct batch_space space = {.file = c->space.file, .vm = c->buffer.vm};

	batch_key_set(&c->key, &space, c->buffer.gpu & ((1ull << 57) - 1), 64);
	const struct af_bpf_batch_range *found = bpf_map_lookup_elem(&batch_memory, &c->key);
	if (!found || found->handle != c->handle)
		c->buffer.gpu_bytes = 0;
}

/* The GPU has nothing in these bytes of the address space of @c any more. */
static __always_inline void memory_unbound(struct batch_change *c, __u64 gpu, __u64 bytes)
{
	struct af_bpf_unbound *u = &c->unbound;

	batch_memory_remove(c, gpu, bytes);
	if (silent)
		return;
	head_fill(&u->head, AF_BPF_UNBOUND, (void *)bpf_get_current_task());
	u->file = c->space.file;
	u->vm = c->space.vm;
	u->gpu = gpu;
	u->bytes = bytes;
	emit(u, sizeof *u);
}

/* The GPU has nothing of the buffer @handle any more in the address space of @c. */
static __always_inline void buffer_unbound(struct batch_change *c, __u32 handle)
{
	buffer_get(c, handle);
	buffer_unbound_forget(c);
	if (!c->buffer.gpu_bytes || c->buffer.vm != c->space.vm)
		return;
	memory_unbound(c, c->buffer.gpu, c->buffer.gpu_bytes);
	c->buffer.gpu_bytes = 0;
	buffer_keep(c, handle);
}

static __always_inline void buffer_mapped(__u64 file, __u32 handle, __u64 cpu, __u64 bytes)
{
	struct batch_change *c = batch_change();

	if (!c)
		return;
	c->space.file = file;
	buffer_get(c, handle);
	buffer_unbound_forget(c);
	c->buffer.cpu = cpu;
	c->buffer.cpu_bytes = bytes;
	c->buffer.cpu_from = 0;
	c->buffer.pid = bpf_get_current_pid_tgid() >> 32;
	buffer_keep(c, handle);
}

/* A place to map the buffer from: the same in all files of a device. */
static __always_inline void buffer_offset(__u64 file, __u32 handle, __u64 offset)
{
	const struct af_bpf_batch_number key = {.file = file, .number = offset >> 12};

	bpf_map_update_elem(&batch_offsets, &key, &handle, BPF_ANY);
}

/* The buffer that @vma maps: its file and its handle. False: none that is known. */
static __always_inline _Bool buffer_of_mapping(const struct vm_area_struct *vma, __u64 *file,
                                               __u32 *handle)
{
	struct af_bpf_batch_number key = {0};

	key.file = (__u64)BPF_CORE_READ(vma, vm_file, private_data);
	key.number = BPF_CORE_READ(vma, vm_pgoff);
	const __u32 *found = bpf_map_lookup_elem(&batch_offsets, &key);
	*file = key.file;
	*handle = found ? *found : 0;
	return found;
}

static __always_inline int mapping_made(const void *ctx)
{
	struct {
		__u64 file, vma, rc;
	} call;
	__u64 file;
	__u32 handle;

	if (!in_scope(seen_current()) || bpf_probe_read_kernel(&call, sizeof call, ctx) ||
	    (int)call.rc)
		return 0;
	const struct vm_area_struct *vma = (void *)call.vma;
	__u64 start = BPF_CORE_READ(vma, vm_start), end = BPF_CORE_READ(vma, vm_end);
	if (buffer_of_mapping(vma, &file, &handle))
		buffer_mapped(file, handle, start, end - start);
	return 0;
}

static __always_inline int mapping_gone(const void *ctx)
{
	struct af_bpf_batch_number key = {0};
	__u64 at;

	if (!in_scope(seen_current()) || bpf_probe_read_kernel(&at, sizeof at, ctx))
		return 0;
	const struct vm_area_struct *vma = (void *)at;
	if (!buffer_of_mapping(vma, &key.file, &key.number))
		return 0;
	struct batch_change *c = batch_change();
	if (!c)
		return 0;
	c->space.file = key.file;
	buffer_get(c, key.number);
	/* A forked child has mappings of its parent, which go without the parent's. */
	if (!c->buffer.cpu || c->buffer.cpu != BPF_CORE_READ(vma, vm_start) ||
	    c->buffer.pid != bpf_get_current_pid_tgid() >> 32)
		return 0;
	buffer_unbound_forget(c);
	c->buffer.cpu = c->buffer.cpu_bytes = 0;
	buffer_keep(c, key.number);
	return 0;
}

SEC("fexit/drm_gem_mmap")
int batch_map(void *ctx)
{
	return mapping_made(ctx);
}

SEC("fexit/i915_gem_mmap")
int batch_i915_map(void *ctx)
{
	return mapping_made(ctx);
}

SEC("fentry/drm_gem_vm_close")
int batch_unmap(void *ctx)
{
	return mapping_gone(ctx);
}

SEC("fentry/ttm_bo_vm_close")
int batch_ttm_unmap(void *ctx)
{
	return mapping_gone(ctx);
}

/* As i915 calls it; only its mappings are known by their files. */
SEC("fentry/vm_close")
int batch_i915_unmap(void *ctx)
{
	return mapping_gone(ctx);
}

/* The device's name, where the running kernel has it as expected. */
static __always_inline const char *device_name(__u64 dev)
{
	return BPF_CORE_READ((const struct drm_device *)dev, dev, kobj.name);
}

/* A submission of which no trace point tells is a launch. */
static __always_inline void launch_emit(void *ctx)
{
	struct af_bpf_stacks *s = driver_caller(ctx, AF_BPF_SUBMIT);

	if (!s)
		return;
	s->what = 0;
	s->wake = 0;
	stacks_emit(s);
}

/* ---- xe ---- */

enum {
	XE_OP_MAP = 0,
	XE_OP_UNMAP = 1,
	XE_OP_MAP_USERPTR = 2,
	XE_OP_UNMAP_ALL = 3, /* of a buffer */
	XE_FLAG_NULL = 1 << 2,
	XE_FLAG_MIRROR = 1 << 5, /* since 6.15 the addresses of the GPU are the process's own */
	XE_BINDS = 64,           /* of a call */
};

struct xe_bind_op {
	__u64 extensions;
	__u32 obj;
	__u16 pat_index, pad;
	__u64 offset; /* in the buffer; or the process's address */
	__u64 range, addr;
	__u32 op, flags, prefetch, pad2;
	__u64 reserved[3];
};

struct xe_bind {
	__u64 extensions;
	__u32 vm, queue, pad, nr;
	struct xe_bind_op one; /* or a pointer to @nr of them */
};

static __always_inline void xe_bound(struct batch_change *c, const struct xe_bind_op *op)
{
	c->handle = 0;
	if (op->op == XE_OP_UNMAP_ALL)
		buffer_unbound(c, op->obj);
	if (op->op == XE_OP_UNMAP)
		memory_unbound(c, op->addr, op->range);
	if (op->op != XE_OP_MAP && op->op != XE_OP_MAP_USERPTR)
		return;
	batch_memory_remove(c, op->addr, op->range);
	if (op->op == XE_OP_MAP_USERPTR)
		batch_memory_add(c, op->addr, op->offset, op->range);
	else if (op->op == XE_OP_MAP && op->obj)
		buffer_bound(c, op->obj, op->addr, op->range, op->offset);
	else if (op->op == XE_OP_MAP && op->flags & XE_FLAG_MIRROR)
		batch_memory_add(c, op->addr, op->addr, op->range);
}

struct xe_binds {
	struct batch_change *c;
	__u64 one, vector;
	__u32 vm, nr;
};

static long xe_bind_next(__u32 i, struct xe_binds *binds)
{
	struct batch_change *c = binds->c;
	struct xe_bind_op *op = (void *)c->words;

	if (i >= binds->nr)
		return 1;
	if (binds->nr == 1
	        ? bpf_probe_read_kernel(op, sizeof *op, (void *)binds->one)
	        : bpf_probe_read_user(op, sizeof *op, (void *)(binds->vector + i * sizeof *op)))
		return 1;
	c->space.vm = binds->vm;
	xe_bound(c, op);
	return 0;
}

SEC("fexit/xe_vm_bind_ioctl")
int batch_xe_bind(void *ctx)
{
	const struct xe_bind *bind;
	struct batch_call call;
	struct xe_binds binds;

	if (!call_of(&call, ctx, sizeof call) || (int)call.rc)
		return 0;
	bind = (void *)call.data;
	binds.c = batch_change();
	binds.one = (__u64)&bind->one;
	if (!binds.c || bpf_probe_read_kernel(&binds.vm, 4, &bind->vm) ||
	    bpf_probe_read_kernel(&binds.nr, 4, &bind->nr) ||
	    bpf_probe_read_kernel(&binds.vector, 8, &bind->one))
		return 0;
	binds.c->space.file = call.file;
	if (binds.nr > XE_BINDS)
		__sync_fetch_and_add(&batch_lost_memory, binds.nr - XE_BINDS);
	bpf_loop(XE_BINDS, xe_bind_next, &binds, 0);
	return 0;
}

SEC("fexit/xe_exec_queue_create_ioctl")
int batch_xe_queue(void *ctx)
{
	struct {
		__u64 extensions;
		__u16 width, placements;
		__u32 vm, flags, queue;
	} made;
	struct batch_call call;

	if (!call_of(&call, ctx, sizeof call) || (int)call.rc ||
	    bpf_probe_read_kernel(&made, sizeof made, (void *)call.data))
		return 0;
	const struct af_bpf_batch_number key = {.file = call.file, .number = made.queue};
	bpf_map_update_elem(&batch_queues, &key, &made.vm, BPF_ANY);
	return 0;
}

SEC("fexit/xe_gem_mmap_offset_ioctl")
int batch_xe_offset(void *ctx)
{
	struct {
		__u64 extensions;
		__u32 handle, flags;
		__u64 offset;
	} made;
	struct batch_call call;

	if (call_of(&call, ctx, sizeof call) && !(int)call.rc &&
	    !bpf_probe_read_kernel(&made, sizeof made, (void *)call.data))
		buffer_offset(call.file, made.handle, made.offset);
	return 0;
}

/* GRAPHICS_VER of the card. Where its struct is another one: the first that samples stalls. */
static __always_inline __u32 xe_version(__u64 dev)
{
	const struct xe_device *xe = (void *)dev;

	if (!bpf_core_field_exists(xe->info.graphics_verx100))
		return 20;
	return BPF_CORE_READ(xe, info.graphics_verx100) / 100;
}

SEC("fentry/xe_exec_ioctl")
int batch_xe_exec(void *ctx)
{
	struct {
		__u64 extensions;
		__u32 queue, nr_syncs;
		__u64 syncs, address;
		__u16 nr;
	} exec;
	struct batch_call call;

	if (!call_of(&call, ctx, 24) ||
	    bpf_probe_read_kernel(&exec, sizeof exec, (void *)call.data))
		return 0;
	const struct af_bpf_batch_number key = {.file = call.file, .number = exec.queue};
	const __u32 *vm = bpf_map_lookup_elem(&batch_queues, &key);
	struct batch_space space = {.file = call.file, .vm = vm ? *vm : 0};
	struct batch_submission is = {exec.queue, xe_version(call.dev), device_name(call.dev)};
	/* A queue that is several wide gets several batches: the first is read. */
	if (exec.nr > 1 && bpf_probe_read_user(&exec.address, 8, (void *)exec.address))
		exec.nr = 0;
	if (exec.nr)
		batch_submitted(&space, &is, exec.address);
	if (exec.nr && batch_xe_launches)
		launch_emit(ctx);
	return 0;
}

/* ---- i915 ---- */

enum {
	I915_ADDRESS_BITS = 48,
	I915_BATCH_FIRST = 1 << 18,
	I915_BUFFERS = 256, /* of a submission */
};

struct i915_buffer {
	__u32 handle, nr_relocations;
	__u64 relocations, alignment, offset, flags, rsvd[2];
};

/* Addresses are given as the processor's are, with their highest bit repeated. */
static __always_inline __u64 i915_address(__u64 address)
{
	return address & ((1ull << I915_ADDRESS_BITS) - 1);
}

struct i915_buffers {
	struct batch_change *c;
	__u64 all;
	__u32 nr;
};

/* A submission has its buffers with it, and where the GPU has them. */
static long i915_buffer_next(__u32 i, struct i915_buffers *buffers)
{
	struct batch_change *c = buffers->c;
	struct i915_buffer *is = (void *)c->words;

	if (i >= buffers->nr ||
	    bpf_probe_read_user(is, sizeof *is, (void *)(buffers->all + i * sizeof *is)))
		return 1;
	buffer_get(c, is->handle);
	c->space.vm = 0;
	if (!c->buffer.cpu_bytes || c->buffer.gpu == i915_address(is->offset))
		return 0;
	if (c->buffer.gpu_bytes)
		batch_memory_remove(c, c->buffer.gpu, c->buffer.gpu_bytes);
	buffer_bound(c, is->handle, i915_address(is->offset), c->buffer.cpu_bytes, 0);
	return 0;
}

static __always_inline __u32 i915_version(__u64 dev)
{
	const struct drm_i915_private *i915 = (void *)dev;

	if (!bpf_core_field_exists(i915->__runtime.graphics.ip.ver))
		return 12;
	return BPF_CORE_READ(i915, __runtime.graphics.ip.ver);
}

struct i915_exec {
	__u64 buffers;
	__u32 nr, start, bytes, unused[3];
	__u64 unused2, flags, context;
};

/* Before it is taken: a program of its own, as there is room for so much in one. */
SEC("fentry/i915_gem_execbuffer2_ioctl")
int batch_i915_buffers(void *ctx)
{
	struct batch_call call;
	struct {
		__u64 buffers;
		__u32 nr;
	} exec;

	if (!call_of(&call, ctx, 24) ||
	    bpf_probe_read_kernel(&exec, sizeof exec, (void *)call.data))
		return 0;
	struct i915_buffers buffers = {batch_change(), exec.buffers, exec.nr};
	if (!buffers.c)
		return 0;
	buffers.c->space.file = call.file;
	bpf_loop(I915_BUFFERS, i915_buffer_next, &buffers, 0);
	return 0;
}

/* (dev, file, args, buffers) */
SEC("fentry/i915_gem_do_execbuffer")
int batch_i915_exec(void *ctx)
{
	/* Stacks of programs are small: no more than is needed. */
	struct {
		__u32 nr, start;
	} part;
	__u64 flags[2], offset; /* and the context */
	__u64 args[4];

	if (!in_scope(seen_current()) || bpf_probe_read_kernel(args, sizeof args, ctx) ||
	    bpf_probe_read_kernel(&part, sizeof part, &((struct i915_exec *)args[2])->nr) ||
	    bpf_probe_read_kernel(flags, sizeof flags, &((struct i915_exec *)args[2])->flags) ||
	    !part.nr)
		return 0;
	__u64 at = flags[0] & I915_BATCH_FIRST ? 0 : part.nr - 1;
	if (bpf_probe_read_kernel(&offset, sizeof offset,
	                          &((struct i915_buffer *)args[3])[at].offset))
		return 0;
	struct batch_space space = {.file = args[1]};
	struct batch_submission is = {flags[1], i915_version(args[0]), device_name(args[0])};
	batch_submitted(&space, &is, i915_address(offset) + part.start);
	if (batch_i915_launches)
		launch_emit(ctx);
	return 0;
}

/*
 * struct prelim_drm_i915_gem_vm_bind of intel-i915-dkms. All address spaces of a file are one here.
 */
SEC("fexit/i915_gem_vm_bind_ioctl")
int batch_i915_bind(void *ctx)
{
	struct {
		__u32 vm, handle;
		__u64 start, offset, length, flags, extensions;
	} bind;
	struct batch_call call;

	if (!call_of(&call, ctx, sizeof call) || (int)call.rc ||
	    bpf_probe_read_kernel(&bind, sizeof bind, (void *)call.data))
		return 0;
	struct batch_change *c = batch_change();
	if (!c)
		return 0;
	c->space.file = call.file;
	c->space.vm = 0;
	buffer_bound(c, bind.handle, i915_address(bind.start), bind.length, bind.offset);
	return 0;
}

SEC("fexit/i915_gem_mmap_offset_ioctl")
int batch_i915_offset(void *ctx)
{
	struct {
		__u32 handle, pad;
		__u64 offset;
	} made;
	struct batch_call call;

	if (call_of(&call, ctx, sizeof call) && !(int)call.rc &&
	    !bpf_probe_read_kernel(&made, sizeof made, (void *)call.data))
		buffer_offset(call.file, made.handle, made.offset);
	return 0;
}

SEC("fexit/i915_gem_mmap_ioctl")
int batch_i915_memory(void *ctx)
{
	struct {
		__u32 handle, pad;
		__u64 offset, bytes, address;
	} made;
	struct batch_call call;

	if (call_of(&call, ctx, sizeof call) && !(int)call.rc &&
	    !bpf_probe_read_kernel(&made, sizeof made, (void *)call.data) && !made.offset)
		buffer_mapped(call.file, made.handle, made.address, made.bytes);
	return 0;
}

SEC("fexit/i915_gem_userptr_ioctl")
int batch_i915_userptr(void *ctx)
{
	struct {
		__u64 address, bytes;
		__u32 flags, handle;
	} made;
	struct batch_call call;

	if (call_of(&call, ctx, sizeof call) && !(int)call.rc &&
	    !bpf_probe_read_kernel(&made, sizeof made, (void *)call.data))
		buffer_mapped(call.file, made.handle, made.address, made.bytes);
	return 0;
}

#endif
