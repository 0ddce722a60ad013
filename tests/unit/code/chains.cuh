/* in Poly::eval */
struct Poly {
	float a, b, c;

	__device__ __forceinline__ float eval(float x) const
	{
		return a + x * (b + x * c);
	}
};

/* in clamped */
template <typename T>
__device__ __forceinline__ T clamped(T x, T low, T high)
{
	T y = x < low ? low : x;
	return y > high ? high : y;
}
