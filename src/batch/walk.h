/*
 * Walks a batch buffer command by command, in user space (batch.h) and in BPF programs
 * (bpf/batch.bpf.h): the same source, without a call, a lock or memory of its own. All the state
 * is in struct af_batch_walk. The including file defines before
 *
 *	AF_BATCH_READ(reader, address, to, bytes)
 *
 * which reads @bytes, at most AF_BATCH_BYTES, of the GPU's memory at @address of its process, and
 * is 0 if they were all there. Its struct is `struct af_batch_reader`.
 *
 *	af_batch_begin(&walk, version, address);
 *	while (af_batch_next(&walk, reader))
 *		take walk.kernels[0] to [walk.nr_kernels - 1];
 *	walk.stop says why it is over
 *
 * The walker does not run commands: where a condition decides (predicates), it reads both ways.
 * Whatever the bytes are, each step reads at most 3 times and goes one command forward, and there
 * are at most `most` steps.
 *
 * License of this file: that of whichever program includes it, Apache-2.0 or Dual BSD/GPL.
 */
#ifndef AF_BATCH_WALK_H
#define AF_BATCH_WALK_H

#include "batch/command.h"
#include "batch/found.h"

/* Keeps an index in an array of @mask + 1 where the verifier can see it. */
#ifdef __bpf__
#define AF_BATCH_MASK(i, mask) asm volatile("%0 &= " #mask : "+r"(i))
#else
#define AF_BATCH_MASK(i, mask) ((i) &= (mask))
#endif

/* Starts over at @address, with the bases and `most` of @w as they are. */
static inline void af_batch_begin(struct af_batch_walk *w, __u32 version, __u64 address)
{
	w->at = address;
	w->version = version;
	if (!w->most)
		w->most = AF_BATCH_COMMANDS;
	w->depth = w->unsure = w->nr_commands = w->nr_empty = w->stop = 0;
	w->nr_jumped = 1;
	w->jumped[0] = address;
	w->nr_pending = w->nr_kernels = w->nr_descriptors = w->nr_undescribed = 0;
}

/* ---- where it goes on ---- */

static inline _Bool af_batch_was_at(const struct af_batch_walk *w, __u64 address)
{
	for (__u32 i = 0; i < AF_BATCH_JUMPS; i++)
		if (i < w->nr_jumped && w->jumped[i] == address)
			return 1;
	return 0;
}

static inline void af_batch_remember(struct af_batch_walk *w, __u64 address)
{
	__u32 i = w->nr_jumped;

	if (i >= AF_BATCH_JUMPS)
		return; /* `most` ends what this cannot */
	AF_BATCH_MASK(i, 15);
	w->jumped[i] = address;
	w->nr_jumped++;
}

/* A level is over: back to its caller, else to where a condition might have led, else the end. */
static inline void af_batch_return(struct af_batch_walk *w, __u32 why)
{
	__u32 i;

	w->nr_empty = 0;
	if (w->depth) {
		i = --w->depth;
		AF_BATCH_MASK(i, 3);
		w->at = w->back[i];
		if (w->at & AF_BATCH_MAYBE)
			w->unsure |= 1u << i;
		w->at &= ~(__u64)AF_BATCH_MAYBE;
	} else if (w->nr_pending) {
		i = --w->nr_pending;
		AF_BATCH_MASK(i, 7);
		w->at = w->pending[i];
	} else {
		w->stop = why;
	}
}

static inline void af_batch_jump(struct af_batch_walk *w, __u64 to, __u64 next, _Bool maybe)
{
	__u32 i = w->nr_pending;

	if (af_batch_was_at(w, to)) {
		if (maybe)
			w->at = next;
		else
			af_batch_return(w, AF_BATCH_LOOP);
		return;
	}
	af_batch_remember(w, to);
	if (!maybe) {
		w->at = to;
		return;
	}
	w->at = next;
	if (i >= AF_BATCH_PENDING)
		return;
	AF_BATCH_MASK(i, 7);
	w->pending[i] = to;
	w->nr_pending++;
}

