/* Branches that diverge, a loop with an exit, a switch, and helpers in each of them. */
uint scramble(uint x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	return x ^ x >> 15;
}

uint steps_of(uint x)
{
	uint steps = 0;

	while (x != 1 && steps < 100) {
		x = x & 1 ? 3 * x + 1 : x / 2;
		steps++;
	}
	return steps;
}

uint choose(uint x, uint how)
{
	switch (how) {
	case 0:
		return scramble(x);
	case 1:
		return steps_of(x | 1);
	case 2:
		return scramble(x) + steps_of(x + 2);
	default:
		return popcount(x);
	}
}

__kernel void branches(__global uint *out, __global const uint *in)
{
	uint i = get_global_id(0), x = in[i];

	out[i] = choose(x, x % 5) + choose(i, i % 4);
}
