/*
 * The state of a walk through a batch buffer, and the code that it found. BPF programs hand
 * struct af_batch_kernel to the recorder as it is.
 *
 * License of this file: that of whichever program includes it, Apache-2.0 or Dual BSD/GPL.
 */
#ifndef AF_BATCH_FOUND_H
#define AF_BATCH_FOUND_H

#include <linux/types.h>

enum {
	AF_BATCH_COMMANDS = 1 << 20, /* a walk reads no more, unless `most` is set */
	AF_BATCH_LEVELS = 3,         /* of batches that return */
	AF_BATCH_KERNELS = 3,        /* that one command can start */
	AF_BATCH_JUMPS = 16,         /* targets that are remembered, to end circles */
	AF_BATCH_PENDING = 8,        /* targets that a condition may lead to, for later */
	AF_BATCH_EMPTY = 1024,       /* DWORDs of zeros in a row: nobody has written here yet */
	AF_BATCH_DESCRIPTOR = 32,    /* bytes of an interface descriptor */
	AF_BATCH_MAYBE = 1,          /* with the address of a return, which is even */
	AF_BATCH_DWORDS = 28,
	AF_BATCH_BYTES = 4 * AF_BATCH_DWORDS, /* of a read */
};

/* Why a walk is over. */
enum af_batch_stop {
	AF_BATCH_END = 1,    /* the end of the batch: all of it was read */
	AF_BATCH_LOOP,       /* it goes on where it has been, so all of it was read */
	AF_BATCH_UNREADABLE, /* there is no memory, or not ours */
	AF_BATCH_UNWRITTEN,  /* zeros: try again later */
	AF_BATCH_UNKNOWN,    /* a command that no rule gives the length of, or too short a one */
	AF_BATCH_TOO_LONG,   /* `most` commands were read */
	AF_BATCH_GLOBAL,     /* it goes on in the global address space, which is the kernel's */
	AF_BATCH_INDIRECT,   /* it goes on at an address that only the GPU knows */
};

enum af_batch_kind {
	AF_BATCH_COMPUTE = 1,
	AF_BATCH_VERTEX,
	AF_BATCH_HULL,
	AF_BATCH_DOMAIN,
	AF_BATCH_GEOMETRY,
	AF_BATCH_PIXEL,
	AF_BATCH_SYSTEM, /* the system routine, which exceptions and debuggers enter */
};

enum {
	AF_BATCH_OFFSET = 1,   /* the instruction base was never set: `address` counts from there */
	AF_BATCH_ABSOLUTE = 2, /* no base was added */

	AF_BATCH_INSTRUCTION = 1, /* bases that are known */
	AF_BATCH_DYNAMIC = 2,
};

/* Code that a command starts. The address is that of the entry, not of the whole kernel. */
struct af_batch_kernel {
	__u64 address; /* in the address space of the process; bits 63 to 48 are 0 (57: Xe3p) */
	__u64 at;      /* the command */
	__u32 kind;    /* enum af_batch_kind */
	__u32 flags;
};

/*
 * STATE_BASE_ADDRESS: the GPU keeps it with the context, so a later batch need not set it. Kept by
 * who walks several batches of one context.
 */
struct af_batch_bases {
	__u64 instruction, dynamic;
	__u32 known;
	__u32 pad;
};

struct af_batch_walk {
	__u64 at; /* the next command */
	struct af_batch_bases bases;
	__u32 version; /* GRAPHICS_VER */
	__u32 most;    /* commands that may be read; 0: AF_BATCH_COMMANDS */
	__u32 nr_commands;
	__u32 stop; /* enum af_batch_stop, 0: it goes on */
	__u32 nr_empty;
	__u32 depth, unsure; /* unsure: a bit for each level that may be over already */
	__u32 nr_jumped, nr_pending;
	__u32 descriptors, nr_descriptors; /* from the dynamic base */
	__u32 nr_undescribed;              /* walkers whose descriptor could not be read */
	__u32 nr_kernels;                  /* of the last command */
	struct af_batch_kernel kernels[AF_BATCH_KERNELS + 1];
	__u64 back[AF_BATCH_LEVELS + 1];
	__u64 jumped[AF_BATCH_JUMPS], pending[AF_BATCH_PENDING];
	__u32 dwords[AF_BATCH_DWORDS];
};

#endif
