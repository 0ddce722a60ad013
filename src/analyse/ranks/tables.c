/* The tables of ranks: odd ones, groups, and all there are. */
#include <stdio.h>
#include <string.h>

#include "analyse/ranks/private.h"
#include "base/buf.h"

enum { SHOWN = 4, WHICH = 72 }; /* frames of a path; characters of a list of ranks */

/* Frames of the operating system's kernel, and states: nobody looks for these first. */
static bool is_below(const struct af_tree *t, uint32_t node)
{
	enum af_frame frame = af_tree_frame(t, t->nodes[node].name);

	return frame == AF_FRAME_KERNEL || frame == AF_FRAME_MARK;
}

static uint32_t depth_of(const struct af_tree *t, uint32_t node)
{
	uint32_t depth = 0;

	for (; node; node = t->nodes[node].parent)
		depth++;
	return depth;
}

/* Append the frames to @node, without the first @skip. */
static void path_add(struct af_buf *b, const struct af_tree *t, uint32_t node, uint32_t skip)
{
	uint32_t depth = depth_of(t, node);

	for (uint32_t i = skip; i < depth; i++) {
		uint32_t at = node;
		size_t len;
		for (uint32_t up = depth - 1; up > i; up--)
			at = t->nodes[at].parent;
		const char *text = af_tree_label(t, t->nodes[at].name, &len);
		if (i > skip)
			af_buf_str(b, " > ");
		af_buf_add(b, text, len);
	}
}

/* The innermost frame of the program's. */
static uint32_t function_of(const struct af_tree *t, uint32_t node)
{
	uint32_t at = node;

	while (at && is_below(t, at))
		at = t->nodes[at].parent;
	return at ? at : node;
}

static const char *kept(struct af_tables *f, struct af_buf *b)
{
	const char *text = af_tables_text(f, "%s", b->data ? b->data : "");

	af_buf_free(b);
	return text;
}

const char *af_ranks_path(struct af_tables *f, const struct af_tree *paths, uint32_t path,
                          uint32_t most)
{
	uint32_t end = most ? function_of(paths, path) : path, depth = depth_of(paths, end);
	bool cut = most && depth > most;
	struct af_buf b = {0};

	if (cut)
		af_buf_str(&b, "… > ");
	path_add(&b, paths, end, cut ? depth - most : 0);
	return kept(f, &b);
}

static const char *function_text(struct af_tables *f, const struct af_tree *t, uint32_t path)
{
	struct af_buf b = {0};
	uint32_t at = function_of(t, path);

	path_add(&b, t, at, at ? depth_of(t, at) - 1 : 0);
	return kept(f, &b);
}

/* "more CPU: 1.04 s, typical 21 ms, in main > step > extra_work" */
static const char *cause_text(struct af_tables *f, const struct af_ranks_result *r,
                              const struct af_rank *rank)
{
	if (!rank->has_cause)
		return "nothing that was recorded";
	const char *path = af_ranks_path(f, r->paths, rank->path, SHOWN);
	return af_tables_text(f, "%s %s: %s, typical %s%s%s", rank->less ? "less" : "more",
	                      af_rank_kind_title(rank->kind), af_tables_ns(f, rank->has_ns),
	                      af_tables_ns(f, rank->typical_ns), *path ? ", in " : "", path);
}

static const char *member_label(struct af_tables *f, const struct af_member *m)
{
	return af_tables_text(f, "%s", m->label && *m->label ? m->label : m->name);
}

static void odd_table(const struct af_ranks_result *r, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_ODD_RANK_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t =
	    AF_TABLE(f, "odd_ranks", "Ranks that differ from the typical one", columns);

	t->note = r->nr < 3 ? "it takes three ranks to see which is odd"
	          : !r->nr_odd
	              ? "none: no rank differs from its group by more than sampling noise "
	                "and a tenth of its own time"
	              : "times are held against the mean of the largest group; others wait "
	                "for a rank at most as long as it takes more, wherever they meet";
	for (uint32_t i = 0; i < r->nr_odd; i++) {
		const struct af_rank *rank = &r->ranks[r->odd[i]];
		struct af_odd_rank_row *c = af_table_row(f, t);
		if (rank->has_cause && rank->kind == AF_RANK_DISK && !r->has_waits)
			t->note = "waits for disks are known by polls of the recorder alone: "
				  "`record --off-cpu` has their call paths";
		c->rank.text = member_label(f, rank->who);
		c->group.value = rank->group + 1;
		c->number.value = rank->who->rank;
		c->number.unknown = !rank->who->has_rank;
		c->host.text = af_tables_text(f, "%s", rank->who->host);
		c->trace.text = af_tables_text(f, "%s", rank->who->name);
		c->explains_ns.value = rank->explains_ns;
		c->delay_ns.value = rank->delay_ns;
		c->share.value = af_tables_ratio(rank->delay_ns, rank->wall_ns, 1e4);
		bool known = rank->has_cause;
		c->has_ns.unknown = c->typical_ns.unknown = c->noise_ns.unknown = !known;
		c->kind.text = known ? af_tables_text(f, "%s %s", rank->less ? "less" : "more",
		                                      af_rank_kind_title(rank->kind))
		                     : "not recorded";
		c->has_ns.value = rank->has_ns;
		c->typical_ns.value = rank->typical_ns;
		c->noise_ns.value = af_tables_count(rank->noise_ns);
		c->path.text = known ? af_ranks_path(f, r->paths, rank->path, SHOWN) : "";
		c->full_path.text = known ? af_ranks_path(f, r->paths, rank->path, 0) : "";
		c->function.text = known ? function_text(f, r->paths, rank->path) : "";
	}
}

