/* A product of matrices by tiles: unrolled loops, local memory, vectors. */
enum { TILE = 8 };

float4 times(float4 sum, float a, float4 b)
{
	return mad((float4)a, b, sum);
}

float4 row(__local const float *a, __local const float4 *b, float4 sum)
{
#pragma unroll
	for (int k = 0; k < TILE; k++)
		sum = times(sum, a[k], b[k]);
	return sum;
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void
multiply(__global float4 *out, __global const float *a, __global const float4 *b, int n)
{
	__local float tile_a[TILE][TILE];
	__local float4 tile_b[TILE];
	int x = get_local_id(0), y = get_local_id(1);
	float4 sum = 0;

	for (int t = 0; t < n; t += TILE) {
		tile_a[y][x] = a[get_global_id(1) * n + t + x];
		if (!y)
			tile_b[x] = b[(t + x) * n + get_group_id(0)];
		barrier(CLK_LOCAL_MEM_FENCE);
		sum = row(tile_a[y], tile_b, sum);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	out[get_global_id(1) * n + get_global_id(0)] = sum;
}
