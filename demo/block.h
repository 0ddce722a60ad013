/*
 * One pre-norm transformer block on an OpenCL device:
 *
 *     x1 = x  + attention(layer_norm(x))
 *     y  = x1 + down(gelu(up(layer_norm(x1))))
 *
 * The workload that aflame's demo and tests profile, and a plain use of OpenCL 1.2: one in-order
 * compute queue, one copy queue, and one out-of-order queue on which the attention heads run side
 * by side. Order of calls: block_open; then block_forward, or its five stages block_upload,
 * block_norm(0), block_attention, block_norm(1), block_feed_forward, and block_download; then
 * block_close. One thread at a time may use a block.
 *
 * Functions return 0, or -1 with block_error() saying why.
 */
#ifndef DEMO_BLOCK_H
#define DEMO_BLOCK_H

#define BLOCK_API __attribute__((visibility("default")))

struct block;

struct block_config {
	int seq, dim, heads, ffn;  /* rows, columns, heads (must divide dim), hidden width */
	unsigned int seed;         /* of the weights */
	int device;                /* index over the devices of all platforms, in their order */
	int leak_events;           /* take an event for every command and never release one */
	const char *kernels_path;  /* OpenCL source to use instead of the built-in, or NULL */
	const char *build_options; /* for clBuildProgram, or NULL: $DEMO_CL_OPTIONS */
};

/* The cause of this thread's last failure; valid until its next call. */
BLOCK_API const char *block_error(void);

/* Opens the device, builds the kernels, makes and uploads the weights. *@out is for block_close. */
BLOCK_API int block_open(struct block **out, const struct block_config *config);

/* The name of the device in use; lives as long as @b. */
BLOCK_API const char *block_device_name(const struct block *b);

/* Starts to copy x[seq, dim] to the device; @x may be reused at once. */
BLOCK_API int block_upload(struct block *b, const float *x);

/* Enqueues the first (@which 0) or second (1) layer norm. */
BLOCK_API int block_norm(struct block *b, int which);

/* Enqueues the attention half of the block, with its residual. */
BLOCK_API int block_attention(struct block *b);

/* Enqueues the feed-forward half of the block, with its residual. */
BLOCK_API int block_feed_forward(struct block *b);

/* Waits for the result and copies it to y[seq, dim]. */
BLOCK_API int block_download(struct block *b, float *y);

/* All of the above in order: y = block(x). */
BLOCK_API int block_forward(struct block *b, const float *x, float *y);

/* The mean square of the last result, read through a mapped buffer. */
BLOCK_API int block_mean_square(struct block *b, double *out);

/* The expected result of block_forward, computed on the host in plain C; *@y as there. */
BLOCK_API int block_reference(const struct block *b, const float *x, float *y);

/* Waits for the device and releases everything; @b may be NULL. */
BLOCK_API void block_close(struct block *b);

#endif
