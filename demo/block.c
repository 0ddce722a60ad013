/*
 * The block of block.h on a device. Every stage is a function of its own, kept out of line, so that
 * the six uses of matmul and the two of layer_norm are different call paths in a profile.
 */
#include "block.h"

#include "block_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STAGE __attribute__((noinline)) static

#define ARG(variable)                                                                              \
	{                                                                                          \
		sizeof(variable), &(variable)                                                      \
	}
#define NR(array) (sizeof(array) / sizeof *(array))
#define NOTHING ((struct device_after){0, NULL})

/* The sizes that kernels.cl has as TILE, WIDE and ROW. */
enum { TILE = 16, WIDE = 4, ROW = 64 };

/* A matrix as a window of a buffer. */
struct window {
	cl_mem mem;
	cl_int first, stride;
};

/* c[m, n] = scale * a[m, k] * b[k, n] */
struct product {
	struct window a, b, c;
	cl_int b_transposed, m, n, k;
	cl_float scale;
};

const char *block_error(void)
{
	return device_error();
}

const char *block_device_name(const struct block *b)
{
	return b->device.name;
}

STAGE int matmul(struct block *b, cl_command_queue queue, const struct product *p,
                 struct device_after after, cl_event *done)
{
	const struct device_arg args[] = {
	    ARG(p->a.mem),
	    ARG(p->a.first),
	    ARG(p->a.stride),
	    ARG(p->b.mem),
	    ARG(p->b.first),
	    ARG(p->b.stride),
	    ARG(p->b_transposed),
	    ARG(p->c.mem),
	    ARG(p->c.first),
	    ARG(p->c.stride),
	    ARG(p->m),
	    ARG(p->n),
	    ARG(p->k),
	    ARG(p->scale),
	};
	const size_t columns = ((size_t)p->n + TILE * WIDE - 1) / (TILE * WIDE);
	const size_t rows = ((size_t)p->m + TILE - 1) / TILE;
	const struct device_range range = {queue, {columns * TILE, rows * TILE}, {TILE, TILE}};

	return device_launch(&b->device, DEVICE_MATMUL, &range, args, NR(args), after, done);
}

STAGE int layer_norm(struct block *b, cl_mem in, int which, struct device_after after)
{
	const cl_int width = b->config.dim;
	const struct device_arg args[] = {ARG(in), ARG(b->gain[which].mem),
	                                  ARG(b->shift[which].mem), ARG(b->normed), ARG(width)};
	const struct device_range range = {b->device.compute, {(size_t)b->config.seq * ROW}, {ROW}};

	return device_launch(&b->device, DEVICE_LAYER_NORM, &range, args, NR(args), after, NULL);
}

STAGE int add_residual(struct block *b, cl_mem x, cl_mem y, cl_mem out, cl_event *done)
{
	const cl_int nr = b->config.seq * b->config.dim;
	const struct device_arg args[] = {ARG(x), ARG(y), ARG(out), ARG(nr)};
	const struct device_range range = {b->device.compute, {((size_t)nr + 63) / 64 * 64}, {64}};

	return device_launch(&b->device, DEVICE_ADD_RESIDUAL, &range, args, NR(args), NOTHING,
	                     done);
}

STAGE int gelu(struct block *b)
{
	const cl_int nr = b->config.seq * b->config.ffn;
	const struct device_arg args[] = {ARG(b->hidden), ARG(nr)};
	const struct device_range range = {b->device.compute, {((size_t)nr + 63) / 64 * 64}, {64}};

	return device_launch(&b->device, DEVICE_GELU, &range, args, NR(args), NOTHING, NULL);
}

/* qkv[seq, 3 dim] = normed * w_qkv: query, key and value of all heads side by side. */
STAGE int project_qkv(struct block *b, cl_event *done)
{
	const struct block_config *c = &b->config;
	const struct product p = {.a = {b->normed, 0, c->dim},
	                          .b = {b->w_qkv.mem, 0, 3 * c->dim},
	                          .c = {b->qkv, 0, 3 * c->dim},
	                          .m = c->seq,
	                          .n = 3 * c->dim,
	                          .k = c->dim,
	                          .scale = 1};

	return matmul(b, b->device.compute, &p, NOTHING, done);
}