/*
 * A batch calls one of the next level. Called from a second level, GPUs with two levels go on there
 * and do not come back, those with three do; which it is, a register says (MI_MODE, nested batch
 * buffers). So whatever follows such a call may be none of the batch (af_batch_fail()).
 */
static inline void af_batch_call(struct af_batch_walk *w, __u64 to, __u64 next)
{
	__u32 i = w->depth;

	if (i >= AF_BATCH_LEVELS) {
		af_batch_jump(w, to, next, 0);
		return;
	}
	w->unsure &= ~(2u << (i & 3));
	AF_BATCH_MASK(i, 3);
	w->back[i] = next | (i ? AF_BATCH_MAYBE : 0);
	w->depth++;
	w->at = to;
}

/* It cannot go on here. If nothing says that this is a part of the batch, the level is over. */
static inline void af_batch_fail(struct af_batch_walk *w, __u32 why)
{
	if (w->unsure >> (w->depth & 3) & 1) {
		w->unsure &= ~(1u << (w->depth & 3));
		af_batch_return(w, why);
	} else {
		w->stop = why;
	}
}

static inline void af_batch_start(struct af_batch_walk *w, __u64 next)
{
	const __u32 *d = w->dwords;
	__u64 to = af_batch_address(w->version, d[1] & ~3u, d[2]);

	if (d[0] & AF_MI_INDIRECT && w->version >= AF_BATCH_VERSION_XE3P)
		w->stop = AF_BATCH_INDIRECT;
	else if (!(d[0] & AF_MI_PPGTT))
		w->stop = AF_BATCH_GLOBAL;
	else if (d[0] & AF_MI_RETURNS)
		af_batch_call(w, to, next);
	else
		af_batch_jump(w, to, next, d[0] & AF_MI_PREDICATED);
}

/* ---- code ---- */

static inline void af_batch_kernel(struct af_batch_walk *w, __u32 kind, __u64 pointer, __u32 flags)
{
	__u32 i = w->nr_kernels;

	if (i >= AF_BATCH_KERNELS)
		return;
	AF_BATCH_MASK(i, 3);
	struct af_batch_kernel *k = &w->kernels[i];
	if (!(flags & AF_BATCH_ABSOLUTE)) {
		if (w->bases.known & AF_BATCH_INSTRUCTION)
			pointer += w->bases.instruction;
		else
			flags |= AF_BATCH_OFFSET;
	}
	k->address = af_batch_address(w->version, (__u32)pointer, pointer >> 32);
	k->at = w->at;
	k->kind = kind;
	k->flags = flags;
	w->nr_kernels++;
}

static inline void af_batch_pointer(struct af_batch_walk *w, __u32 kind, __u32 low, __u32 high)
{
	af_batch_kernel(w, kind, af_batch_address(w->version, low & ~63u, high), 0);
}

static inline void af_batch_bases_set(struct af_batch_walk *w)
{
	const __u32 *d = w->dwords;

	if (d[6] & 1) {
		w->bases.dynamic = af_batch_address(w->version, d[6] & ~0xfffu, d[7]);
		w->bases.known |= AF_BATCH_DYNAMIC;
	}
	if (d[10] & 1) {
		w->bases.instruction = af_batch_address(w->version, d[10] & ~0xfffu, d[11]);
		w->bases.known |= AF_BATCH_INSTRUCTION;
	}
}

