#include "analyse/functions/flat.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/functions/top.h"
#include "analyse/tree/by_track.h"
#include "analyse/tree/table.h"
#include "base/arena.h"
#include "base/keys.h"
#include "base/strtab.h"

/* A function or a line, of one track. */
struct flat_sum {
	uint32_t track; /* node, 0: none */
	uint32_t group;
	uint64_t self, total, samples;
};

/* Names of one function, or of one line. */
struct flat_group {
	uint32_t name;    /* the one that was sampled most */
	uint32_t sourced; /* one whose source is known, or 0 */
};

struct flat {
	const struct af_tree *t;
	uint32_t weight;
	int samples;      /* the weight, or -1 */
	const char *word; /* of by_track.h, or NULL, */
	enum af_location_what by;
	uint32_t *group_of;     /* by name */
	uint64_t *self, *total; /* by name */
	struct flat_group *groups;
	uint32_t nr_groups;
	struct flat_sum *sums;
	uint32_t nr, cap;
	struct af_keys by_sum, by_group;
	struct af_strtab texts;
};

/* Frames of machine code, whose addresses belong to a function of the host. */
static bool flat_is_code(enum af_frame frame)
{
	return af_frame_has_module(frame) || frame == AF_FRAME_JIT;
}

static uint32_t flat_text(struct flat *p, const char *text)
{
	return text ? af_strtab_id_z(&p->texts, text) : 0;
}

/*
 * The group of @name by functions: by text, kind, module and, without a name, address. Where @lines
 * are wanted, these tell names apart too, or else the addresses.
 */
static uint32_t flat_group(struct flat *p, uint32_t name, bool lines)
{
	const struct af_location *at = af_tree_location(p->t, name);
	enum af_frame frame = af_tree_frame(p->t, name);
	size_t len;
	const char *text = af_tree_text(p->t, name, &len);
	bool code = flat_is_code(frame), fresh;
	uint32_t file = lines ? flat_text(p, at->file) : 0;
	uint64_t line = lines ? at->line : 0;
	uint64_t address = lines && code && !line ? at->address : 0;

	uint64_t *group =
	    af_keys_at(&p->by_group,
	               AF_KEY((uint64_t)af_strtab_id(&p->texts, text, len) << 32 | frame,
	                      (uint64_t)flat_text(p, af_tree_key(p->t, name)) << 32 | file, line,
	                      at->unnamed | address),
	               &fresh);
	if (fresh) {
		*group = p->nr_groups;
		p->groups[p->nr_groups++] = (struct flat_group){.name = name};
	}
	return (uint32_t)*group;
}

/* The frame of the track that @node is in or is, 0: in none. */
static uint32_t flat_track(const struct flat *p, uint32_t node)
{
	while (node && af_tree_location(p->t, p->t->nodes[node].name)->what != p->by)
		node = p->t->nodes[node].parent;
	return p->by == AF_LOCATION_CODE ? 0 : node;
}

static struct flat_sum *flat_sum(struct flat *p, uint32_t track, uint32_t group)
{
	bool fresh;
	/* A track is known by its name: that of a rank stands in several places. */
	uint32_t whose = p->by == AF_LOCATION_RANK ? p->t->nodes[track].name : track;
	uint64_t *i = af_keys_at(&p->by_sum, AF_KEY(whose, group), &fresh);

	if (fresh) {
		AF_GROW(p->sums, p->nr, p->cap);
		*i = p->nr;
		p->sums[p->nr++] = (struct flat_sum){.track = track, .group = group};
	}
	return &p->sums[*i];
}

/* Does a frame above @node belong to its function? */
static bool flat_recurs(const struct flat *p, uint32_t node)
{
	const struct af_tree *t = p->t;
	uint32_t group = p->group_of[t->nodes[node].name];

	for (uint32_t up = t->nodes[node].parent; up; up = t->nodes[up].parent)
		if (p->group_of[t->nodes[up].name] == group)
			return true;
	return false;
}

static void flat_add(struct flat *p, uint32_t node)
{
	const struct af_tree *t = p->t;
	uint32_t name = t->nodes[node].name;
	uint64_t self = t->self[p->weight][node], total = t->total[p->weight][node];

	if (!total)
		return;
	struct flat_sum *sum = flat_sum(p, flat_track(p, node), p->group_of[name]);
	sum->self += self;
	sum->samples += p->samples >= 0 ? t->self[p->samples][node] : 0;
	sum->total += flat_recurs(p, node) ? 0 : total;
	p->self[name] += self;
	p->total[name] += total;
}

