/*
 * Reading folded text. Files are nearly always sorted, so each line is compared with the previous
 * one by machine words and only the frames that differ are looked up; unsorted input costs a hash
 * per frame and nothing else. Names stay where they are, in the caller's memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/folded_text.h"
#include "analyse/tree/tree.h"
#include "base/arena.h"
#include "base/err.h"
#include "render/render.h"

enum {
	FOLDED_MAX_DEPTH = 1 << 16,
	FOLDED_MAX_LINE = 1 << 30,
	FOLDED_SCALE = 1000000, /* once there are fractions */
};

/* A frame of the previous line. */
struct folded_frame {
	uint32_t end; /* offset behind its name */
	uint32_t node;
};

struct folded_reader {
	struct af_tree *tree;
	struct af_folded_stats *stats;
	bool two_columns;
	uint64_t scale; /* of the weights so far: 1 or FOLDED_SCALE */
	const char *prev;
	uint32_t prev_len, depth, cap;
	struct folded_frame *frames;
};

struct folded_count {
	uint64_t whole;
	uint32_t millionths;
	bool fraction, too_big;
	bool slip; /* it stood behind a `;` */
};

/* Number of equal bytes at the front of @a and @b, at most @len. */
static size_t folded_shared(const char *a, const char *b, size_t len)
{
	size_t i = 0;

	for (; i + 32 <= len; i += 32) {
		uint64_t x[4], y[4];
		memcpy(x, a + i, 32);
		memcpy(y, b + i, 32);
		if ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]))
			break;
	}
	while (i < len && a[i] == b[i])
		i++;
	return i;
}

/*
 * Take the count off the end of line[0..*len): one blank or tab, digits, perhaps a fraction; or a
 * semicolon in place of the blank, as iaprof's documentation has it. Returns false, and leaves
 * *@len as it was, when there is none.
 */
static bool folded_count(const char *line, uint32_t *len, struct folded_count *out)
{
	uint32_t i = *len, point = 0;
	struct folded_count c = {0};

	while (i > 0 && line[i - 1] >= '0' && line[i - 1] <= '9')
		i--;
	if (i > 0 && line[i - 1] == '.') {
		point = i--;
		while (i > 0 && line[i - 1] >= '0' && line[i - 1] <= '9')
			i--;
	}
	uint32_t end = point ? point - 1 : *len;
	if (i == end || i == 0)
		return false;
	bool blank = line[i - 1] == ' ' || line[i - 1] == '\t';
	if (!blank && !af_folded_slip(line, line + *len))
		return false;

	for (uint32_t k = i; k < end; k++)
		if (__builtin_mul_overflow(c.whole, 10, &c.whole) ||
		    __builtin_add_overflow(c.whole, (uint64_t)(line[k] - '0'), &c.whole)) {
			c.whole = UINT64_MAX;
			c.too_big = true;
			break;
		}
	if (point) {
		uint32_t unit = FOLDED_SCALE / 10;
		for (uint32_t k = point; k < *len && unit; k++, unit /= 10)
			c.millionths += (uint32_t)(line[k] - '0') * unit;
		c.fraction = c.millionths != 0;
	}
	c.slip = !blank;
	*len = i - 1;
	*out = c;
	return true;
}

static void folded_complain(struct folded_reader *r, uint64_t line_nr, const char *line,
                            uint32_t len, const char *cause)
{
	if (r->stats->bad_lines++)
		return;

	char excerpt[61];
	uint32_t n = len < sizeof excerpt - 1 ? len : sizeof excerpt - 1;
	for (uint32_t i = 0; i < n; i++) /* It may reach a terminal. */
		excerpt[i] = line[i] >= ' ' && line[i] < 0x7f ? line[i] : '?';
	excerpt[n] = 0;
	r->stats->first_bad = line_nr;
	snprintf(r->stats->complaint, sizeof r->stats->complaint, "line %llu: %s: %s%s",
	         (unsigned long long)line_nr, cause, excerpt, n < len ? "…" : "");
}

/* From the first fraction on, everything is in millionths. */
static void folded_rescale(struct folded_reader *r)
{
	struct af_tree *t = r->tree;

	r->scale = FOLDED_SCALE;
	for (uint32_t w = 0; w < t->nr_weights; w++) {
		t->weights[w].scale = FOLDED_SCALE;
		for (uint32_t i = 0; i < t->nr; i++)
			if (__builtin_mul_overflow(t->self[w][i], (uint64_t)FOLDED_SCALE,
			                           &t->self[w][i])) {
				t->self[w][i] = UINT64_MAX;
				t->saturated = true;
			}
	}
}

static void folded_add(struct folded_reader *r, uint32_t node, uint32_t weight,
                       const struct folded_count *c)
{
	uint64_t value;

	if (c->fraction && r->scale == 1)
		folded_rescale(r);
	if (c->too_big || __builtin_mul_overflow(c->whole, r->scale, &value) ||
	    (r->scale > 1 && __builtin_add_overflow(value, c->millionths, &value))) {
		r->tree->saturated = true;
		value = UINT64_MAX;
	}
	af_tree_add(r->tree, node, weight, value);
}

/* How many frames the stack line[0..len) shares with the previous one, given equal bytes. */
static uint32_t folded_shared_frames(const struct folded_reader *r, const char *line, uint32_t len,
                                     uint32_t shared)
{
	uint32_t d = r->depth;

	for (; d > 0; d--) {
		uint32_t end = r->frames[d - 1].end;
		/* True if the frame after a `-` shows that the `-` is part of a name. */
		if (end <= shared && (end == len || (end < len && line[end] == ';')) &&
		    !(end && line[end - 1] == '-'))
			break;
	}
	return d;
}

