/* Memory of Kokkos: deep copies as ranges, allocations as marks, with spaces and bytes. */
#include <stdio.h>

#include "inject/kokkos/kokkos.h"
#include "inject/nvtx/ranges.h"

/* Deep copies have no number, and do not nest. */
#define COPY UINT64_MAX

static const char *name_of(const char *name)
{
	return name ? name : "";
}

static void memory_mark(const char *what, const struct kokkos_space *space, const char *label,
                        uint64_t bytes)
{
	char text[AF_RANGE_NAME];

	snprintf(text, sizeof text, "%s %s (%.64s), bytes = %llu", what, name_of(label),
	         space->name, (unsigned long long)bytes);
	af_kokkos_put(AF_RANGE_MARK, AF_KOKKOS_MEMORY, text, 0, 1);
}

void kokkosp_allocate_data(struct kokkos_space space, const char *label, const void *at,
                           uint64_t bytes)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	if (n->allocate_data)
		n->allocate_data(space, label, at, bytes);
	memory_mark("allocate", &space, label, bytes);
}

void kokkosp_deallocate_data(struct kokkos_space space, const char *label, const void *at,
                             uint64_t bytes)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	memory_mark("free", &space, label, bytes);
	if (n->deallocate_data)
		n->deallocate_data(space, label, at, bytes);
}

void kokkosp_begin_deep_copy(struct kokkos_space to, const char *to_name, const void *to_at,
                             struct kokkos_space from, const char *from_name, const void *from_at,
                             uint64_t bytes)
{
	const struct af_kokkos_next *n = af_kokkos_next();
	char text[AF_RANGE_NAME];

	if (n->begin_deep_copy)
		n->begin_deep_copy(to, to_name, to_at, from, from_name, from_at, bytes);
	snprintf(text, sizeof text, "deep_copy %.400s (%.64s) = %.400s (%.64s), bytes = %llu",
	         name_of(to_name), to.name, name_of(from_name), from.name,
	         (unsigned long long)bytes);
	af_kokkos_begin(text, COPY);
}

void kokkosp_end_deep_copy(void)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	af_kokkos_end(COPY);
	if (n->end_deep_copy)
		n->end_deep_copy();
}

void kokkosp_dual_view_sync(const char *label, const void *at, bool is_device)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	if (n->dual_view_sync)
		n->dual_view_sync(label, at, is_device);
}

void kokkosp_dual_view_modify(const char *label, const void *at, bool is_device)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	if (n->dual_view_modify)
		n->dual_view_modify(label, at, is_device);
}
