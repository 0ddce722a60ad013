/*
 * alpha.so and beta.so of dlopen_storm: the same code under two names, so that the two libraries
 * are alike in size and layout. PLUGIN_WORK and PLUGIN_FACTOR come from the build.
 */
#include "burn.h"

__attribute__((visibility("default"))) uint64_t PLUGIN_WORK(unsigned long iterations, uint64_t x);

uint64_t PLUGIN_WORK(unsigned long iterations, uint64_t x)
{
	BURN(x, PLUGIN_FACTOR, iterations);
	return x;
}
