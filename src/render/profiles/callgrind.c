/*
 * Callgrind's format (valgrind.org, "Callgrind Format Specification"), which KCachegrind and
 * callgrind_annotate read: costs by function and line, and between functions the costs of calls.
 *
 * It has no stacks, so a sum must say which call brought it: of a function that stands in a stack
 * more than once the innermost calls. Then self and calls of any function together are all stacks
 * that it is in, once each, which is what readers show as inclusive. How often functions were
 * called is not known: each `calls=` says 1.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"
#include "render/profiles/out.h"
#include "render/profiles/profile.h"
#include "render/render.h"

struct callgrind_function {
	uint32_t name, file, object; /* strings */
	uint32_t stack;              /* the latest in which it was seen */
};

/* Own cost, or that of a call. */
struct callgrind_cost {
	uint32_t function, line;
	uint32_t callee; /* plus 1; 0: its own */
	uint32_t number; /* in order of their first use: where its values are */
};

struct callgrind {
	struct af_profile profile;
	struct af_strtab strings;
	struct callgrind_function *functions;
	struct callgrind_cost *costs;
	uint64_t *values; /* nr_columns for each cost */
	uint32_t nr_functions, cap_functions, nr_costs, cap_costs, cap_values, nr_stacks;
	struct af_map by_call, by_cost;
	struct af_keys by_function;
	uint32_t *function_of; /* by name of the tree at hand; plus 1 */
	struct af_out out;
	struct af_buf text;
	uint8_t *reported; /* by string: which kinds of names were written already, as bits */
};

enum { NAMED_FUNCTION, NAMED_FILE, NAMED_OBJECT };

static int callgrind_begin(struct af_render *r, struct af_err *err)
{
	struct callgrind *c = af_xcalloc(1, sizeof *c);

	(void)err;
	af_strtab_id_z(&c->strings, "");
	r->state = c;
	return 0;
}

static int callgrind_tree(struct af_render *r, const struct af_tree *t, struct af_err *err)
{
	struct callgrind *c = r->state;

	(void)err;
	af_profile_add(&c->profile, t, r->label);
	return 0;
}

/* The text of a line: without control characters, and not empty. */
static uint32_t callgrind_string(struct callgrind *c, const char *text, size_t len)
{
	struct af_buf clean = {0};

	c->text.len = 0;
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)text[i];
		if (byte < ' ' || byte == 0x7f)
			af_buf_fmt(&c->text, "\\x%02x", byte);
		else
			af_buf_char(&c->text, (char)byte);
	}
	if (!len)
		af_buf_str(&c->text, "???");
	af_buf_utf8(&clean, c->text.data, c->text.len);
	uint32_t id = af_strtab_id(&c->strings, clean.data, clean.len);
	af_buf_free(&clean);
	return id;
}

static uint32_t callgrind_string_z(struct callgrind *c, const char *text)
{
	return callgrind_string(c, text ? text : "", text ? strlen(text) : 0);
}

static uint32_t callgrind_function(struct callgrind *c, const struct af_tree *t, uint32_t name)
{
	const struct af_location *location = af_tree_location(t, name);
	size_t len;
	bool fresh;

	if (c->function_of[name])
		return c->function_of[name] - 1;
	const char *text = af_profile_function(t, name, &len);
	struct callgrind_function f = {
	    .name = callgrind_string(c, text, len),
	    .file = callgrind_string_z(c, location->file),
	    .object = callgrind_string_z(c, location->module),
	};
	uint64_t *slot = af_keys_at(&c->by_function, AF_KEY(f.name, f.file, f.object), &fresh);
	if (fresh) {
		AF_GROW(c->functions, c->nr_functions, c->cap_functions);
		*slot = c->nr_functions;
		c->functions[c->nr_functions++] = f;
	}
	c->function_of[name] = (uint32_t)*slot + 1;
	return (uint32_t)*slot;
}

static uint64_t *callgrind_cost(struct callgrind *c, uint32_t function, uint32_t line,
                                uint32_t callee)
{
	uint32_t columns = c->profile.nr_columns;
	bool fresh;
	uint64_t *call = af_map_at(&c->by_call, (uint64_t)function << 32 | callee, &fresh);

	if (fresh)
		*call = c->by_call.nr;
	uint64_t *slot = af_map_at(&c->by_cost, *call << 32 | line, &fresh);
	if (fresh) {
		AF_GROW(c->costs, c->nr_costs, c->cap_costs);
		*slot = c->nr_costs;
		c->costs[c->nr_costs] =
		    (struct callgrind_cost){function, line, callee, c->nr_costs};
		AF_ROOM(c->values, (c->nr_costs + (size_t)1) * columns, c->cap_values);
		memset(c->values + (size_t)c->nr_costs++ * columns, 0, columns * sizeof *c->values);
	}
	return c->values + (size_t)*slot * columns;
}

static void callgrind_add(struct callgrind *c, uint32_t tree, uint32_t node, uint64_t *values)
{
	for (uint32_t i = 0; i < c->profile.nr_columns; i++) {
		const struct af_profile_column *column = &c->profile.columns[i];
		uint64_t v =
		    column->tree == tree ? c->profile.trees[tree]->self[column->weight][node] : 0;
		if (__builtin_add_overflow(values[i], v, &values[i]))
			values[i] = UINT64_MAX;
	}
}

static bool callgrind_skips(const struct af_tree *t, uint32_t node)
{
	return af_profile_is_track(t, node) || t->nodes[node].name == AF_TREE_GAP;
}

