/* Kernels of ze_works for Intel's compiler; the mock takes their names. */
float poly(float x)
{
	float y = x;
	for (int i = 0; i < 16; i++)
		y = y * x + 0.5f;
	return y;
}

__kernel void KERNEL(ulong ns, __global float *y)
{
	y[get_global_id(0)] = poly((float)ns);
}
