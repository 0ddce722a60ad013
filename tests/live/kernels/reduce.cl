/* Sums in local memory, with helpers that are inlined two deep. */
float square(float v)
{
	return v * v;
}

float weigh(float a, float b)
{
	float both = square(a) + square(b);

	return both > 1.0f ? native_rsqrt(both) : both;
}

__kernel void reduce(__global float *out, __global const float *in, __local float *room, int n)
{
	int local_id = get_local_id(0);
	float sum = 0;

	for (int i = get_global_id(0); i < n; i += get_global_size(0))
		sum += weigh(in[i], in[i + 1]);
	room[local_id] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int part = get_local_size(0) / 2; part > 0; part /= 2) {
		if (local_id < part)
			room[local_id] = weigh(room[local_id], room[local_id + part]);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (!local_id)
		out[get_group_id(0)] = room[0];
}
