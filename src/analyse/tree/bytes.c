/* Trees as bytes. Nothing that is read is believed: another process may have sent anything. */
#include "analyse/tree/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/private.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"

enum { NAME_KEY = 1, NAME_MODULE = 2, NAME_MODULES = 4, NAME_LOCATION = 8 };
enum { NAME_SOURCE = 16, NAME_SOURCES = 32 };
enum { LOCATION_FUNCTION = 1, LOCATION_FILE = 2, LOCATION_MODULE = 4, LOCATION_ID = 8 };
enum { LOCATION_INLINED = 16, LOCATION_SOURCE = 32, LOCATION_BEGINS = 64 };

static void write_text(struct af_buf *to, const char *text)
{
	if (text)
		af_buf_add(to, text, strlen(text) + 1);
}

static const char *read_text(struct af_cursor *from, bool is)
{
	return is ? af_cursor_string(from) : NULL;
}

static void write_location(struct af_buf *to, const struct af_location *l)
{
	af_buf_char(to,
	            (char)((l->function ? LOCATION_FUNCTION : 0) | (l->file ? LOCATION_FILE : 0) |
	                   (l->module ? LOCATION_MODULE : 0) | (l->build_id ? LOCATION_ID : 0) |
	                   (l->inlined ? LOCATION_INLINED : 0) | (l->source ? LOCATION_SOURCE : 0) |
	                   (l->begins ? LOCATION_BEGINS : 0)));
	write_text(to, l->function);
	write_text(to, l->file);
	write_text(to, l->module);
	write_text(to, l->build_id);
	af_buf_leb128(to, l->address);
	af_buf_leb128(to, l->line);
	af_buf_leb128(to, l->first_line);
	af_buf_leb128(to, l->what);
	af_buf_leb128(to, l->unnamed);
	write_text(to, l->source);
	af_buf_leb128(to, l->source_line);
	af_buf_leb128(to, l->offset);
}

static void read_location(struct af_cursor *from, struct af_location *l)
{
	unsigned has = (unsigned)af_cursor_uint(from, 1);

	l->function = read_text(from, has & LOCATION_FUNCTION);
	l->file = read_text(from, has & LOCATION_FILE);
	l->module = read_text(from, has & LOCATION_MODULE);
	l->build_id = read_text(from, has & LOCATION_ID);
	l->address = af_cursor_uleb(from);
	l->line = (uint32_t)af_cursor_uleb(from);
	l->first_line = (uint32_t)af_cursor_uleb(from);
	l->what = (uint32_t)af_cursor_uleb(from);
	l->inlined = has & LOCATION_INLINED;
	l->begins = has & LOCATION_BEGINS;
	l->unnamed = af_cursor_uleb(from);
	l->source = read_text(from, has & LOCATION_SOURCE);
	l->source_line = (uint32_t)af_cursor_uleb(from);
	l->offset = af_cursor_uleb(from);
	from->bad |= l->what > AF_LOCATION_STALL;
}

static void write_name(struct af_buf *to, const struct af_tree *t, uint32_t name)
{
	const struct tree_name *n = &t->private_->names[name];
	const bool one = n->module && n->module != MODULES;

	af_buf_leb128(to, n->len);
	af_buf_add(to, n->text, n->len);
	af_buf_char(to, (char)n->frame);
	af_buf_char(to, (char)((n->key ? NAME_KEY : 0) | (one ? NAME_MODULE : 0) |
	                       (n->module == MODULES ? NAME_MODULES : 0) |
	                       (n->location ? NAME_LOCATION : 0) | (n->source ? NAME_SOURCE : 0) |
	                       (n->source_several ? NAME_SOURCES : 0)));
	write_text(to, n->key ? af_tree_key(t, name) : NULL);
	write_text(to, one ? af_tree_module(t, name) : NULL);
	if (n->source) {
		write_text(to, af_tree_source(t, name).file);
		af_buf_leb128(to, n->source_line);
	}
	if (n->location)
		write_location(to, af_tree_location(t, name));
}

/* The name in @t of the next one, 0 when it is damaged. */
static uint32_t read_name(struct af_tree *t, struct af_cursor *from)
{
	uint64_t len = af_cursor_uleb(from);
	const char *text = (const char *)af_cursor_bytes(from, len);
	uint64_t frame = af_cursor_uint(from, 1);
	unsigned has = (unsigned)af_cursor_uint(from, 1);
	const char *key = read_text(from, has & NAME_KEY);
	const char *module = read_text(from, has & NAME_MODULE);
	const char *source = read_text(from, has & NAME_SOURCE);
	uint32_t line = source ? (uint32_t)af_cursor_uleb(from) : 0;
	struct af_location location = {0};

	if (has & NAME_LOCATION)
		read_location(from, &location);
	from->bad |= frame >= AF_FRAME_END || len > UINT32_MAX;
	if (from->bad || !text)
		return 0;
	uint32_t at = has & NAME_LOCATION ? tree_location_number(t, &location) : 0;
	uint32_t id = tree_name_of(t, text, len, (enum af_frame)frame, at,
	                           key ? af_strtab_id_z(&t->private_->keys, key) : 0, 0);
	struct tree_name *n = &t->private_->names[id];
	uint32_t in = has & NAME_MODULES ? MODULES
	              : module           ? af_strtab_id_z(&t->private_->modules, module)
	                                 : 0;
	n->module = !in || n->module == in ? n->module : n->module ? MODULES : in;
	if (source && *source)
		tree_source_add(t, id, source, line, has & NAME_SOURCES);
	return id;
}