/* "0-36, 38-63"; of runs "before, after" */
static const char *which(struct af_tables *f, const struct af_ranks_result *r, uint32_t group)
{
	struct af_buf b = {0};

	for (uint32_t i = 0; i < r->nr && b.len < WHICH; i++) {
		uint64_t first = r->ranks[i].who->rank, last = first;
		if (r->ranks[i].group != group)
			continue;
		if (!r->ranks[i].who->has_rank) {
			af_buf_fmt(&b, "%s%s", b.len ? ", " : "", r->ranks[i].who->label);
			continue;
		}
		while (i + 1 < r->nr && r->ranks[i + 1].group == group &&
		       r->ranks[i + 1].who->rank == last + 1) {
			last++;
			i++;
		}
		af_buf_fmt(&b, "%s%llu", b.len ? ", " : "", (unsigned long long)first);
		if (last > first)
			af_buf_fmt(&b, "-%llu", (unsigned long long)last);
		if (b.len >= WHICH)
			af_buf_str(&b, ", …");
	}
	return kept(f, &b);
}

/* The host of all ranks of @group, where others are elsewhere: then the host may be the reason. */
static const char *host_of(struct af_tables *f, const struct af_ranks_result *r, uint32_t group)
{
	const char *host = r->ranks[r->groups[group].typical].who->host;
	bool others = false;

	for (uint32_t i = 0; i < r->nr; i++) {
		bool same = !strcmp(r->ranks[i].who->host, host);
		if (r->ranks[i].group == group && !same)
			return "";
		others |= !same;
	}
	return others ? af_tables_text(f, "%s", host) : "";
}

static void groups_table(const struct af_ranks_result *r, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_RANK_GROUP_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, "rank_groups", "Ranks that behave alike", columns);

	t->note = "times are those of a rank, on average";
	for (uint32_t i = 0; i < r->nr_groups; i++) {
		const struct af_rank_group *g = &r->groups[i];
		struct af_rank_group_row *c = af_table_row(f, t);
		c->group.value = i + 1;
		c->nr_ranks.value = g->nr;
		c->ranks.text = which(f, r, i);
		c->typical.text = member_label(f, r->ranks[g->typical].who);
		c->host.text = host_of(f, r, i);
		c->cpu_ns.value = g->mean_ns[AF_RANK_CPU];
		c->device_ns.value = g->mean_ns[AF_RANK_DEVICE];
		c->disk_ns.value = g->mean_ns[AF_RANK_DISK];
		c->mpi_ns.value = g->mean_ns[AF_RANK_MPI];
		c->wait_ns.value = g->mean_ns[AF_RANK_WAIT];
		c->differs_by.text = i ? cause_text(f, r, &r->ranks[g->typical]) : "";
	}
}

static void rank_times(struct af_rank_row *c, const struct af_rank *rank)
{
	struct af_cell *const cells[AF_RANK_KINDS] = {
	    [AF_RANK_CPU] = &c->cpu_ns,   [AF_RANK_DEVICE] = &c->device_ns,
	    [AF_RANK_DISK] = &c->disk_ns, [AF_RANK_MPI] = &c->mpi_ns,
	    [AF_RANK_WAIT] = &c->wait_ns, [AF_RANK_QUEUED] = &c->queued_ns};

	for (uint32_t k = 0; k < AF_RANK_KINDS; k++) {
		cells[k]->value = rank ? rank->kinds_ns[k] : 0;
		cells[k]->unknown = !rank;
	}
	c->wall_ns.value = rank ? rank->wall_ns : 0;
	c->group.value = rank ? rank->group + 1 : 0;
	c->group.unknown = c->wall_ns.unknown = !rank;
}

static const char *odd_place(struct af_tables *f, const struct af_ranks_result *r, uint32_t index)
{
	for (uint32_t i = 0; i < r->nr_odd; i++)
		if (r->odd[i] == index)
			return af_tables_text(f, "odd %u", i + 1);
	return "";
}

static void ranks_table(const struct af_ranks *all, const struct af_set *set, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_RANK_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t =
	    AF_TABLE(f, "ranks", af_tables_text(f, "The ranks in %s", set->path), columns);

	for (uint32_t i = 0, next = 0; i < set->nr; i++) {
		const struct af_member *m = &set->members[i];
		bool added = next < all->nr && !strcmp(all->ranks[next].who->path, m->path);
		struct af_rank_row *c = af_table_row(f, t);
		af_member_cells(f, m, (struct af_member_row *)c);
		c->why.text = m->why ? af_tables_text(f, "%s", m->why) : "";
		rank_times(c, added ? &all->ranks[next] : NULL);
		c->odd.text = added ? odd_place(f, &all->result, next) : "";
		next += added;
	}
	char lacks[512];
	if (af_set_lacks(set, lacks, sizeof lacks))
		t->note = af_tables_text(f, "%s", lacks);
}

void af_ranks_tables(const struct af_ranks *all, const struct af_set *set, struct af_tables *f)
{
	if (all->nr) {
		odd_table(&all->result, f);
		groups_table(&all->result, f);
	}
	ranks_table(all, set, f);
}
