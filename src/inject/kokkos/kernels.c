/* Kernels and fences: what begins and ends in one thread, by a number that Kokkos keeps for us. */
#include <stdatomic.h>

#include "inject/kokkos/kokkos.h"
#include "inject/nvtx/nesting.h"

static _Atomic uint64_t nr_kernels;
static __thread struct af_nesting kernels;

void af_kokkos_begin(const char *name, uint64_t id)
{
	/* Depth 1 at least: kernels are no steps, unless --steps names them. */
	if (kernels.nr < AF_NESTING_DEEP &&
	    af_kokkos_put(AF_RANGE_PUSH, AF_KOKKOS_KERNELS, name, 0, (int32_t)kernels.nr + 1))
		af_nesting_push(&kernels, id, true);
}

/* An end whose beginning was in another thread, or is not in the trace, ends nothing. */
void af_kokkos_end(uint64_t id)
{
	int32_t at = af_nesting_find(&kernels, id);

	while (at >= 0 && kernels.nr > (uint32_t)at) {
		af_nesting_remove(&kernels, kernels.nr - 1);
		af_kokkos_put(AF_RANGE_POP, AF_KOKKOS_KERNELS, NULL, 0, (int32_t)kernels.nr + 1);
	}
}

/* The tool behind ours may give a number of its own, which it must have back. */
#define KERNEL(kind)                                                                               \
	void kokkosp_begin_##kind(const char *name, uint32_t device, uint64_t *id)                 \
	{                                                                                          \
		const struct af_kokkos_next *n = af_kokkos_next();                                 \
		uint64_t ours = atomic_fetch_add(&nr_kernels, 1) + 1, *to = id ? id : &ours;       \
                                                                                                   \
		*to = ours;                                                                        \
		if (n->begin_##kind)                                                               \
			n->begin_##kind(name, device, to);                                         \
		af_kokkos_begin(name ? name : #kind, *to);                                         \
	}                                                                                          \
                                                                                                   \
	void kokkosp_end_##kind(uint64_t id)                                                       \
	{                                                                                          \
		const struct af_kokkos_next *n = af_kokkos_next();                                 \
                                                                                                   \
		af_kokkos_end(id);                                                                 \
		if (n->end_##kind)                                                                 \
			n->end_##kind(id);                                                         \
	}

KERNEL(parallel_for)
KERNEL(parallel_reduce)
KERNEL(parallel_scan)
KERNEL(fence)