static void callgrind_stack(struct callgrind *c, uint32_t tree, uint32_t node)
{
	const struct af_tree *t = c->profile.trees[tree];
	uint32_t below = 0, stack = ++c->nr_stacks; /* below: plus 1 */

	for (uint32_t n = node; n; n = t->nodes[n].parent) {
		if (callgrind_skips(t, n))
			continue;
		uint32_t function = callgrind_function(c, t, t->nodes[n].name);
		uint32_t line = af_tree_location(t, t->nodes[n].name)->line;
		if (c->functions[function].stack != stack)
			callgrind_add(c, tree, node, callgrind_cost(c, function, line, below));
		c->functions[function].stack = stack;
		below = function + 1;
	}
}

static void callgrind_sum(struct callgrind *c, uint32_t tree)
{
	const struct af_tree *t = c->profile.trees[tree];
	uint32_t depth = 0;

	c->function_of = af_xcalloc(t->nr_names, sizeof *c->function_of);
	for (uint32_t i = 0; (i = af_tree_next(t, i, false, &depth));)
		if (af_profile_has(t, i))
			callgrind_stack(c, tree, i);
	free(c->function_of);
}

static int cost_order(const void *a, const void *b)
{
	const struct callgrind_cost *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* "fn=(7) main" where it is new, "fn=(7)" from then on. */
static void put_name(struct callgrind *c, const char *what, int kind, uint32_t string)
{
	struct af_buf *b = &c->out.text;

	af_buf_fmt(b, "%s=(%u)", what, string);
	if (!(c->reported[string] & 1 << kind)) {
		af_buf_char(b, ' ');
		af_buf_add(b, af_strtab_get(&c->strings, string), c->strings.lens[string]);
	}
	c->reported[string] |= (uint8_t)(1 << kind);
	af_buf_char(b, '\n');
}

static void put_values(struct callgrind *c, uint32_t line, const uint64_t *values)
{
	struct af_buf *b = &c->out.text;

	af_buf_u64(b, line);
	for (uint32_t i = 0; i < c->profile.nr_columns; i++) {
		af_buf_char(b, ' ');
		af_buf_u64(b, values[i]);
	}
	af_buf_char(b, '\n');
}

static void put_costs(struct callgrind *c)
{
	uint32_t last = UINT32_MAX;

	c->reported = af_xcalloc(c->strings.nr, 1);
	AF_SORT(c->costs, c->nr_costs, cost_order);
	for (uint32_t i = 0; i < c->nr_costs; i++) {
		const struct callgrind_cost *cost = &c->costs[i];
		const struct callgrind_function *f = &c->functions[cost->function];
		if (cost->function != last) {
			af_buf_char(&c->out.text, '\n');
			put_name(c, "ob", NAMED_OBJECT, f->object);
			put_name(c, "fl", NAMED_FILE, f->file);
			put_name(c, "fn", NAMED_FUNCTION, f->name);
		}
		last = cost->function;
		if (cost->callee) {
			f = &c->functions[cost->callee - 1];
			put_name(c, "cob", NAMED_OBJECT, f->object);
			put_name(c, "cfi", NAMED_FILE, f->file);
			put_name(c, "cfn", NAMED_FUNCTION, f->name);
			af_buf_str(&c->out.text, "calls=1 0\n");
		}
		put_values(c, cost->line, c->values + (size_t)cost->number * c->profile.nr_columns);
		af_out_spill(&c->out);
	}
	free(c->reported);
}

static void put_head(struct callgrind *c)
{
	struct af_buf *b = &c->out.text;
	const struct af_profile *p = &c->profile;

	af_buf_str(b, "# callgrind format\nversion: 1\ncreator: aflame " AFLAME_VERSION "\n");
	for (uint32_t i = 0; i < p->nr_columns; i++)
		af_buf_fmt(b, "desc: %s: %s%s\n", p->columns[i].name,
		           p->columns[i].scale > 1 ? "millionths of " : "", p->columns[i].unit);
	af_buf_str(b, "positions: line\nevents:");
	for (uint32_t i = 0; i < p->nr_columns; i++) {
		af_buf_char(b, ' ');
		for (const char *s = p->columns[i].name; *s; s++)
			af_buf_char(b, *s == '-' ? '_' : *s);
	}
	af_buf_str(b, "\nsummary:");
	for (uint32_t i = 0; i < p->nr_columns; i++) {
		af_buf_char(b, ' ');
		af_buf_u64(b, p->columns[i].total);
	}
	af_buf_char(b, '\n');
}

static int callgrind_end(struct af_render *r, struct af_err *err)
{
	struct callgrind *c = r->state;

	for (uint32_t i = 0; i < c->profile.nr_trees; i++)
		callgrind_sum(c, i);
	af_out_open(&c->out, r->fd, r->gzip);
	put_head(c);
	put_costs(c);
	int rc = af_out_close(&c->out);
	af_strtab_free(&c->strings);
	af_keys_free(&c->by_function);
	af_map_free(&c->by_call);
	af_map_free(&c->by_cost);
	af_buf_free(&c->text);
	free(c->functions);
	free(c->costs);
	free(c->values);
	free(c);
	r->state = NULL;
	return rc ? af_fail(err, rc, "cannot write the profile") : 0;
}

const struct af_format af_format_callgrind = {
    .name = "callgrind",
    .extension = ".callgrind",
    .summary = "Callgrind's costs, for KCachegrind and callgrind_annotate",
    .begin = callgrind_begin,
    .tree = callgrind_tree,
    .end = callgrind_end,
};
