/* The names of a tree by whose functions they are: text, side and the key of the module. */
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/ids.h"
#include "analyse/tree/module_key.h"
#include "analyse/tree/private.h"
#include "base/map.h"

uint32_t tree_key_number(struct af_tree *t, enum af_frame frame, const struct af_location *location)
{
	if (!location || !(location->module || location->file) || !af_frame_has_module(frame))
		return 0;
	const char *file = location->module ? NULL : location->file;
	uint64_t at = (uintptr_t)(file ? file : location->module);
	struct tree_key *last =
	    &t->private_->keys_last[at * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (KEYS_LAST - 1)];
	bool kernel = frame == AF_FRAME_KERNEL;

	if (last->module == location->module && last->file == file && last->kernel == kernel)
		return last->key;
	struct af_buf b = {0};
	af_module_key(&b, frame, location->module, file);
	*last =
	    (struct tree_key){location->module, file,
	                      b.len ? af_strtab_id(&t->private_->keys, b.data, b.len) : 0, kernel};
	af_buf_free(&b);
	return last->key;
}

const char *af_tree_key(const struct af_tree *t, uint32_t name)
{
	return af_strtab_get(&t->private_->keys, t->private_->names[name].key);
}

const char *af_tree_label(const struct af_tree *t, uint32_t name, size_t *len)
{
	const struct af_tree_private *p = t->private_;

	if (name >= p->nr_labels || !p->labels[name].text)
		return af_tree_text(t, name, len);
	*len = p->labels[name].len;
	return p->labels[name].text;
}

bool af_tree_is_qualified(const struct af_tree *t, uint32_t name)
{
	return name < t->private_->nr_labels && t->private_->labels[name].text;
}

/* "libx.so!helper" from now on. */
static void label_add(struct af_tree *t, uint32_t name)
{
	struct af_tree_private *p = t->private_;
	const struct tree_name *n = &p->names[name];
	const char *key = af_tree_key(t, name);
	size_t head = strlen(key);

	AF_REACH(p->labels, name, p->nr_labels);
	if (p->labels[name].text)
		return;
	char *text = af_arena_alloc(&p->texts, head + 1 + n->len + 1);
	memcpy(text, key, head);
	text[head] = '!';
	memcpy(text + head + 1, n->text, n->len);
	text[head + 1 + n->len] = 0;
	p->labels[name] = (struct tree_label){text, head + 1 + n->len};
}

uint32_t af_tree_name_of(struct af_tree *t, const char *text, size_t len, enum af_frame frame,
                         const char *key)
{
	return tree_name_of(t, text, len, frame, 0, af_strtab_id_z(&t->private_->keys, key), 0);
}

uint32_t af_tree_name_like(struct af_tree *t, const struct af_tree *src, uint32_t name,
                           int borrowed)
{
	const struct tree_name *n = &src->private_->names[name];
	uint32_t key = n->key ? af_strtab_id_z(&t->private_->keys, af_tree_key(src, name)) : 0;
	uint32_t location = n->location ? tree_location_number(t, af_tree_location(src, name)) : 0;
	uint32_t id = tree_name_of(t, n->text, n->len, n->frame, location, key, borrowed);
	struct tree_name *to = &t->private_->names[id];
	uint32_t module = n->module;

	if (module && module != MODULES)
		module = af_strtab_id_z(&t->private_->modules,
		                        af_strtab_get(&src->private_->modules, module));
	to->module = !module || to->module == module ? to->module : to->module ? MODULES : module;
	if (n->source)
		tree_source_add(t, id, af_strtab_get(&src->private_->modules, n->source),
		                n->source_line, n->source_several);
	if (af_tree_is_qualified(src, name))
		label_add(t, id);
	return id;
}

/* Each text of a side as one name of @all; by these, the key that was met first. */
struct namesakes {
	struct af_tree all;
	const char **first;
	bool *several;
	uint32_t cap;
};

static uint32_t namesake_of(struct namesakes *s, const struct af_tree *t, uint32_t name)
{
	const struct tree_name *n = &t->private_->names[name];
	enum af_frame frame = n->frame;

	if (frame == AF_FRAME_INLINED || frame == AF_FRAME_JIT || frame == AF_FRAME_MPI)
		frame = AF_FRAME_NATIVE; /* one side: ids.h */
	return af_tree_name(&s->all, n->text, n->len, frame, 1);
}

static void namesakes_take(struct namesakes *s, const struct af_tree *t)
{
	for (uint32_t i = 1; i < t->nr_names; i++) {
		const char *key = af_tree_key(t, i);
		uint32_t as = namesake_of(s, t, i), cap = s->cap;
		AF_REACH(s->first, as, cap);
		AF_REACH(s->several, as, s->cap);
		s->several[as] |= s->first[as] && strcmp(s->first[as], key) != 0;
		s->first[as] = key;
	}
}

void af_trees_tell_apart(struct af_tree *trees, uint32_t nr)
{
	static const struct af_tree_weight none = {"none", "", 0};
	struct namesakes s = {0};
	bool any = false;

	for (uint32_t v = 0; v < nr; v++)
		any |= trees[v].nr && trees[v].private_->keys.nr > 1;
	if (!any)
		return;
	af_tree_open(&s.all, &none, 1);
	for (uint32_t v = 0; v < nr; v++)
		if (trees[v].nr)
			namesakes_take(&s, &trees[v]);
	for (uint32_t v = 0; v < nr; v++)
		for (uint32_t i = 1; trees[v].nr && i < trees[v].nr_names; i++)
			if (trees[v].private_->names[i].key &&
			    s.several[namesake_of(&s, &trees[v], i)])
				label_add(&trees[v], i);
	af_tree_close(&s.all);
	free(s.first);
	free(s.several);
}

bool af_tree_plain(struct af_tree *dst, const struct af_tree *src)
{
	if (!src->private_->nr_labels)
		return false;
	uint32_t *names = af_xcalloc(src->nr_names, sizeof *names);
	uint32_t *nodes = af_xcalloc(src->nr, sizeof *nodes);

	af_tree_open(dst, src->weights, src->nr_weights);
	dst->ordered = src->ordered;
	dst->saturated = src->saturated;
	for (uint32_t i = 0; i < src->nr_names; i++) {
		const struct tree_name *n = &src->private_->names[i];
		names[i] = af_tree_name(dst, n->text, n->len, n->frame, 1);
	}
	for (uint32_t i = 0; i < src->nr; i++) {
		if (i)
			nodes[i] = af_tree_child(dst, nodes[src->nodes[i].parent],
			                         names[src->nodes[i].name]);
		for (uint32_t w = 0; w < src->nr_weights; w++)
			af_tree_add(dst, nodes[i], w, src->self[w][i]);
	}
	free(names);
	free(nodes);
	if (src->private_->finished)
		af_tree_finish(dst);
	return true;
}