/* scores[head] = query * keyᵀ / √width */
STAGE int attention_scores(struct block *b, int head, struct device_after after, cl_event *done)
{
	const struct block_config *c = &b->config;
	const int width = c->dim / c->heads;
	const struct product p = {.a = {b->qkv, head * width, 3 * c->dim},
	                          .b = {b->qkv, c->dim + head * width, 3 * c->dim},
	                          .c = {b->scores, head * c->seq * c->seq, c->seq},
	                          .b_transposed = 1,
	                          .m = c->seq,
	                          .n = c->seq,
	                          .k = width,
	                          .scale = 1 / sqrtf((float)width)};

	return matmul(b, b->device.heads, &p, after, done);
}

STAGE int attention_softmax(struct block *b, int head, struct device_after after, cl_event *done)
{
	const cl_int seq = b->config.seq;
	const cl_int first = head * seq * seq;
	const struct device_arg args[] = {ARG(b->scores), ARG(first), ARG(seq)};
	const struct device_range range = {b->device.heads, {(size_t)seq * ROW}, {ROW}};

	return device_launch(&b->device, DEVICE_SOFTMAX_ROWS, &range, args, NR(args), after, done);
}

/* mixed[head] = scores * value */
STAGE int attention_values(struct block *b, int head, struct device_after after, cl_event *done)
{
	const struct block_config *c = &b->config;
	const int width = c->dim / c->heads;
	const struct product p = {.a = {b->scores, head * c->seq * c->seq, c->seq},
	                          .b = {b->qkv, 2 * c->dim + head * width, 3 * c->dim},
	                          .c = {b->mixed, head * width, c->dim},
	                          .m = c->seq,
	                          .n = width,
	                          .k = c->seq,
	                          .scale = 1};

	return matmul(b, b->device.heads, &p, after, done);
}

/* The three kernels of one head, a chain on the out-of-order queue. */
STAGE int attention_head(struct block *b, int head, struct device_after after, cl_event *done)
{
	cl_event scored = NULL, weighed = NULL;
	int rc = attention_scores(b, head, after, &scored);

	if (!rc)
		rc = attention_softmax(b, head, (struct device_after){1, &scored}, &weighed);
	if (!rc)
		rc = attention_values(b, head, (struct device_after){1, &weighed}, done);
	device_event_release(&b->device, &scored);
	device_event_release(&b->device, &weighed);
	return rc;
}

/* projected = mixed * w_out */
STAGE int project_output(struct block *b, struct device_after after)
{
	const struct block_config *c = &b->config;
	const struct product p = {.a = {b->mixed, 0, c->dim},
	                          .b = {b->w_out.mem, 0, c->dim},
	                          .c = {b->projected, 0, c->dim},
	                          .m = c->seq,
	                          .n = c->dim,
	                          .k = c->dim,
	                          .scale = 1};

	return matmul(b, b->device.compute, &p, after, NULL);
}

/* hidden[seq, ffn] = normed * w_up */
STAGE int feed_up(struct block *b)
{
	const struct block_config *c = &b->config;
	const struct product p = {.a = {b->normed, 0, c->dim},
	                          .b = {b->w_up.mem, 0, c->ffn},
	                          .c = {b->hidden, 0, c->ffn},
	                          .m = c->seq,
	                          .n = c->ffn,
	                          .k = c->dim,
	                          .scale = 1};

	return matmul(b, b->device.compute, &p, NOTHING, NULL);
}

/* projected[seq, dim] = hidden * w_down */
STAGE int feed_down(struct block *b)
{
	const struct block_config *c = &b->config;
	const struct product p = {.a = {b->hidden, 0, c->ffn},
	                          .b = {b->w_down.mem, 0, c->dim},
	                          .c = {b->projected, 0, c->dim},
	                          .m = c->seq,
	                          .n = c->dim,
	                          .k = c->ffn,
	                          .scale = 1};

	return matmul(b, b->device.compute, &p, NOTHING, NULL);
}

