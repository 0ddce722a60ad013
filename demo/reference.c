/* The block of block.h in plain C on the host: what the device's result is checked against. */
#include "block.h"

#include "block_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* c[m, n] = scale * a[m, k] * b[k, n], each with its own row stride; the sums are kept in c. */
static void multiply(const float *a, size_t a_stride, const float *b, size_t b_stride, float *c,
                     size_t c_stride, size_t m, size_t n, size_t k)
{
	for (size_t row = 0; row < m; row++) {
		float *out = c + row * c_stride;

		memset(out, 0, n * sizeof *out);
		for (size_t i = 0; i < k; i++) {
			const float left = a[row * a_stride + i];

			for (size_t column = 0; column < n; column++)
				out[column] += left * b[i * b_stride + column];
		}
	}
}

static void normalise(const float *in, const struct block *b, int which, float *out)
{
	const size_t dim = (size_t)b->config.dim;

	for (int row = 0; row < b->config.seq; row++, in += dim, out += dim) {
		double mean = 0, variance = 0;

		for (size_t i = 0; i < dim; i++)
			mean += in[i];
		mean /= (double)dim;
		for (size_t i = 0; i < dim; i++)
			variance += (in[i] - mean) * (in[i] - mean);
		variance /= (double)dim;
		for (size_t i = 0; i < dim; i++)
			out[i] = (float)((in[i] - mean) / sqrt(variance + 1e-5)) *
			             b->gain[which].host[i] +
			         b->shift[which].host[i];
	}
}

static void softmax(float *row, size_t width)
{
	float most = row[0];
	double sum = 0;

	for (size_t i = 1; i < width; i++)
		most = fmaxf(most, row[i]);
	for (size_t i = 0; i < width; i++) {
		row[i] = expf(row[i] - most);
		sum += row[i];
	}
	for (size_t i = 0; i < width; i++)
		row[i] = (float)(row[i] / sum);
}

/* mixed[seq, dim] from qkv[seq, 3 dim], one head and one query row after the other. */
static void attend(const struct block *b, const float *qkv, float *scores, float *mixed)
{
	const size_t seq = (size_t)b->config.seq, dim = (size_t)b->config.dim;
	const size_t heads = (size_t)b->config.heads, width = dim / heads;

	for (size_t at = 0; at < heads * seq; at++) {
		const size_t first = at / seq * width;
		const float *query = qkv + at % seq * 3 * dim + first;

		for (size_t key = 0; key < seq; key++) {
			const float *other = qkv + key * 3 * dim + dim + first;
			float sum = 0;

			for (size_t i = 0; i < width; i++)
				sum += query[i] * other[i];
			scores[key] = sum / sqrtf((float)width);
		}
		softmax(scores, seq);
		multiply(scores, seq, qkv + 2 * dim + first, 3 * dim,
		         mixed + at % seq * dim + first, dim, 1, width, seq);
	}
}

static void gelu(float *values, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const float x = values[i];

		values[i] = 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
	}
}

int block_reference(const struct block *b, const float *x, float *y)
{
	const size_t seq = (size_t)b->config.seq, dim = (size_t)b->config.dim;
	const size_t ffn = (size_t)b->config.ffn, rows = seq * dim;
	const size_t wide = 3 * dim > ffn ? 3 * dim : ffn;
	float *normed = malloc((rows * 2 + seq * wide + seq) * sizeof *normed);
	float *half = normed ? normed + rows : NULL; /* the result of either half */
	float *broad = normed ? half + rows : NULL;  /* qkv, then hidden */
	float *scores = normed ? broad + seq * wide : NULL;

	if (!normed)
		return device_fail("out of memory", 0);
	normalise(x, b, 0, normed);
	multiply(normed, dim, b->w_qkv.host, 3 * dim, broad, 3 * dim, seq, 3 * dim, dim);
	attend(b, broad, scores, normed);
	multiply(normed, dim, b->w_out.host, dim, half, dim, seq, dim, dim);
	for (size_t i = 0; i < rows; i++)
		y[i] = x[i] + half[i];

	normalise(y, b, 1, normed);
	multiply(normed, dim, b->w_up.host, ffn, broad, ffn, seq, ffn, dim);
	gelu(broad, seq * ffn);
	multiply(broad, ffn, b->w_down.host, dim, half, dim, seq, dim, ffn);
	for (size_t i = 0; i < rows; i++)
		y[i] += half[i];
	free(normed);
	return 0;
}
