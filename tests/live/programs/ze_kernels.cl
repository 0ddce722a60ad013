/* Kernels of ze_works and cl_intel for Intel's compiler; the mock takes their names. */
float poly(float x)
{
	float y = x;
	for (int i = 0; i < 16; i++)
		y = y * x + 0.5f;
	return y;
}

#ifdef TINY
__kernel void tiny(__global uint *a)
{
	a[get_global_id(0)] += 1;
}
#else
__kernel void KERNEL(ulong ns, __global float *y)
{
	y[get_global_id(0)] = poly((float)ns);
}
#endif
