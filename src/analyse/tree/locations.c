/* Where the frames of a tree are: each spot once, its texts interned. */
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/private.h"
#include "base/map.h"
#include "base/strtab.h"

enum { SPOTS_MOST = (1 << 24) - 1 }; /* what a name has bits for: of more, nothing is known */

struct tree_spots {
	struct af_strtab texts;
	struct af_spot *all; /* from 1 on; texts are those of the table, so equal ones are one */
	uint32_t nr, cap;
	struct af_map by_spot; /* hash → the latest of it */
	uint32_t *before;      /* with the same hash, 0: none */
	uint32_t cap_before;
};

void af_tree_keep_spots(struct af_tree *t)
{
	struct tree_spots *s = af_xcalloc(1, sizeof *s);

	AF_GROW(s->all, s->nr, s->cap);
	s->all[s->nr++] = (struct af_spot){0};
	t->private_->spots = s;
}

bool af_tree_has_spots(const struct af_tree *t)
{
	return t->private_->spots;
}

static const char *spot_text(struct tree_spots *s, const char *text)
{
	return text ? af_strtab_get(&s->texts, af_strtab_id_z(&s->texts, text)) : NULL;
}

/* Texts are interned, so pointers say whether they are the same. */
static bool spot_equal(const struct af_spot *a, const struct af_spot *b)
{
	return a->function == b->function && a->file == b->file && a->module == b->module &&
	       a->build_id == b->build_id && a->address == b->address && a->line == b->line &&
	       a->first_line == b->first_line && a->what == b->what && a->inlined == b->inlined;
}

static uint64_t spot_hash(const struct af_spot *s)
{
	const uint64_t key[] = {(uintptr_t)s->function, (uintptr_t)s->file, (uintptr_t)s->module,
	                        s->address, (uint64_t)s->line << 32 | s->what << 1 | s->inlined};

	return af_scatter_bytes(key, sizeof key);
}

uint32_t tree_spot_number(struct af_tree *t, const struct af_spot *spot)
{
	struct tree_spots *s = t->private_->spots;

	if (!s || !spot)
		return 0;
	struct af_spot kept = *spot;
	kept.function = spot_text(s, spot->function);
	kept.file = spot_text(s, spot->file);
	kept.module = spot_text(s, spot->module);
	kept.build_id = spot_text(s, spot->build_id);
	uint64_t *slot = af_map_at(&s->by_spot, spot_hash(&kept), NULL);
	for (uint32_t i = (uint32_t)*slot; i; i = s->before[i])
		if (spot_equal(&s->all[i], &kept))
			return i;
	if (s->nr > SPOTS_MOST)
		return 0;
	AF_GROW(s->all, s->nr, s->cap);
	AF_GROW(s->before, s->nr, s->cap_before);
	s->all[s->nr] = kept;
	s->before[s->nr] = (uint32_t)*slot;
	*slot = s->nr;
	return s->nr++;
}

const struct af_spot *af_tree_spot(const struct af_tree *t, uint32_t name)
{
	static const struct af_spot nowhere;
	const struct tree_spots *s = t->private_->spots;

	return s ? &s->all[t->private_->names[name].spot] : &nowhere;
}

void tree_spots_close(struct af_tree *t)
{
	struct tree_spots *s = t->private_->spots;

	if (!s)
		return;
	af_strtab_free(&s->texts);
	af_map_free(&s->by_spot);
	free(s->all);
	free(s->before);
	free(s);
	t->private_->spots = NULL;
}
