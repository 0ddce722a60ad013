/*
 * A kernel with a known chain of inlined calls, and with -DTWO one that calls what is not inlined.
 */
/* in clamped */
float clamped(float v, float low, float high)
{
	return v < low ? low : v > high ? high : v;
}

/* in inner */
float inner(float a, float b, int n)
{
	float s = a;

	for (int i = 0; i < n; i++)
		s = clamped(s * a + native_sin(b), -100.0f, 100.0f);
	return s;
}

/* in outer */
float outer(float a, float b, int n)
{
	return inner(a, b, n) +
	       native_sqrt(a + b);
}

/* in three_deep */
__kernel void three_deep(__global float *out, __global const float *in, int n)
{
	int i = get_global_id(0);

	out[i] = outer(in[i], in[i + 1], n);
}

#ifdef TWO
/* in callee */
__attribute__((noinline)) float callee(__global const float *in, int n)
{
	return n ? inner(in[n], in[0], n) : 1;
}

/* in two_deep */
__kernel void two_deep(__global float *out, __global const float *in, int n)
{
	out[get_global_id(0)] = callee(in, n) + callee(in, n + 1);
}
#endif
