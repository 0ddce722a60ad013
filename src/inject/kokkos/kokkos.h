/*
 * A Kokkos tool inside of libaflame.so. The functions kokkosp_… are exported; their prototypes are
 * those of Kokkos_Profiling_C_Interface.h (kokkos, versions 3.0 to 4.7).
 *
 *	const struct af_kokkos_next *next = af_kokkos_next();
 *	if (next->push_profile_region)
 *		next->push_profile_region(name);
 *	af_kokkos_put(AF_RANGE_PUSH, AF_KOKKOS_REGIONS, name, 0, depth);
 */
#ifndef AF_INJECT_KOKKOS_KOKKOS_H
#define AF_INJECT_KOKKOS_KOKKOS_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/core/inject.h"

/* Domains of the ranges. */
#define AF_KOKKOS_REGIONS "Kokkos"
#define AF_KOKKOS_KERNELS "Kokkos kernels"
#define AF_KOKKOS_MEMORY "Kokkos memory"

#define KOKKOSP __attribute__((visibility("default")))

/* SpaceHandle: by value, as Kokkos passes it. */
struct kokkos_space {
	char name[64];
};

/* ToolProgrammingInterface: by value. */
struct kokkos_programming {
	void (*functions[32])(void);
};

#define AF_KOKKOS_FUNCTIONS(F)                                                                     \
	F(init_library, (int, uint64_t, uint32_t, void *))                                         \
	F(finalize_library, (void))                                                                \
	F(parse_args, (int, char **))                                                              \
	F(print_help, (char *))                                                                    \
	F(request_tool_settings, (uint32_t, void *))                                               \
	F(provide_tool_programming_interface, (uint32_t, struct kokkos_programming))               \
	F(begin_parallel_for, (const char *, uint32_t, uint64_t *))                                \
	F(end_parallel_for, (uint64_t))                                                            \
	F(begin_parallel_reduce, (const char *, uint32_t, uint64_t *))                             \
	F(end_parallel_reduce, (uint64_t))                                                         \
	F(begin_parallel_scan, (const char *, uint32_t, uint64_t *))                               \
	F(end_parallel_scan, (uint64_t))                                                           \
	F(begin_fence, (const char *, uint32_t, uint64_t *))                                       \
	F(end_fence, (uint64_t))                                                                   \
	F(push_profile_region, (const char *))                                                     \
	F(pop_profile_region, (void))                                                              \
	F(create_profile_section, (const char *, uint32_t *))                                      \
	F(start_profile_section, (uint32_t))                                                       \
	F(stop_profile_section, (uint32_t))                                                        \
	F(destroy_profile_section, (uint32_t))                                                     \
	F(profile_event, (const char *))                                                           \
	F(allocate_data, (struct kokkos_space, const char *, const void *, uint64_t))              \
	F(deallocate_data, (struct kokkos_space, const char *, const void *, uint64_t))            \
	F(begin_deep_copy, (struct kokkos_space, const char *, const void *, struct kokkos_space,  \
	                    const char *, const void *, uint64_t))                                 \
	F(end_deep_copy, (void))                                                                   \
	F(dual_view_sync, (const char *, const void *, bool))                                      \
	F(dual_view_modify, (const char *, const void *, bool))                                    \
	F(declare_metadata, (const char *, const char *))

/* The exported functions. Any thread; @name and the like may be NULL. */
#define AF_KOKKOS_DECLARE(name, parameters) KOKKOSP void kokkosp_##name parameters;
AF_KOKKOS_FUNCTIONS(AF_KOKKOS_DECLARE)
#undef AF_KOKKOS_DECLARE

/* Functions of the tool behind ours; NULL where it has none. */
struct af_kokkos_next {
#define AF_KOKKOS_MEMBER(name, parameters) void(*name) parameters;
	AF_KOKKOS_FUNCTIONS(AF_KOKKOS_MEMBER)
#undef AF_KOKKOS_MEMBER
};

/* The tool behind ours: loaded by the first call. Any thread, without a lock of ours. */
const struct af_kokkos_next *af_kokkos_next(void);

/*
 * Write an edge of a range or a mark, when the session records Kokkos. @depth: ranges of the domain
 * around it; @name NULL at an end. False: not written.
 */
bool af_kokkos_put(enum af_range_edge edge, const char *domain, const char *name, uint64_t range,
                   int32_t depth);

/* The calling thread begins a copy or another range that has no number of its own, or ends it. */
void af_kokkos_begin(const char *name, uint64_t id);
void af_kokkos_end(uint64_t id);

#endif
