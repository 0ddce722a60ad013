/*
 * The commands that Intel GPUs of version 9 and later read from batch buffers: how long each is,
 * and where those that start code have its address. Nothing of this is a struct: a command is
 * DWORDs, the first of which is its header.
 *
 * Source: Intel's Programmer's Reference Manuals, Volume 2a, Command Reference: Instructions
 * (Skylake, Ice Lake, Tiger Lake, Alchemist, Lunar Lake); for Xe3 and Xe3p the definitions of
 * commands in Mesa (genxml) and in Intel's compute runtime.
 *
 * BPF programs include this file, too. It needs nothing but the kernel's types.
 *
 * License of this file: that of whichever program includes it, Apache-2.0 or Dual BSD/GPL.
 */
#ifndef AF_BATCH_COMMAND_H
#define AF_BATCH_COMMAND_H

#include <linux/types.h>

/* By what a header's upper half is, without its flags. */
enum af_batch_opcode {
	AF_MI_NOOP = 0x00, /* MI commands: their opcode alone, bits 28:23 */
	AF_MI_BATCH_BUFFER_END = 0x0a,
	AF_MI_SINGLE = 0x10, /* those below are one DWORD */
	AF_MI_STORE_DATA_IMM = 0x20,
	AF_MI_UPDATE_GTT = 0x23,
	AF_MI_CLFLUSH = 0x27,
	AF_MI_BATCH_BUFFER_START = 0x31,

	AF_STATE_BASE_ADDRESS = 0x6101, /* others: the header's upper half */
	AF_STATE_SIP = 0x6102,
	AF_MEDIA_INTERFACE_DESCRIPTOR_LOAD = 0x7002,
	AF_MEDIA_OBJECT = 0x7100,
	AF_MEDIA_OBJECT_WALKER = 0x7103,
	AF_GPGPU_WALKER = 0x7105,
	AF_COMPUTE_WALKER = 0x7208,   /* without its two low bits, the variant */
	AF_COMPUTE_WALKER_2 = 0x7220, /* as well; Xe3p */
	AF_3DSTATE_VF_STATISTICS = 0x780b,
	AF_3DSTATE_VS = 0x7810,
	AF_3DSTATE_GS = 0x7811,
	AF_3DSTATE_HS = 0x781b,
	AF_3DSTATE_DS = 0x781d,
	AF_3DSTATE_PS = 0x7820,
	AF_3DSTATE_BINDING_TABLE_EDIT_VS = 0x7843, /* GS, HS, DS */
	AF_3DSTATE_BINDING_TABLE_EDIT_PS = 0x7847,
	AF_3DSTATE_SO_DECL_LIST = 0x7917,
	AF_EXECUTE_INDIRECT_DISPATCH = 0x7c01,
};

enum {
	AF_BATCH_VERSION_XE2 =
	    20, /* GRAPHICS_VER as the kernel's drivers have it; 12: Xe-HP, too */
	AF_BATCH_VERSION_XE3P = 35,

	/* MI_BATCH_BUFFER_START, MI_BATCH_BUFFER_END */
	AF_MI_PPGTT = 1 << 8,
	AF_MI_PREDICATED = 1 << 15,
	AF_MI_INDIRECT = 1 << 18, /* Xe3p: the address is that of the address */
	AF_MI_RETURNS = 1 << 22,  /* of a second level, whose end leads back */

	AF_COMPUTE_WALKER_VARIANT = 3,
};

/* The addresses that a command has: 48 bits, 57 on Xe3p. The upper ones repeat the last. */
static inline __u64 af_batch_address(__u32 version, __u32 low, __u32 high)
{
	__u64 address = (__u64)high << 32 | low;

	return address & (version >= AF_BATCH_VERSION_XE3P ? (1ull << 57) - 1 : (1ull << 48) - 1);
}

static inline __u32 af_batch_mi_dwords(__u32 header)
{
	__u32 opcode = header >> 23 & 0x3f;

	if (opcode < AF_MI_SINGLE)
		return 1;
	if (opcode == AF_MI_STORE_DATA_IMM || opcode == AF_MI_UPDATE_GTT || opcode == AF_MI_CLFLUSH)
		return (header & 0x3ff) + 2;
	return (header & 0xff) + 2;
}

/* Media, GPGPU, compute and video: the width of the length is the opcode's. */
static inline __u32 af_batch_media_dwords(__u32 header)
{
	switch (header >> 24 & 7) {
	case 0:
		return (header & 0xffff) + 2;
	case 1: /* a walker has flags above its length; objects have inline data */
		if (header >> 16 == AF_GPGPU_WALKER || header >> 16 == AF_MEDIA_OBJECT_WALKER)
			return (header & 0xff) + 2;
		return (header & 0x7fff) + 2;
	case 2:
		return (header & 0xff) + 2;
	case 3: /* video */
	case 5:
		return (header & 0xfff) + 2;
	}
	return 0;
}

static inline __u32 af_batch_render_dwords(__u32 header)
{
	__u32 opcode = header >> 24 & 7;

	switch (header >> 27 & 3) {
	case 0:
		return opcode < 2 ? (header & 0xff) + 2 : 0;
	case 1:
		return opcode < 2 ? 1 : 0;
	case 2:
		return af_batch_media_dwords(header);
	}
	if (header >> 16 == AF_3DSTATE_VF_STATISTICS)
		return 1;
	if (header >> 16 == AF_3DSTATE_SO_DECL_LIST ||
	    (header >> 16 >= AF_3DSTATE_BINDING_TABLE_EDIT_VS &&
	     header >> 16 <= AF_3DSTATE_BINDING_TABLE_EDIT_PS))
		return (header & 0x1ff) + 2;
	return opcode < 5 ? (header & 0xff) + 2 : 0;
}

/* How many DWORDs a command has, its header included; 0: no rule gives its length. */
static inline __u32 af_batch_dwords(__u32 version, __u32 header)
{
	switch (header >> 29) {
	case 0:
		return af_batch_mi_dwords(header);
	case 2: /* the blitter's */
		return (header & 0xff) + 2;
	case 3:
		return af_batch_render_dwords(header);
	case 5: /* RESOURCE_BARRIER */
		return version >= AF_BATCH_VERSION_XE2 ? (header & 0xff) + 2 : 0;
	}
	return 0;
}

#endif
