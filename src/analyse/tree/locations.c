/* Where the frames of a tree are: each location once, its texts interned. */
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/private.h"
#include "base/map.h"
#include "base/strtab.h"

enum { LOCATIONS_MOST = (1 << 24) - 1 }; /* what a name has bits for: of more, nothing is known */

struct tree_locations {
	struct af_strtab texts;
	struct af_location
	    *all; /* from 1 on; texts are those of the table, so equal ones are one */
	uint32_t nr, cap;
	struct af_map by_location; /* hash → the latest of it */
	uint32_t *before;          /* with the same hash, 0: none */
	uint32_t cap_before;
};

void af_tree_keep_locations(struct af_tree *t)
{
	struct tree_locations *s = af_xcalloc(1, sizeof *s);

	AF_GROW(s->all, s->nr, s->cap);
	s->all[s->nr++] = (struct af_location){0};
	t->private_->locations = s;
}

bool af_tree_has_locations(const struct af_tree *t)
{
	return t->private_->locations;
}

static const char *location_text(struct tree_locations *s, const char *text)
{
	return text ? af_strtab_get(&s->texts, af_strtab_id_z(&s->texts, text)) : NULL;
}

/* Texts are interned, so pointers say whether they are the same. */
static bool location_equal(const struct af_location *a, const struct af_location *b)
{
	return a->function == b->function && a->file == b->file && a->module == b->module &&
	       a->build_id == b->build_id && a->address == b->address && a->line == b->line &&
	       a->first_line == b->first_line && a->what == b->what && a->inlined == b->inlined &&
	       a->unnamed == b->unnamed;
}

static uint64_t location_hash(const struct af_location *s)
{
	const uint64_t key[] = {(uintptr_t)s->function,
	                        (uintptr_t)s->file,
	                        (uintptr_t)s->module,
	                        s->address,
	                        s->unnamed,
	                        (uint64_t)s->line << 32 | s->what << 1 | s->inlined};

	return af_scatter_bytes(key, sizeof key);
}

uint32_t tree_location_number(struct af_tree *t, const struct af_location *location)
{
	struct tree_locations *s = t->private_->locations;

	if (!s || !location)
		return 0;
	struct af_location kept = *location;
	kept.function = location_text(s, location->function);
	kept.file = location_text(s, location->file);
	kept.module = location_text(s, location->module);
	kept.build_id = location_text(s, location->build_id);
	kept.source = location_text(s, location->source);
	uint64_t *slot = af_map_at(&s->by_location, location_hash(&kept), NULL);
	for (uint32_t i = (uint32_t)*slot; i; i = s->before[i])
		if (location_equal(&s->all[i], &kept))
			return i;
	if (s->nr > LOCATIONS_MOST)
		return 0;
	AF_GROW(s->all, s->nr, s->cap);
	AF_GROW(s->before, s->nr, s->cap_before);
	s->all[s->nr] = kept;
	s->before[s->nr] = (uint32_t)*slot;
	*slot = s->nr;
	return s->nr++;
}

const struct af_location *af_tree_location(const struct af_tree *t, uint32_t name)
{
	static const struct af_location nowhere;
	const struct tree_locations *s = t->private_->locations;

	return s ? &s->all[t->private_->names[name].location] : &nowhere;
}

void tree_locations_close(struct af_tree *t)
{
	struct tree_locations *s = t->private_->locations;

	if (!s)
		return;
	af_strtab_free(&s->texts);
	af_map_free(&s->by_location);
	free(s->all);
	free(s->before);
	free(s);
	t->private_->locations = NULL;
}