/* Is @name a better one to show than @best: sampled more, or else before it? */
static bool flat_is_hotter(const struct flat *p, uint32_t name, uint32_t best)
{
	if (p->self[name] != p->self[best])
		return p->self[name] > p->self[best];
	if (p->total[name] != p->total[best])
		return p->total[name] > p->total[best];
	return af_tree_location(p->t, name)->address < af_tree_location(p->t, best)->address;
}

static void flat_choose_names(struct flat *p)
{
	for (uint32_t name = 1; name < p->t->nr_names; name++) {
		struct flat_group *g = &p->groups[p->group_of[name]];

		if (flat_is_hotter(p, name, g->name))
			g->name = name;
		if (af_tree_location(p->t, name)->source &&
		    (!g->sourced || flat_is_hotter(p, name, g->sourced)))
			g->sourced = name;
	}
}

static void flat_make(struct flat *p, const char *by, bool lines)
{
	const struct af_tree *t = p->t;

	p->samples = af_tree_weight(t, "samples");
	p->word = by;
	p->by = af_by_track_what(by);
	p->group_of = af_xcalloc(t->nr_names, sizeof *p->group_of);
	p->groups = af_xcalloc(t->nr_names, sizeof *p->groups);
	p->self = af_xcalloc(t->nr_names, sizeof *p->self);
	p->total = af_xcalloc(t->nr_names, sizeof *p->total);
	for (uint32_t name = 0; name < t->nr_names; name++)
		p->group_of[name] = flat_group(p, name, lines);
	for (uint32_t node = 1; node < t->nr; node++)
		flat_add(p, node);
	flat_choose_names(p);
}

static void flat_free(struct flat *p)
{
	free(p->group_of);
	free(p->self);
	free(p->total);
	free(p->groups);
	free(p->sums);
	af_keys_free(&p->by_sum);
	af_keys_free(&p->by_group);
	af_strtab_free(&p->texts);
}

/* Most of its own first, then by total, then by text. */
struct flat_row {
	const struct flat_sum *sum;
	const char *text;
	size_t len;
};

static int flat_order(const void *a, const void *b)
{
	const struct flat_row *x = a, *y = b;
	size_t len = x->len < y->len ? x->len : y->len;

	if (x->sum->self != y->sum->self)
		return x->sum->self < y->sum->self ? 1 : -1;
	if (x->sum->total != y->sum->total)
		return x->sum->total < y->sum->total ? 1 : -1;
	int order = memcmp(x->text, y->text, len);
	if (order)
		return order;
	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return x->sum < y->sum ? -1 : x->sum > y->sum;
}

static bool flat_is_shown(const struct flat *p, const struct flat_sum *sum, bool lines)
{
	enum af_frame frame = af_tree_frame(p->t, p->groups[sum->group].name);

	if (lines || frame == AF_FRAME_PROCESS || frame == AF_FRAME_MARK)
		return sum->self;
	return sum->total;
}

static struct flat_row *flat_rows(const struct flat *p, bool lines, uint32_t *nr)
{
	struct flat_row *rows = af_xcalloc(p->nr, sizeof *rows);

	*nr = 0;
	for (uint32_t i = 0; i < p->nr; i++) {
		struct flat_row *row = &rows[*nr];

		if (!flat_is_shown(p, &p->sums[i], lines))
			continue;
		row->sum = &p->sums[i];
		row->text = af_tree_text(p->t, p->groups[row->sum->group].name, &row->len);
		++*nr;
	}
	AF_SORT(rows, *nr, flat_order);
	return rows;
}

/* The texts of a group, for the cells of a row. */
struct flat_shown {
	const char *name, *text, *module, *file, *kind;
	uint32_t line;
	const struct af_location *at;
};

static const char *flat_module(struct af_tables *f, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return path ? af_tables_text(f, "%s", slash && slash[1] ? slash + 1 : path) : "";
}

static struct flat_shown flat_show(const struct flat *p, struct af_tables *f,
                                   const struct flat_group *g)
{
	const struct af_tree *t = p->t;
	const struct af_location *at = af_tree_location(t, g->name);
	const struct af_location *source = g->sourced ? af_tree_location(t, g->sourced) : NULL;
	size_t len;
	const char *label = af_tree_label(t, g->name, &len);
	struct flat_shown s = {.at = at,
	                       .module = flat_module(f, at->module),
	                       .kind = af_frame_name(af_tree_frame(t, g->name))};
	bool code = flat_is_code(af_tree_frame(t, g->name));

	s.name = at->function ? af_tables_text(f, "%s", at->function)
	                      : af_tables_text(f, "%.*s", (int)len, label);
	s.file = source ? source->source : at->file;
	s.line = source ? source->source_line : at->first_line ? at->first_line : at->line;
	s.text = af_tables_text(f, "%.*s", (int)len, label);
	if (at->unnamed)
		s.text = af_tables_text(f, "0x%llx", (unsigned long long)at->unnamed);
	else if (code && s.file && s.line)
		s.text =
		    af_tables_text(f, "%s (%s)", s.text, af_top_location(f, s.file, s.line, false));
	else if (code && at->begins)
		s.text = af_tables_text(f, "%s+0x%llx", s.text, (unsigned long long)at->offset);
	return s;
}