/* Pixel shaders: up to three programs, one for each width that is on. */
static inline void af_batch_pixel(struct af_batch_walk *w)
{
	const __u32 *d = w->dwords;
	__u32 widths = d[6] & 7;

	if (w->version >= AF_BATCH_VERSION_XE2) {
		if (d[1] & 1)
			af_batch_pointer(w, AF_BATCH_PIXEL, d[1], d[2]);
		if (d[8] & 1)
			af_batch_pointer(w, AF_BATCH_PIXEL, d[8], d[9]);
		return;
	}
	if (widths)
		af_batch_pointer(w, AF_BATCH_PIXEL, d[1], d[2]);
	if (!(widths & (widths - 1)))
		return;
	if (widths & 4)
		af_batch_pointer(w, AF_BATCH_PIXEL, d[8], d[9]);
	if (widths & 2)
		af_batch_pointer(w, AF_BATCH_PIXEL, d[10], d[11]);
}

/* Since Xe-HP a walker holds its descriptor, where its length says, with a pointer of 32 bits. */
static inline void af_batch_walker(struct af_batch_walk *w, __u32 opcode, __u32 nr)
{
	const __u32 *d = w->dwords;

	if (opcode == AF_COMPUTE_WALKER_2)
		af_batch_kernel(w, AF_BATCH_COMPUTE,
		                af_batch_address(w->version, d[19] & ~63u, d[20]),
		                AF_BATCH_ABSOLUTE);
	else if (opcode == AF_EXECUTE_INDIRECT_DISPATCH)
		af_batch_pointer(w, AF_BATCH_COMPUTE, nr < 45 ? d[23] : d[24], 0);
	else
		af_batch_pointer(w, AF_BATCH_COMPUTE, nr < 40 ? d[18] : d[19], 0);
}

/* Before, it gives the number of a descriptor in memory. 0: there is none. */
static inline __u64 af_batch_descriptor(const struct af_batch_walk *w)
{
	__u32 number = w->dwords[1] & 63;

	if (!(w->bases.known & AF_BATCH_DYNAMIC) || number >= w->nr_descriptors)
		return 0;
	return w->bases.dynamic + w->descriptors + number * AF_BATCH_DESCRIPTOR;
}

/* ---- one command ---- */

/* How many DWORDs of a command say something; 0: its length is enough. */
static inline __u32 af_batch_need(__u32 header)
{
	if (!(header >> 29))
		return header >> 23 == AF_MI_BATCH_BUFFER_START ? 3 : 0;
	if (header >> 29 != 3)
		return 0;
	switch (header >> 16 & ~AF_COMPUTE_WALKER_VARIANT) {
	case AF_COMPUTE_WALKER:
	case AF_COMPUTE_WALKER_2:
		return 21;
	}
	switch (header >> 16) {
	case AF_STATE_BASE_ADDRESS:
	case AF_3DSTATE_PS:
		return 12;
	case AF_STATE_SIP:
		return 3;
	case AF_MEDIA_INTERFACE_DESCRIPTOR_LOAD:
		return 4;
	case AF_MEDIA_OBJECT:
	case AF_MEDIA_OBJECT_WALKER:
	case AF_GPGPU_WALKER:
		return 2;
	case AF_3DSTATE_VS:
	case AF_3DSTATE_GS:
	case AF_3DSTATE_DS:
	case AF_3DSTATE_HS:
		return 8;
	case AF_EXECUTE_INDIRECT_DISPATCH:
		return 25;
	}
	return 0;
}

