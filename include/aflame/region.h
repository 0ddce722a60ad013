/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions and marks: a program says what it is doing, and aflame shows its time by that.
 *
 *	aflame_region_begin("step");
 *	…
 *	aflame_mark("loss is not a number");
 *	…
 *	aflame_region_end();
 *
 * A program that includes this header needs no library, neither to be linked nor to run: the first
 * call in each source file searches the process for a recorder (`aflame record`, `run` and `prof`
 * load one; libaflame-prof is one), and without one a call costs a load and a branch. A recorder
 * that is loaded later is not seen by that file any more. docs/regions.md
 *
 * All functions may be called by any thread, in C and C++ (aflame/region.hpp has a class), before
 * main() and after it, and by signal handlers. They change neither errno nor any state of the
 * program. Names are UTF-8; NULL is an empty one. A name of more than AFLAME_REGION_NAME bytes is
 * cut to that many, and ends in an ellipsis then. With AFLAME_NO_REGIONS defined the functions are
 * empty.
 *
 * Compilers other than gcc's kin, systems other than Linux, and static programs have no recorder.
 * Where dlsym() is in libdl still (glibc before 2.34), a program that is linked with -no-pie needs
 * -ldl for its regions to be recorded.
 */
#ifndef AFLAME_REGION_H
#define AFLAME_REGION_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a name that are kept. */
#define AFLAME_REGION_NAME 1024

#ifdef __cplusplus
extern "C" {
#endif

/* The recorder's functions. Later versions add members at the end, and keep these. */
struct aflame_regions {
	size_t size; /* of this struct, as the recorder has it */
	void (*begin)(const char *name);
	void (*end)(void);
	void (*mark)(const char *name);
	uint64_t (*start)(const char *name);
	void (*stop)(uint64_t id);
};

/* The recorder's entry point: its functions, which stay. */
typedef const struct aflame_regions *aflame_recorder_regions_function(void);

#if defined(__linux__) && defined(__GNUC__) && !defined(AFLAME_NO_REGIONS)

/* As above, and of libc; 0 where there is none. Other references to them stay as they are. */
static aflame_recorder_regions_function aflame_recorder_regions_weak
    __attribute__((weakref("aflame_recorder_regions"), unused));

/* A position-dependent program's weak symbols may be 0 for ever; then libc is queried. */
#if !defined(AFLAME_REGION_NO_DLSYM) && (!defined(__PIC__) || defined(__PIE__))
static void *aflame_region_dlsym(void *, const char *) __attribute__((weakref("dlsym"), unused));
#define AFLAME_REGION_DLSYM aflame_region_dlsym
#else
#define AFLAME_REGION_DLSYM ((void *(*)(void *, const char *))0)
#endif

/* Stands for a recorder that was not searched for yet. */
static const struct aflame_regions aflame_regions_unknown
    __attribute__((unused)) = {0, 0, 0, 0, 0, 0};
static const struct aflame_regions *aflame_regions_found __attribute__((unused)) =
    &aflame_regions_unknown;

__attribute__((cold, noinline, unused)) static const struct aflame_regions *
aflame_regions_find(void)
{
	aflame_recorder_regions_function *entry = aflame_recorder_regions_weak;
	const struct aflame_regions *r = 0;
	void *(*find)(void *, const char *) = AFLAME_REGION_DLSYM;

	if (!entry && find) {
		void *found = find(0, "aflame_recorder_regions");
		__builtin_memcpy(&entry, &found, sizeof entry);
	}
	if (entry)
		r = entry();
	__atomic_store_n(&aflame_regions_found, r, __ATOMIC_RELAXED);
	return r;
}

/* The recorder's functions, or NULL. */
__attribute__((always_inline)) static __inline__ const struct aflame_regions *
aflame_regions_here(void)
{
	const struct aflame_regions *r = __atomic_load_n(&aflame_regions_found, __ATOMIC_RELAXED);

	return __builtin_expect(r == &aflame_regions_unknown, 0) ? aflame_regions_find() : r;
}

#else

static __inline__ const struct aflame_regions *aflame_regions_here(void)
{
	return NULL;
}

#endif

/*
 * Begin a region on the calling thread, in those that are open there. It ends with the next
 * aflame_region_end() of the thread, or with the thread. A forked child begins without any.
 */
static __inline__ void aflame_region_begin(const char *name)
{
	const struct aflame_regions *r = aflame_regions_here();

	if (r)
		r->begin(name);
}

/* End the region that the calling thread began last; without one nothing happens. */
static __inline__ void aflame_region_end(void)
{
	const struct aflame_regions *r = aflame_regions_here();

	if (r)
		r->end();
}

/* Mark this moment on the calling thread. */
static __inline__ void aflame_mark(const char *name)
{
	const struct aflame_regions *r = aflame_regions_here();

	if (r)
		r->mark(name);
}

/*
 * Start a region that belongs to no thread: any thread stops it, and such regions may overlap. They
 * are on the timeline; samples do not have them. Returns its id, 0 without a recorder.
 */
static __inline__ uint64_t aflame_region_start(const char *name)
{
	const struct aflame_regions *r = aflame_regions_here();

	return r ? r->start(name) : 0;
}

/* Stop the region that aflame_region_start() gave this id; 0 and ids of others do nothing. */
static __inline__ void aflame_region_stop(uint64_t id)
{
	const struct aflame_regions *r = aflame_regions_here();

	if (r && id)
		r->stop(id);
}

#ifdef __cplusplus
}
#endif

#endif
