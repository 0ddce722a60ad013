/*
 * dynpar: each parent kernel launches two children on the device. Only the parents have a host
 * call; drivers differ in whether they report the children at all.
 */
#include "truth.h"

enum { LAUNCHES = 20 };

extern "C" __global__ void child(unsigned long long ns)
{
	spin(ns);
}

extern "C" __global__ void parent(unsigned long long ns)
{
	child<<<1, 1>>>(ns);
	child<<<1, 1>>>(ns);
}

CALLPATH void launches_parents(void)
{
	for (int i = 0; i < LAUNCHES; i++)
		parent<<<1, 1>>>(5000);
}

int main(void)
{
	launches_parents();
	CHECK(cudaDeviceSynchronize());
	launched("launches_parents", "parent", LAUNCHES);
	fact("children", 2 * LAUNCHES);
	truth_print();
	return 0;
}