int block_upload(struct block *b, const float *x)
{
	const size_t size = (size_t)b->config.seq * b->config.dim * sizeof *x;
	cl_event written = NULL;
	cl_int rc;

	/* The staging copy lets the transfer run while the caller prepares its next input. */
	if (b->uploaded)
		clWaitForEvents(1, &b->uploaded);
	device_event_release(&b->device, &b->uploaded);
	memcpy(b->staging, x, size);
	rc = clEnqueueWriteBuffer(b->device.copy, b->x, CL_FALSE, 0, size, b->staging,
	                          b->computed != NULL, b->computed ? &b->computed : NULL, &written);
	if (!rc)
		rc = clEnqueueCopyBuffer(b->device.copy, b->x, b->residual, 0, 0, size, 1, &written,
		                         &b->uploaded);
	if (!rc)
		rc = clFlush(b->device.copy);
	device_event_release(&b->device, &written);
	return rc ? device_fail("upload", rc) : 0;
}

int block_norm(struct block *b, int which)
{
	if (which == 0)
		return layer_norm(b, b->x, 0,
		                  (struct device_after){b->uploaded != NULL, &b->uploaded});
	return layer_norm(b, b->residual, 1, NOTHING);
}

int block_attention(struct block *b)
{
	const int heads = b->config.heads;
	cl_event projected = NULL;
	int rc = project_qkv(b, &projected);

	/* The first flush lets the heads start; the second, the kernels that wait for them. */
	if (!rc && clFlush(b->device.compute))
		rc = device_fail("clFlush", 0);
	for (int head = 0; !rc && head < heads; head++)
		rc = attention_head(b, head, (struct device_after){1, &projected},
		                    &b->head_done[head]);
	if (!rc && clFlush(b->device.heads))
		rc = device_fail("clFlush", 0);
	if (!rc)
		rc = project_output(b, (struct device_after){(cl_uint)heads, b->head_done});
	if (!rc)
		rc = add_residual(b, b->residual, b->projected, b->residual, NULL);
	for (int head = 0; head < heads; head++)
		device_event_release(&b->device, &b->head_done[head]);
	device_event_release(&b->device, &projected);
	return rc;
}

int block_feed_forward(struct block *b)
{
	int rc = feed_up(b);

	if (!rc)
		rc = gelu(b);
	if (!rc)
		rc = feed_down(b);
	device_event_release(&b->device, &b->computed);
	if (!rc)
		rc = add_residual(b, b->residual, b->projected, b->y, &b->computed);
	if (!rc && clFlush(b->device.compute))
		rc = device_fail("clFlush", 0);
	return rc;
}

int block_download(struct block *b, float *y)
{
	const size_t size = (size_t)b->config.seq * b->config.dim * sizeof *y;
	cl_int rc = clEnqueueReadBuffer(b->device.copy, b->y, CL_TRUE, 0, size, y,
	                                b->computed != NULL, b->computed ? &b->computed : NULL,
	                                device_event_place(&b->device, NULL));

	return rc ? device_fail("download", rc) : 0;
}

int block_forward(struct block *b, const float *x, float *y)
{
	int rc = block_upload(b, x);

	if (!rc)
		rc = block_norm(b, 0);
	if (!rc)
		rc = block_attention(b);
	if (!rc)
		rc = block_norm(b, 1);
	if (!rc)
		rc = block_feed_forward(b);
	if (!rc)
		rc = block_download(b, y);
	return rc;
}

int block_mean_square(struct block *b, double *out)
{
	const size_t nr = (size_t)b->config.seq * b->config.dim;
	double sum = 0;
	cl_int rc;
	const float *y =
	    clEnqueueMapBuffer(b->device.copy, b->y, CL_TRUE, CL_MAP_READ, 0, nr * sizeof *y, 0,
	                       NULL, device_event_place(&b->device, NULL), &rc);

	if (rc)
		return device_fail("map", rc);
	for (size_t i = 0; i < nr; i++)
		sum += (double)y[i] * y[i];
	*out = sum / (double)nr;
	rc = clEnqueueUnmapMemObject(b->device.copy, b->y, (void *)(uintptr_t)y, 0, NULL,
	                             device_event_place(&b->device, NULL));
	if (!rc)
		rc = clFinish(b->device.copy);
	return rc ? device_fail("unmap", rc) : 0;
}