static inline void af_batch_render(struct af_batch_walk *w, __u32 nr)
{
	const __u32 *d = w->dwords;
	__u32 opcode = d[0] >> 16;

	switch (opcode) {
	case AF_STATE_BASE_ADDRESS:
		af_batch_bases_set(w);
		return;
	case AF_STATE_SIP:
		af_batch_kernel(w, AF_BATCH_SYSTEM, af_batch_address(w->version, d[1] & ~15u, d[2]),
		                0);
		return;
	case AF_MEDIA_INTERFACE_DESCRIPTOR_LOAD:
		w->nr_descriptors = (d[2] & 0x1ffff) / AF_BATCH_DESCRIPTOR;
		w->descriptors = d[3];
		return;
	case AF_3DSTATE_PS:
		af_batch_pixel(w);
		return;
	case AF_3DSTATE_HS:
		if (d[2] >> 31)
			af_batch_pointer(w, AF_BATCH_HULL, d[3], d[4]);
		return;
	case AF_3DSTATE_VS:
	case AF_3DSTATE_GS:
	case AF_3DSTATE_DS:
		if (d[7] & 1)
			af_batch_pointer(w,
			                 opcode == AF_3DSTATE_VS   ? AF_BATCH_VERTEX
			                 : opcode == AF_3DSTATE_GS ? AF_BATCH_GEOMETRY
			                                           : AF_BATCH_DOMAIN,
			                 d[1], d[2]);
		return;
	}
	if (opcode != AF_EXECUTE_INDIRECT_DISPATCH)
		opcode &= ~AF_COMPUTE_WALKER_VARIANT;
	af_batch_walker(w, opcode, nr);
}

/* The descriptor that a walker before Xe-HP names. */
static inline void af_batch_described(struct af_batch_walk *w, struct af_batch_reader *reader)
{
	__u64 from = af_batch_descriptor(w);

	if (!from || AF_BATCH_READ(reader, from, w->dwords, 8)) {
		w->nr_undescribed++;
		return;
	}
	af_batch_pointer(w, AF_BATCH_COMPUTE, w->dwords[0], w->dwords[1] & 0xffff);
}

static inline _Bool af_batch_is_media(__u32 header)
{
	return header >> 16 == AF_GPGPU_WALKER || header >> 16 == AF_MEDIA_OBJECT ||
	       header >> 16 == AF_MEDIA_OBJECT_WALKER;
}

/* A command of which more than the length counts. */
static inline void af_batch_decode(struct af_batch_walk *w, struct af_batch_reader *reader,
                                   __u32 need, __u32 nr)
{
	__u64 next = w->at + 4ull * nr;

	if (nr < need) {
		af_batch_fail(w, AF_BATCH_UNKNOWN); /* shorter than any of its kind */
		return;
	}
	__u32 bytes = 4 * need;
	if (bytes > AF_BATCH_BYTES || AF_BATCH_READ(reader, w->at, w->dwords, bytes)) {
		af_batch_fail(w, AF_BATCH_UNREADABLE);
		return;
	}
	if (!(w->dwords[0] >> 29)) {
		af_batch_start(w, next);
		return;
	}
	if (af_batch_is_media(w->dwords[0]))
		af_batch_described(w, reader);
	else
		af_batch_render(w, nr);
	w->at = next;
}

/* Reads one command. 0: that was the last, or it cannot be read: `stop` says which. */
static inline _Bool af_batch_next(struct af_batch_walk *w, struct af_batch_reader *reader)
{
	w->nr_kernels = 0;
	if (w->stop)
		return 0;
	if (w->nr_commands >= w->most) {
		w->stop = AF_BATCH_TOO_LONG;
		return 0;
	}
	w->nr_commands++;
	if (AF_BATCH_READ(reader, w->at, w->dwords, 4)) {
		af_batch_fail(w, AF_BATCH_UNREADABLE);
		return !w->stop;
	}
	__u32 header = w->dwords[0], nr = af_batch_dwords(w->version, header);
	__u32 need = af_batch_need(header);
	w->nr_empty = header ? 0 : w->nr_empty + 1;
	if (!nr)
		af_batch_fail(w, AF_BATCH_UNKNOWN);
	else if (w->nr_empty > AF_BATCH_EMPTY)
		af_batch_fail(w, AF_BATCH_UNWRITTEN);
	else if (need)
		af_batch_decode(w, reader, need, nr);
	else if (header >> 23 == AF_MI_BATCH_BUFFER_END && !(header & AF_MI_PREDICATED))
		af_batch_return(w, AF_BATCH_END);
	else
		w->at += 4ull * nr;
	return !w->stop;
}

#endif
