/* Opening and closing a block: weights, buffers, and their first fill. */
#include "block.h"

#include "block_state.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Uniform in [-1, 1): the top bits of a 64-bit linear congruential generator. */
static float uniform(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (float)((double)(*state >> 33) / (double)(1u << 30) - 1.0);
}

/* Makes @nr values around @centre, @spread wide, on the host and on the device. */
static int make_weight(struct block *b, struct block_weight *w, size_t nr, float centre,
                       float spread, uint64_t *random)
{
	cl_int rc;

	w->nr = nr;
	w->host = malloc(nr * sizeof *w->host);
	if (!w->host)
		return device_fail("out of memory", 0);
	for (size_t i = 0; i < nr; i++)
		w->host[i] = centre + spread * uniform(random);
	w->mem = device_buffer(&b->device, nr);
	if (!w->mem)
		return -1;
	rc = clEnqueueWriteBuffer(b->device.copy, w->mem, CL_TRUE, 0, nr * sizeof *w->host, w->host,
	                          0, NULL, device_event_place(&b->device, NULL));
	return rc ? device_fail("weights", rc) : 0;
}

static int make_weights(struct block *b)
{
	const size_t dim = (size_t)b->config.dim;
	const size_t ffn = (size_t)b->config.ffn;
	const float in_dim = sqrtf(3.0f / (float)dim);
	const float in_ffn = sqrtf(3.0f / (float)ffn);
	uint64_t random = b->config.seed + UINT64_C(0x9e3779b97f4a7c15);
	int rc = 0;

	for (int i = 0; !rc && i < 2; i++) {
		rc = make_weight(b, &b->gain[i], dim, 1.0f, 0.2f, &random);
		if (!rc)
			rc = make_weight(b, &b->shift[i], dim, 0.0f, 0.1f, &random);
	}
	if (!rc)
		rc = make_weight(b, &b->w_qkv, dim * 3 * dim, 0, in_dim, &random);
	if (!rc)
		rc = make_weight(b, &b->w_out, dim * dim, 0, in_dim, &random);
	if (!rc)
		rc = make_weight(b, &b->w_up, dim * ffn, 0, in_dim, &random);
	if (!rc)
		rc = make_weight(b, &b->w_down, ffn * dim, 0, in_ffn, &random);
	return rc;
}

/* Buffers start as zero, so that a stage called too early computes on zeros, not on garbage. */
static int make_buffer(struct block *b, cl_mem *mem, size_t nr)
{
	const cl_float zero = 0;
	cl_int rc;

	*mem = device_buffer(&b->device, nr);
	if (!*mem)
		return -1;
	rc = clEnqueueFillBuffer(b->device.copy, *mem, &zero, sizeof zero, 0, nr * sizeof zero, 0,
	                         NULL, device_event_place(&b->device, NULL));
	return rc ? device_fail("clEnqueueFillBuffer", rc) : 0;
}

static int make_buffers(struct block *b)
{
	const size_t seq = (size_t)b->config.seq;
	const size_t rows = seq * b->config.dim;
	cl_mem *const plain[] = {&b->x, &b->residual, &b->normed, &b->mixed, &b->projected, &b->y};
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof plain / sizeof *plain; i++)
		rc = make_buffer(b, plain[i], rows);
	if (!rc)
		rc = make_buffer(b, &b->qkv, 3 * rows);
	if (!rc)
		rc = make_buffer(b, &b->scores, seq * seq * b->config.heads);
	if (!rc)
		rc = make_buffer(b, &b->hidden, seq * b->config.ffn);
	if (rc)
		return rc;
	b->staging = malloc(rows * sizeof *b->staging);
	b->head_done = calloc((size_t)b->config.heads, sizeof *b->head_done);
	if (!b->staging || !b->head_done)
		return device_fail("out of memory", 0);
	rc = clFinish(b->device.copy);
	return rc ? device_fail("clFinish", rc) : 0;
}

/* Bounded so that every index in the kernels fits an int. */
static int check_config(const struct block_config *c)
{
	if (c->seq < 1 || c->seq > 4096 || c->dim < 1 || c->dim > 8192 || c->ffn < 1 ||
	    c->ffn > 32768 || c->heads < 1 || c->heads > 64)
		return device_fail("seq, dim, ffn or heads is out of range", 0);
	if (c->dim % c->heads)
		return device_fail("heads must divide dim", 0);
	return 0;
}

int block_open(struct block **out, const struct block_config *config)
{
	struct block *b;
	int rc;

	*out = NULL;
	if (check_config(config))
		return -1;
	b = calloc(1, sizeof *b);
	if (!b)
		return device_fail("out of memory", 0);
	b->config = *config;
	rc = device_open(&b->device, config->device, config->kernels_path, config->build_options);
	b->device.leak_events = config->leak_events != 0;
	if (!rc)
		rc = make_weights(b);
	if (!rc)
		rc = make_buffers(b);
	if (rc) {
		block_close(b);
		return rc;
	}
	*out = b;
	return 0;
}

static void free_weight(struct block_weight *w)
{
	free(w->host);
	if (w->mem)
		clReleaseMemObject(w->mem);
}

static void free_buffers(struct block *b)
{
	const cl_mem all[] = {b->x, b->residual, b->normed, b->mixed, b->projected,
	                      b->y, b->qkv,      b->scores, b->hidden};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i])
			clReleaseMemObject(all[i]);
}

void block_close(struct block *b)
{
	if (!b)
		return;
	if (b->uploaded)
		clWaitForEvents(1, &b->uploaded);
	device_event_release(&b->device, &b->uploaded);
	device_event_release(&b->device, &b->computed);
	for (int i = 0; i < 2; i++) {
		free_weight(&b->gain[i]);
		free_weight(&b->shift[i]);
	}
	free_weight(&b->w_qkv);
	free_weight(&b->w_out);
	free_weight(&b->w_up);
	free_weight(&b->w_down);
	free_buffers(b);
	device_close(&b->device);
	free(b->head_done);
	free(b->staging);
	free(b);
}
