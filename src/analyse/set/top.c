/* The merged table of functions, with the names and the sources of the merged tree. */
#include <string.h>

#include "analyse/functions/top.h"
#include "analyse/set/private.h"
#include "base/buf.h"

/* The names of @t by label and kind. */
static void names_index(struct af_keys *names, const struct af_tree *t)
{
	struct af_buf key = {0};

	for (uint32_t i = 1; i < t->nr_names; i++) {
		size_t len;
		const char *label = af_tree_label(t, i, &len);
		const char *kind = af_frame_name(af_tree_frame(t, i));
		key.len = 0;
		af_buf_add(&key, kind, strlen(kind) + 1);
		af_buf_add(&key, label, len);
		*af_keys_at(names, key.data, key.len, NULL) = i;
	}
	af_buf_free(&key);
}

static uint32_t name_of(const struct af_keys *names, const struct af_top_row *row)
{
	struct af_buf key = {0};

	af_buf_add(&key, row->kind.text, strlen(row->kind.text) + 1);
	af_buf_add(&key, row->function.text, strlen(row->function.text));
	const uint64_t *name = af_keys_get(names, key.data, key.len);
	af_buf_free(&key);
	return name ? (uint32_t)*name : 0;
}

void set_top_names(struct af_tables *f, struct af_table *top, const struct af_tree *t)
{
	struct af_keys names = {0};

	names_index(&names, t);
	for (uint32_t r = 0; r < top->nr_rows; r++) {
		struct af_top_row *row = (void *)(top->cells + (size_t)r * top->nr_columns);
		row->function.value = name_of(&names, row);
		/* Some members may have been recorded without lines. */
		if (row->function.value && !*row->location.text)
			af_top_source(f, row, t);
	}
	af_keys_free(&names);
}
