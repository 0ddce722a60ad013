/* Regions of Kokkos, which nest in a thread, sections, which overlap as they like, and events. */
#include <stdio.h>
#include <string.h>

#include "inject/core/lock.h"
#include "inject/kokkos/kokkos.h"
#include "inject/nvtx/nesting.h"
#include "inject/nvtx/ranges.h"

enum { SECTIONS = 256, SECTION_NAME = 128 };

static __thread struct af_nesting regions;

static struct af_fork_lock lock = AF_FORK_LOCK;
static struct section {
	bool used;
	uint32_t id;    /* of the tool behind ours where there is one */
	uint64_t range; /* while it is open, else 0 */
	char name[SECTION_NAME];
} sections[SECTIONS];
static uint32_t nr_ids;

static struct section *section_of(uint32_t id)
{
	for (uint32_t i = 0; i < SECTIONS; i++)
		if (sections[i].used && sections[i].id == id)
			return &sections[i];
	return NULL;
}

void kokkosp_push_profile_region(const char *name)
{
	const struct af_kokkos_next *n = af_kokkos_next();
	int32_t depth = (int32_t)(regions.nr + regions.beyond);

	if (n->push_profile_region)
		n->push_profile_region(name);
	bool written = regions.nr < AF_NESTING_DEEP &&
	               af_kokkos_put(AF_RANGE_PUSH, AF_KOKKOS_REGIONS, name ? name : "", 0, depth);
	af_nesting_push(&regions, 0, written);
}

/* One that ends no region is an error of the program that does no harm. */
void kokkosp_pop_profile_region(void)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	if (regions.beyond)
		regions.beyond--;
	else if (regions.nr && af_nesting_remove(&regions, regions.nr - 1))
		af_kokkos_put(AF_RANGE_POP, AF_KOKKOS_REGIONS, NULL, 0, (int32_t)regions.nr);
	if (n->pop_profile_region)
		n->pop_profile_region();
}

void kokkosp_create_profile_section(const char *name, uint32_t *id)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	if (!id)
		return;
	*id = __atomic_add_fetch(&nr_ids, 1, __ATOMIC_RELAXED);
	if (n->create_profile_section)
		n->create_profile_section(name, id);
	af_fork_lock(&lock);
	struct section *s = section_of(*id);
	for (uint32_t i = 0; !s && i < SECTIONS; i++)
		if (!sections[i].used)
			s = &sections[i];
	if (s) {
		*s = (struct section){.used = true, .id = *id};
		memcpy(s->name, name ? name : "", name ? strnlen(name, SECTION_NAME - 1) : 0);
	}
	af_fork_unlock(&lock);
}

void kokkosp_start_profile_section(uint32_t id)
{
	const struct af_kokkos_next *n = af_kokkos_next();
	uint64_t range = af_range_new(), was = 0;
	char name[SECTION_NAME];

	if (n->start_profile_section)
		n->start_profile_section(id);
	af_fork_lock(&lock);
	struct section *s = section_of(id);
	if (s) {
		was = s->range;
		s->range = range;
		memcpy(name, s->name, sizeof name);
	}
	af_fork_unlock(&lock);
	if (was)
		af_kokkos_put(AF_RANGE_END, AF_KOKKOS_REGIONS, NULL, was, 0);
	if (s)
		af_kokkos_put(AF_RANGE_START, AF_KOKKOS_REGIONS, name, range, 1);
}

/* The end of the section @id, if it is open; with @forget there is no such section any more. */
static void section_end(uint32_t id, bool forget)
{
	uint64_t range = 0;

	af_fork_lock(&lock);
	struct section *s = section_of(id);
	if (s) {
		range = s->range;
		s->range = 0;
		s->used = !forget;
	}
	af_fork_unlock(&lock);
	if (range)
		af_kokkos_put(AF_RANGE_END, AF_KOKKOS_REGIONS, NULL, range, 0);
}

void kokkosp_stop_profile_section(uint32_t id)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	section_end(id, false);
	if (n->stop_profile_section)
		n->stop_profile_section(id);
}

void kokkosp_destroy_profile_section(uint32_t id)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	section_end(id, true);
	if (n->destroy_profile_section)
		n->destroy_profile_section(id);
}

void kokkosp_profile_event(const char *name)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	if (n->profile_event)
		n->profile_event(name);
	af_kokkos_put(AF_RANGE_MARK, AF_KOKKOS_REGIONS, name ? name : "", 0,
	              (int32_t)(regions.nr + regions.beyond));
}

void kokkosp_declare_metadata(const char *key, const char *value)
{
	const struct af_kokkos_next *n = af_kokkos_next();
	char words[AF_RANGE_NAME];

	if (n->declare_metadata)
		n->declare_metadata(key, value);
	snprintf(words, sizeof words, "%s = %s", key ? key : "", value ? value : "");
	af_inject_note("kokkos.metadata", words);
}
