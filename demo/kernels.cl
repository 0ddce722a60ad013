/*
 * The kernels of one transformer block, OpenCL C 1.2, float32, row-major matrices.
 * Nothing here is tuned for one device: the tiles live in local memory, the sizes are arguments.
 */

#define TILE 16  /* matmul: a work group makes TILE rows ... */
#define WIDE 4   /* ... by TILE * WIDE columns, each work item WIDE of them */
#define ROW 64   /* layer_norm, softmax_rows: work items that share one row */

/* What one work item of matmul loads of b: element (row, column), zero outside the matrix. */
float matmul_b(global const float *b, int stride, int transposed, int row, int column, int k, int n)
{
	if (row >= k || column >= n)
		return 0.0f;
	return transposed ? b[column * stride + row] : b[row * stride + column];
}

/* c[m, n] = scale * a[m, k] * b[k, n]; each matrix is a window of a buffer: first element, stride. */
kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void
matmul(global const float *a, int a_first, int a_stride, global const float *b, int b_first,
       int b_stride, int b_transposed, global float *c, int c_first, int c_stride, int m, int n,
       int k, float scale)
{
	local float a_tile[TILE][TILE];
	local float4 b_tile[TILE][TILE];
	const int x = get_local_id(0);
	const int y = get_local_id(1);
	const int row = get_group_id(1) * TILE + y;
	const int column = (get_group_id(0) * TILE + x) * WIDE;
	float4 sum = 0.0f;

	a += a_first;
	b += b_first;
	c += c_first;
	for (int at = 0; at < k; at += TILE) {
		a_tile[y][x] = row < m && at + x < k ? a[row * a_stride + at + x] : 0.0f;
		b_tile[y][x] =
		    (float4)(matmul_b(b, b_stride, b_transposed, at + y, column, k, n),
		             matmul_b(b, b_stride, b_transposed, at + y, column + 1, k, n),
		             matmul_b(b, b_stride, b_transposed, at + y, column + 2, k, n),
		             matmul_b(b, b_stride, b_transposed, at + y, column + 3, k, n));
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int i = 0; i < TILE; i++)
			sum += a_tile[y][i] * b_tile[i][x];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (row >= m)
		return;
	const float out[WIDE] = {sum.x, sum.y, sum.z, sum.w};
	for (int i = 0; i < WIDE && column + i < n; i++)
		c[row * c_stride + column + i] = scale * out[i];
}

/* The sum of @value over the ROW work items of a row; every one of them gets it. */
float row_sum(float value, local float *scratch)
{
	const int lane = get_local_id(0);

	scratch[lane] = value;
	barrier(CLK_LOCAL_MEM_FENCE);
	float sum = 0.0f;
	for (int i = 0; i < ROW; i++)
		sum += scratch[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	return sum;
}

/* The greatest @value of a row. */
float row_max(float value, local float *scratch)
{
	const int lane = get_local_id(0);

	scratch[lane] = value;
	barrier(CLK_LOCAL_MEM_FENCE);
	float most = scratch[0];
	for (int i = 1; i < ROW; i++)
		most = fmax(most, scratch[i]);
	barrier(CLK_LOCAL_MEM_FENCE);
	return most;
}

/* out = (in - mean) / sqrt(variance + 1e-5) * gain + shift, over each row of @width. */
kernel __attribute__((reqd_work_group_size(ROW, 1, 1))) void
layer_norm(global const float *in, global const float *gain, global const float *shift,
           global float *out, int width)
{
	local float scratch[ROW];
	const int lane = get_local_id(0);
	const int first = get_group_id(0) * width;
	float part = 0.0f;

	for (int i = lane; i < width; i += ROW)
		part += in[first + i];
	const float mean = row_sum(part, scratch) / width;

	part = 0.0f;
	for (int i = lane; i < width; i += ROW)
		part += (in[first + i] - mean) * (in[first + i] - mean);
	const float scale = rsqrt(row_sum(part, scratch) / width + 1e-5f);

	for (int i = lane; i < width; i += ROW)
		out[first + i] = (in[first + i] - mean) * scale * gain[i] + shift[i];
}

/* In place: each row of @width, @first elements into the buffer, becomes exp / sum of exp. */
kernel __attribute__((reqd_work_group_size(ROW, 1, 1))) void
softmax_rows(global float *rows, int first, int width)
{
	local float scratch[ROW];
	const int lane = get_local_id(0);
	global float *row = rows + first + get_group_id(0) * width;
	float part = -INFINITY;

	for (int i = lane; i < width; i += ROW)
		part = fmax(part, row[i]);
	const float most = row_max(part, scratch);

	part = 0.0f;
	for (int i = lane; i < width; i += ROW) {
		row[i] = exp(row[i] - most);
		part += row[i];
	}
	const float sum = row_sum(part, scratch);

	for (int i = lane; i < width; i += ROW)
		row[i] /= sum;
}

/* In place, the tanh form. */
kernel void gelu(global float *values, int nr_values)
{
	const int i = get_global_id(0);

	if (i >= nr_values)
		return;
	const float x = values[i];
	values[i] = 0.5f * x * (1.0f + tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
}

/* out = a + b */
kernel void add_residual(global const float *a, global const float *b, global float *out,
                         int nr_values)
{
	const int i = get_global_id(0);

	if (i < nr_values)
		out[i] = a[i] + b[i];
}