static const char *flat_track_text(const struct flat *p, struct af_tables *f, uint32_t track)
{
	return p->by == AF_LOCATION_CODE ? "" : af_by_track_text(f, p->t, track, p->word);
}

static void flat_numbers(const struct flat_shown *s, struct af_cell *offset,
                         struct af_cell *address)
{
	offset->unknown = !s->at->begins;
	offset->value = s->at->offset;
	address->unknown = !s->at->module && !s->at->unnamed;
	address->value = s->at->unnamed ? s->at->unnamed : s->at->address;
}

static void flat_row(const struct flat *p, struct af_tables *f, struct af_table *table,
                     const struct flat_sum *sum)
{
	uint64_t all = p->t->total[p->weight][0];
	struct af_flat_row *c = af_table_row(f, table);
	const struct flat_shown s = flat_show(p, f, &p->groups[sum->group]);

	c->track.text = flat_track_text(p, f, sum->track);
	c->self_share.value = af_tables_ratio(sum->self, all, 1e4);
	c->total_share.value = af_tables_ratio(sum->total, all, 1e4);
	c->samples.value = sum->samples;
	c->function.text = s.text;
	c->kind.text = s.kind;
	c->module.text = s.module;
	c->self.value = sum->self;
	c->total.value = sum->total;
	c->name.text = s.name;
	c->file.text = s.file ? af_tables_text(f, "%s", s.file) : "";
	c->line.value = s.line;
	c->line.unknown = !s.line;
	flat_numbers(&s, &c->offset, &c->address);
}

static void flat_line_row(const struct flat *p, struct af_tables *f, struct af_table *table,
                          const struct flat_sum *sum)
{
	struct af_flat_line_row *c = af_table_row(f, table);
	const struct flat_shown s = flat_show(p, f, &p->groups[sum->group]);
	bool known = s.at->file && s.at->line;

	c->track.text = flat_track_text(p, f, sum->track);
	c->self_share.value = af_tables_ratio(sum->self, p->t->total[p->weight][0], 1e4);
	c->samples.value = sum->samples;
	c->location.text = known ? af_top_location(f, s.at->file, s.at->line, false) : s.text;
	c->function.text = s.at->unnamed ? s.text : s.name;
	c->kind.text = s.kind;
	c->module.text = s.module;
	c->self.value = sum->self;
	c->file.text = known ? af_tables_text(f, "%s", s.at->file) : "";
	c->line.value = s.at->line;
	c->line.unknown = !known;
	flat_numbers(&s, &c->offset, &c->address);
	c->address.unknown |= known; /* many addresses have one line */
}

static struct af_table *flat_begin(struct af_tables *f, const struct af_tree *t, uint32_t weight,
                                   bool lines)
{
	const struct af_column functions[] = {
	    AF_FLAT_COLUMNS(AF_ROW_COLUMN, af_tree_unit(t, weight))};
	const struct af_column hot[] = {
	    AF_FLAT_LINE_COLUMNS(AF_ROW_COLUMN, af_tree_unit(t, weight))};

	return lines ? AF_TABLE(f, "lines", "Lines", hot)
	             : AF_TABLE(f, "flat", "Functions", functions);
}

void af_flat_table(struct af_tables *f, const struct af_tree *t, uint32_t weight, const char *by,
                   bool lines)
{
	struct flat p = {.t = t, .weight = weight};
	struct af_table *table = flat_begin(f, t, weight, lines);
	uint32_t nr;

	if (by)
		table->columns[0].title = af_by_track_title(by);
	flat_make(&p, by, lines);
	struct flat_row *rows = flat_rows(&p, lines, &nr);
	for (uint32_t i = 0; i < nr; i++) {
		if (lines)
			flat_line_row(&p, f, table, rows[i].sum);
		else
			flat_row(&p, f, table, rows[i].sum);
	}
	free(rows);
	flat_free(&p);
}