/* The node of a stack, of which the first @d frames stand in r->frames; NULL cause: it worked. */
static const char *folded_stack(struct folded_reader *r, const char *line, uint32_t len, uint32_t d)
{
	uint32_t pos = d ? r->frames[d - 1].end + 1 : 0;
	uint32_t node = d ? r->frames[d - 1].node : 0;

	while (pos < len) {
		struct af_folded_frame f = af_folded_frame(line + pos, line + len);

		if (d == FOLDED_MAX_DEPTH)
			return "more than 65536 frames";
		AF_GROW(r->frames, d, r->cap);
		node =
		    af_tree_child(r->tree, node, af_tree_name(r->tree, f.text, f.bare, f.kind, 1));
		r->frames[d++] = (struct folded_frame){pos + (uint32_t)f.len, node};
		pos += (uint32_t)f.size;
	}
	r->depth = d;
	return NULL;
}

/*
 * The node that gets this line's weight. A chart keeps the order of time: it comes after the
 * children before it.
 */
static uint32_t folded_target(const struct folded_reader *r)
{
	uint32_t node = r->frames[r->depth - 1].node;

	if (r->tree->ordered && r->tree->nodes[node].first_child)
		return af_tree_child(r->tree, node, AF_TREE_GAP);
	return node;
}

/* An instruction with counts of its stalls: one stack for each reason. */
static const char *folded_stalls(struct folded_reader *r, const char *line, const char *stalls,
                                 const char *end, uint32_t shared)
{
	const char *semicolon = memrchr(line, ';', (size_t)(stalls - line));
	const char *insn = semicolon ? semicolon + 1 : line;
	uint32_t len = semicolon ? (uint32_t)(semicolon - line) : 0;
	struct af_tree *t = r->tree;
	struct af_folded_stall s;
	const char *cause = folded_stack(r, line, len, folded_shared_frames(r, line, len, shared));

	if (cause) {
		r->depth = 0;
		return cause;
	}
	r->prev = line;
	r->prev_len = len;
	uint32_t above = r->depth ? r->frames[r->depth - 1].node : 0;
	/* The frame is an instruction, whatever its text looks like. */
	uint32_t node = af_tree_child(
	    t, above, af_tree_name(t, insn, (uint32_t)(stalls - 1 - insn), AF_FRAME_GPU_INSN, 1));
	while (af_folded_stall_next(&stalls, end, &s)) {
		uint32_t leaf = af_tree_child(
		    t, node, af_tree_name(t, s.name, (uint32_t)s.len, AF_FRAME_GPU_INSN, 1));
		folded_add(r, leaf, 0, &(struct folded_count){.whole = s.count});
	}
	r->stats->lines++;
	return NULL;
}

static const char *folded_line(struct folded_reader *r, const char *line, uint32_t len,
                               uint32_t shared)
{
	struct folded_count counts[2];
	const char *stalls = r->two_columns ? NULL : af_folded_stalls(line, line + len);

	if (stalls)
		return folded_stalls(r, line, stalls, line + len, shared);
	if (!folded_count(line, &len, &counts[r->two_columns]))
		return "no count after the stack";
	if (r->two_columns && !folded_count(line, &len, &counts[0]))
		return "only one count after the stack (two columns are read)";
	while (len > 0 && line[len - 1] == ';')
		len--;
	if (!len)
		return "no frames before the count";

	const char *cause = folded_stack(r, line, len, folded_shared_frames(r, line, len, shared));
	if (cause) {
		r->depth = 0; /* r->frames is half overwritten */
		return cause;
	}
	r->prev = line;
	r->prev_len = len;
	uint32_t node = folded_target(r);
	uint32_t nr_columns = r->two_columns ? 2 : 1;
	for (uint32_t w = 0; w < nr_columns; w++)
		folded_add(r, node, w, &counts[w]);
	r->stats->lines++;
	r->stats->slips += counts[0].slip;
	return NULL;
}

int af_folded_read(struct af_tree *t, const char *data, uint64_t size, bool two_columns,
                   struct af_folded_stats *stats, struct af_err *err)
{
	struct folded_reader r = {
	    .tree = t, .stats = stats, .two_columns = two_columns, .scale = 1};
	const char *p = data, *end = data + size;

	*stats = (struct af_folded_stats){0};
	if (two_columns && t->nr_weights < 2)
		return af_fail_plain(err, -EINVAL, "a difference needs a tree of two columns");
	for (uint64_t line_nr = 1; p < end; line_nr++) {
		size_t left = (size_t)(end - p);
		/* A prefix shared with the previous stack holds no newline. */
		size_t shared =
		    folded_shared(p, r.prev, r.depth ? (r.prev_len < left ? r.prev_len : left) : 0);
		const char *newline = memchr(p + shared, '\n', left - shared);
		size_t len = newline ? (size_t)(newline - p) : left;
		const char *cause = NULL;

		left = len;
		if (len && p[len - 1] == '\r')
			len--;
		if (len > FOLDED_MAX_LINE)
			cause = "longer than 1 GiB";
		else if (len && (p[0] != '#' || (len > 1 && p[1] != ' ')))
			cause = folded_line(&r, p, (uint32_t)len, (uint32_t)shared);
		if (cause)
			folded_complain(&r, line_nr, p, (uint32_t)len, cause);
		p += left + (newline != NULL);
	}
	free(r.frames);
	af_tree_finish(t);
	stats->saturated = t->saturated;
	if (stats->bad_lines && !stats->lines)
		return af_fail_plain(err, -EINVAL, "not folded stacks: %s", stats->complaint);
	return 0;
}
