/* The content of a block; shared by block.c (device), state.c (life) and reference.c (host). */
#ifndef DEMO_BLOCK_STATE_H
#define DEMO_BLOCK_STATE_H

#include "block.h"
#include "device.h"

/* A weight: on the host for the reference, on the device for the kernels. */
struct block_weight {
	size_t nr;
	float *host;
	cl_mem mem;
};

struct block {
	struct block_config config;
	struct device device;

	struct block_weight gain[2], shift[2]; /* of the two norms, [dim] */
	struct block_weight w_qkv;             /* [dim, 3 dim] */
	struct block_weight w_out;             /* [dim, dim] */
	struct block_weight w_up;              /* [dim, ffn] */
	struct block_weight w_down;            /* [ffn, dim] */

	cl_mem x, residual, normed, mixed, projected, y; /* [seq, dim] */
	cl_mem qkv;                                      /* [seq, 3 dim] */
	cl_mem scores;                                   /* [heads, seq, seq] */
	cl_mem hidden;                                   /* [seq, ffn] */

	float *staging;      /* the input while it travels, [seq, dim] */
	cl_event *head_done; /* [heads] */
	cl_event uploaded;   /* the copy queue's last write */
	cl_event computed;   /* the compute queue's last kernel */
};

#endif
