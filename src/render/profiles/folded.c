/*
 * Folded text out: one line a stack with weight of its own, in the order of af_tree_finish (sorted
 * lines, except that a frame's children always stay together). Two columns for a difference.
 *
 * What a line cannot carry is changed so that every reader of folded text reads the same stack:
 *
 *	;                           → :
 *	newline, tab, control bytes → \n, \t, \xNN
 *	a name ending in " 123"     → "_123", or flamegraph.pl takes it for a first column
 *	an empty name               → [unnamed]
 *	a stack beginning with #    → \x23, or it is a comment
 */
#include <errno.h>
#include <stdlib.h>

#include "analyse/tree/tree.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "render/render.h"
#include "render/text/label.h"

enum { FOLDED_FLUSH = 1 << 18 };

/* Where a trailing " 123" or " 1.5" begins in @b, or SIZE_MAX. */
static size_t folded_number_tail(const struct af_buf *b, size_t start)
{
	size_t i = b->len;

	while (i > start &&
	       ((b->data[i - 1] >= '0' && b->data[i - 1] <= '9') || b->data[i - 1] == '.'))
		i--;
	bool number = i < b->len && b->data[i] != '.';
	return number && i > start && b->data[i - 1] == ' ' ? i - 1 : SIZE_MAX;
}

static void folded_name(struct af_buf *b, const struct af_tree *t, uint32_t node)
{
	size_t len, start = b->len;
	const char *s = af_tree_text(t, t->nodes[node].name, &len);
	const char *suffix = af_frame_suffix(af_tree_frame(t, t->nodes[node].name));

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == ';')
			af_buf_char(b, ':');
		else if (c == '\n')
			af_buf_str(b, "\\n");
		else if (c == '\t')
			af_buf_str(b, "\\t");
		else if (c < ' ' || c == 0x7f || (c == '#' && !start))
			af_buf_fmt(b, "\\x%02x", c);
		else
			af_buf_char(b, (char)c);
	}
	if (!len)
		af_buf_str(b, "[unnamed]");
	size_t tail = folded_number_tail(b, start);
	if (!*suffix && tail != SIZE_MAX)
		b->data[tail] = '_';
	af_buf_str(b, suffix);
}

static void folded_line(struct af_buf *out, const struct af_tree *t, const struct af_buf *path,
                        uint32_t node, const struct af_picture *p, int weight)
{
	if (!t->self[weight][node] && !(p->differential && t->self[0][node]))
		return;
	af_buf_add(out, path->data, path->len);
	for (int w = p->differential ? 0 : weight; w <= weight; w++) {
		af_buf_char(out, ' ');
		af_label_exact(out, t->self[w][node], t->weights[w].scale);
	}
	af_buf_char(out, '\n');
}

static int folded_write(struct af_render *r, const struct af_tree *t, int weight,
                        struct af_err *err)
{
	struct af_buf out = {0}, path = {0};
	size_t *ends = af_xcalloc(af_tree_depth(t) + 1, sizeof *ends);
	uint32_t depth = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && (i = af_tree_next(t, i, false, &depth));) {
		path.len = ends[depth - 1];
		if (t->nodes[i].name != AF_TREE_GAP) {
			if (path.len)
				af_buf_char(&path, ';');
			folded_name(&path, t, i);
		}
		ends[depth] = path.len;
		folded_line(&out, t, &path, i, r->picture, weight);
		if (out.len > FOLDED_FLUSH)
			rc = af_buf_flush(&out, r->fd);
	}
	if (!rc)
		rc = af_buf_flush(&out, r->fd);
	free(ends);
	af_buf_free(&path);
	af_buf_free(&out);
	return rc ? af_fail(err, rc, "writing folded stacks") : 0;
}

static int folded_tree(struct af_render *r, const struct af_tree *t, struct af_err *err)
{
	int weight = af_picture_weight(r->picture, t, err);
	if (weight < 0)
		return weight;
	struct af_tree plain = {0}, reversed = {0};
	/* A line cannot carry a module: stacks that differ only in modules are one. */
	if (af_tree_plain(&plain, t))
		t = &plain;
	if (r->picture->reverse) {
		af_tree_reverse(&reversed, t);
		t = &reversed;
	}
	int rc = folded_write(r, t, weight, err);
	af_tree_close(&reversed);
	af_tree_close(&plain);
	return rc;
}

const struct af_format af_format_folded = {
    .name = "folded",
    .extension = ".folded",
    .summary = "one line a stack, for grep, awk and other flame graph tools",
    .tree = folded_tree,
};
