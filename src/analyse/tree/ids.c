#include "analyse/tree/ids.h"

#include <string.h>

#include "base/buf.h"
#include "base/sha256.h"

enum { ID_DIGITS = 32 };

static void id_make(char id[AF_ID_SIZE], char what, const char *head, const char *text, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t digest[AF_SHA256_BYTES];
	struct af_sha256 s;

	af_sha256_init(&s);
	af_sha256_add(&s, head, strlen(head) + 1);
	af_sha256_add(&s, text, len);
	af_sha256_end(&s, digest);
	id[0] = what;
	id[1] = '-';
	for (unsigned i = 0; i < ID_DIGITS; i++)
		id[2 + i] = digits[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
	id[2 + ID_DIGITS] = 0;
}

void af_function_id(char id[AF_ID_SIZE], enum af_frame frame, const char *text, size_t len,
                    const char *module)
{
	struct af_buf head = {0};

	af_buf_fmt(&head, "%s%s%s", af_frame_name(frame), *module ? "!" : "", module);
	id_make(id, 'f', head.data, text, len);
	af_buf_free(&head);
}

void af_name_id(char id[AF_ID_SIZE], const struct af_tree *t, uint32_t name)
{
	size_t len;
	const char *text = af_tree_text(t, name, &len);

	af_function_id(id, af_tree_frame(t, name), text, len, af_tree_key(t, name));
}

void af_place_id(char id[AF_ID_SIZE], const char *above, const char *function)
{
	id_make(id, 'n', above, function, strlen(function));
}

const char *af_frame_side(enum af_frame frame)
{
	return frame == AF_FRAME_NATIVE || frame == AF_FRAME_INLINED || frame == AF_FRAME_JIT ||
	               frame == AF_FRAME_MPI
	           ? "host"
	           : af_frame_name(frame);
}

bool af_is_function_id(const char *text)
{
	return strlen(text) == AF_ID_SIZE - 1 && !strncmp(text, "f-", 2) &&
	       strspn(text + 2, "0123456789abcdef") == ID_DIGITS;
}

enum af_frame af_kind_of(const char *word, enum af_frame otherwise)
{
	for (int i = 0; word && i < AF_FRAME_END; i++)
		if (!strcmp(word, af_frame_name((enum af_frame)i)))
			return (enum af_frame)i;
	return otherwise;
}

void af_ids_add(struct af_tables *f, struct af_table *t, const struct af_tree *tree)
{
	uint32_t nr = t->nr_columns;

	if (nr == AF_TABLE_COLUMNS)
		return;
	struct af_cell *cells =
	    af_arena_alloc(&f->arena, (size_t)(t->nr_rows + 1) * (nr + 1) * sizeof *cells);
	for (uint32_t r = 0; r < t->nr_rows; r++) {
		const struct af_cell *from = t->cells + (size_t)r * nr;
		struct af_cell *to = cells + (size_t)r * (nr + 1);
		const char *name = from->text ? from->text : "";
		char *id = af_arena_alloc(&f->arena, AF_ID_SIZE);
		memcpy(to, from, nr * sizeof *to);
		if (tree)
			af_name_id(id, tree, (uint32_t)from->value);
		else
			af_function_id(id, AF_FRAME_GPU, name, strlen(name), "");
		to[nr].text = id;
	}
	t->columns[nr] = (struct af_column){"Id", AF_CELL_TEXT, AF_SHOW_NEVER, .key = "id"};
	t->nr_columns = nr + 1;
	t->cells = cells;
	t->cap_rows = t->nr_rows;
}