void af_tree_write(const struct af_tree *t, struct af_buf *to)
{
	af_buf_leb128(to, t->nr_weights);
	for (uint32_t w = 0; w < t->nr_weights; w++)
		write_text(to, t->weights[w].name);
	af_buf_char(to, (char)t->saturated);
	af_buf_leb128(to, t->nr_names);
	for (uint32_t i = 0; i < t->nr_names; i++)
		write_name(to, t, i);
	af_buf_leb128(to, t->nr);
	for (uint32_t i = 0; i < t->nr; i++) {
		double square = i < t->nr_squares ? t->squares[i] : 0;
		/* A parent is mostly the node before. */
		af_buf_leb128(to, i ? i - t->nodes[i].parent : 0);
		af_buf_leb128(to, t->nodes[i].name);
		for (uint32_t w = 0; w < t->nr_weights; w++)
			af_buf_leb128(to, t->self[w][i]);
		af_buf_char(to, square > 0);
		if (square > 0)
			af_buf_add(to, &square, sizeof square);
	}
}

/* A tree while it is read. */
struct reading {
	struct af_tree *t;
	struct af_cursor *from;
	uint32_t nr_weights;
	int columns[AF_TREE_WEIGHTS]; /* of @t, or -1 */
	uint32_t *names, nr_names, cap_names;
	uint32_t *nodes, nr, cap; /* of @t, by their number in the bytes */
};

static void read_weights(struct reading *r)
{
	uint64_t nr = af_cursor_uleb(r->from);

	r->from->bad |= nr > AF_TREE_WEIGHTS;
	for (uint64_t w = 0; w < nr && !r->from->bad; w++) {
		const char *name = af_cursor_string(r->from);
		r->columns[w] = name ? af_tree_weight(r->t, name) : -1;
		r->nr_weights++;
	}
}

static void read_names(struct reading *r)
{
	uint64_t nr = af_cursor_uleb(r->from);

	for (uint64_t i = 0; i < nr && !r->from->bad; i++) {
		uint32_t name = read_name(r->t, r->from);
		AF_GROW(r->names, r->nr_names, r->cap_names);
		r->names[r->nr_names++] = name;
	}
}

static uint32_t read_place(struct reading *r, uint64_t back, uint64_t name)
{
	if (!r->nr)
		return 0;
	if (!back || back > r->nr || name >= r->nr_names) {
		r->from->bad = true;
		return 0;
	}
	uint32_t parent = r->nodes[r->nr - back];
	/* Where order means nothing, a chart's gap is its parent's own weight. */
	if (r->names[name] == AF_TREE_GAP && !r->t->ordered)
		return parent;
	return af_tree_child(r->t, parent, r->names[name]);
}

static void read_node(struct reading *r)
{
	uint64_t back = af_cursor_uleb(r->from), name = af_cursor_uleb(r->from);
	uint32_t node = read_place(r, back, name);
	double square = 0;

	for (uint32_t w = 0; w < r->nr_weights; w++) {
		uint64_t value = af_cursor_uleb(r->from);
		if (r->columns[w] >= 0 && !r->from->bad)
			af_tree_add(r->t, node, (uint32_t)r->columns[w], value);
	}
	if (af_cursor_uint(r->from, 1)) {
		uint64_t bits = af_cursor_uint(r->from, sizeof square);
		memcpy(&square, &bits, sizeof square);
	}
	if (square > 0 && !r->from->bad)
		af_tree_vary(r->t, node, square);
	AF_GROW(r->nodes, r->nr, r->cap);
	r->nodes[r->nr++] = node;
}

int af_tree_read(struct af_tree *t, struct af_cursor *from, struct af_err *err)
{
	struct reading r = {.t = t, .from = from};

	read_weights(&r);
	t->saturated |= af_cursor_uint(from, 1) != 0;
	read_names(&r);
	uint64_t nr = af_cursor_uleb(from);
	from->bad |= !nr || nr > UINT32_MAX / 2;
	for (uint64_t i = 0; i < nr && !from->bad; i++)
		read_node(&r);
	free(r.names);
	free(r.nodes);
	if (from->bad)
		return af_fail_plain(err, -EBADMSG, "the tree of another process is damaged");
	return 0;
}
