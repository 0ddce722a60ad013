/* exc: cudaLaunchKernelExC, cooperative launches, and clusters of two blocks where the GPU has
 * them. */
#include "truth.h"

enum { LAUNCHES = 40 };

static unsigned long long ns = 5000;
static void *arguments[] = {&ns};

extern "C" __global__ void k_together(unsigned long long duration_ns)
{
	spin(duration_ns);
}

extern "C" __global__ void k_cluster(unsigned long long duration_ns)
{
	spin(duration_ns);
}

static cudaLaunchConfig_t config_of(unsigned blocks)
{
	cudaLaunchConfig_t config = {};

	config.gridDim = dim3(blocks);
	config.blockDim = dim3(32);
	return config;
}

CALLPATH void by_exc(void)
{
	const cudaLaunchConfig_t config = config_of(1);

	for (int i = 0; i < LAUNCHES; i++)
		CHECK(cudaLaunchKernelExC(&config, (const void *)k1, arguments));
}

CALLPATH void by_cooperative(void)
{
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(cudaLaunchCooperativeKernel((const void *)k_together, dim3(4), dim3(32),
		                                  arguments, 0, 0));
}

CALLPATH void by_cluster(void)
{
	cudaLaunchConfig_t config = config_of(4);
	cudaLaunchAttribute attribute = {};

	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = 2;
	attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
	config.attrs = &attribute;
	config.numAttrs = 1;
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(cudaLaunchKernelExC(&config, (const void *)k_cluster, arguments));
}

int main(void)
{
	int major;

	CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
	by_exc();
	by_cooperative();
	launched("by_exc", "k1", LAUNCHES);
	launched("by_cooperative", "k_together", LAUNCHES);
	if (major >= 9) {
		by_cluster();
		launched("by_cluster", "k_cluster", LAUNCHES);
		truth_others["clusters"] = "{\"k_cluster\": [2, 1, 1]}";
	}
	CHECK(cudaDeviceSynchronize());
	truth_print();
	return 0;
}
