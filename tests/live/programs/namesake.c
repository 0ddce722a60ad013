/*
 * libnamesake_a.so and libnamesake_b.so of namesakes: each has a helper of its own. NAMESAKE_RUN
 * and NAMESAKE_FACTOR come from the build.
 */
#include "burn.h"

__attribute__((visibility("default"))) void NAMESAKE_RUN(unsigned long us);

BURN_SINK;
BURN_FUNCTION(helper, NAMESAKE_FACTOR)

void NAMESAKE_RUN(unsigned long us)
{
	helper(us);
	burn_sink++; /* not a tail call */
}
