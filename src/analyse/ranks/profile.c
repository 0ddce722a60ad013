/*
 * The profile of a rank: of each kind of time the heaviest paths, where small subtrees count as
 * their parents. So a path that is kept has its whole time, whatever was left out below it.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/ranks/private.h"
#include "analyse/world/waits.h"
#include "base/arena.h"

enum {
	PATHS = 192, /* of a kind that are kept, with those that only lead to others */
	POLLS = 4,   /* fewer that found a wait for a disk are chance */
};

/* A tree of the results while it becomes a profile. */
struct reading {
	struct af_ranks *all;
	struct ranks_profile *profile;
	const struct af_tree *tree;
	uint32_t *path;   /* by node: of all->paths; UINT32_MAX: not made yet */
	uint64_t *totals; /* by node, of the kind at hand */
	uint64_t *selves;
	double *variances;
	bool mpi_known; /* calls of MPI were recorded: time inside it is not taken twice */
};

static bool frame_is(const struct af_tree *t, uint32_t name, const char *text)
{
	size_t len;
	const char *is = af_tree_text(t, name, &len);

	return len == strlen(text) && !memcmp(is, text, len);
}

static bool is_before_main(const struct af_tree *t, uint32_t name)
{
	static const char *const starts[] = {"_start",
	                                     "__libc_start_main",
	                                     "__libc_start_call_main",
	                                     "__libc_start_main_impl",
	                                     "clone",
	                                     "clone3",
	                                     "start_thread"};

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (frame_is(t, name, starts[i]))
			return true;
	return false;
}

uint32_t af_ranks_path_of(struct af_tree *paths, uint32_t parent, const struct af_tree *t,
                          uint32_t node)
{
	uint32_t name = t->nodes[node].name;

	if (!node || name == AF_TREE_GAP || af_tree_frame(t, name) == AF_FRAME_PROCESS ||
	    (!parent && is_before_main(t, name)))
		return parent;
	return af_tree_child(paths, parent, af_tree_name_like(paths, t, name, 0));
}

uint32_t *af_ranks_paths_join(struct af_tree *paths, const struct af_tree *from)
{
	uint32_t *path = af_xcalloc(from->nr, sizeof *path);

	for (uint32_t i = 1; i < from->nr; i++)
		path[i] = af_tree_child(paths, path[from->nodes[i].parent],
		                        af_tree_name_like(paths, from, from->nodes[i].name, 0));
	return path;
}

/* The path of @node, whose parents' exist. */
static uint32_t path_of(struct reading *r, uint32_t node)
{
	uint32_t parent = node ? r->path[r->tree->nodes[node].parent] : 0;

	if (r->path[node] == UINT32_MAX)
		r->path[node] = af_ranks_path_of(&r->all->paths, parent, r->tree, node);
	return r->path[node];
}

static int larger_first(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x == y ? 0 : x < y ? 1 : -1;
}

/* The total that a node must exceed so that at most PATHS are kept. */
static uint64_t threshold(const struct reading *r)
{
	uint64_t *all = af_xcalloc(r->tree->nr, sizeof *all), least = 0;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < r->tree->nr; i++)
		if (r->totals[i])
			all[nr++] = r->totals[i];
	if (nr > PATHS) {
		AF_SORT(all, nr, larger_first);
		least = all[PATHS];
	}
	free(all);
	return least;
}

static void part_add(struct ranks_profile *p, const struct ranks_part *part)
{
	AF_GROW(p->parts, p->nr, p->cap);
	p->parts[p->nr++] = *part;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Keep what r->selves and r->variances have, of @kind. Parents precede children. */
static void kind_keep(struct reading *r, enum af_rank_kind kind)
{
	const struct af_tree *t = r->tree;

	memcpy(r->totals, r->selves, t->nr * sizeof *r->totals);
	for (uint32_t i = t->nr; --i;)
		r->totals[t->nodes[i].parent] = plus(r->totals[t->nodes[i].parent], r->totals[i]);
	if (!r->totals[0])
		return;
	uint64_t least = threshold(r);
	for (uint32_t i = t->nr; --i;) {
		if (r->totals[i] > least)
			continue;
		uint32_t parent = t->nodes[i].parent;
		r->selves[parent] = plus(r->selves[parent], r->selves[i]);
		r->variances[parent] += r->variances[i];
		r->selves[i] = 0;
	}
	for (uint32_t i = 0; i < t->nr; i++) {
		if (i && r->totals[i] <= least)
			continue;
		uint32_t path = path_of(r, i);
		if (r->selves[i])
			part_add(r->profile,
			         &(struct ranks_part){path, kind, r->selves[i], r->variances[i]});
	}
}

/* The kind of time off the CPU whose path ends at @node. */
static enum af_rank_kind wait_kind(const struct af_tree *t, uint32_t node)
{
	uint32_t name = t->nodes[node].name;

	return frame_is(t, name, af_wait_frame(AF_STATE_DISK))       ? AF_RANK_DISK
	       : frame_is(t, name, af_wait_frame(AF_STATE_RUNNABLE)) ? AF_RANK_QUEUED
	                                                             : AF_RANK_WAIT;
}

/* By node: is it inside of an MPI library? */
static bool *inside_mpi(const struct af_tree *t)
{
	bool *inside = af_xcalloc(t->nr, sizeof *inside);

	for (uint32_t i = 1; i < t->nr; i++)
		inside[i] = inside[t->nodes[i].parent] ||
		            af_tree_frame(t, t->nodes[i].name) == AF_FRAME_MPI;
	return inside;
}

/*
 * The variance of n equal samples is w²/n. That of waits is the sum of their squares, as their
 * number varies by chance. Measured work has none.
 */
static double variance_of(const struct af_tree *t, uint32_t i, enum af_rank_kind kind, double ns)
{
	uint64_t samples = t->self[AF_WEIGHT_SAMPLES][i];

	if (t->self[AF_WEIGHT_OFF_CPU][i])
		return i < t->nr_squares ? t->squares[i] : 0;
	if (kind == AF_RANK_DEVICE && t->self[AF_WEIGHT_COUNT][i])
		return 0;
	return samples ? ns * ns / (double)samples : 0;
}

/* Fill the selves with the time of @kind; false when there is none. */
static bool kind_take(struct reading *r, enum af_rank_kind kind, const bool *mpi)
{
	const struct af_tree *t = r->tree;
	const uint64_t *cpu = t->self[AF_WEIGHT_TIME], *off = t->self[AF_WEIGHT_OFF_CPU];
	bool any = false;

	for (uint32_t i = 0; i < t->nr; i++) {
		bool waits = kind != AF_RANK_CPU && kind != AF_RANK_MPI && kind != AF_RANK_DEVICE;
		uint64_t ns = waits ? 0 : cpu[i];
		if (kind == AF_RANK_CPU && mpi[i])
			ns = 0;
		if (kind == AF_RANK_MPI)
			ns = mpi[i] && !r->mpi_known ? plus(cpu[i], off[i]) : 0;
		if (waits && off[i] && !mpi[i] && wait_kind(t, i) == kind)
			ns = off[i];
		r->selves[i] = ns;
		r->variances[i] = ns ? variance_of(t, i, kind, (double)ns) : 0;
		any |= ns != 0;
	}
	return any;
}

static void tree_read(struct reading *r, const struct af_tree *t, bool device)
{
	if (t->nr < 2)
		return;
	bool *mpi = inside_mpi(t);
	r->tree = t;
	r->path = af_xcalloc(t->nr, sizeof *r->path);
	memset(r->path, 0xff, t->nr * sizeof *r->path);
	r->totals = af_xcalloc(t->nr, sizeof *r->totals);
	r->selves = af_xcalloc(t->nr, sizeof *r->selves);
	r->variances = af_xcalloc(t->nr, sizeof *r->variances);
	for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
		if ((k == AF_RANK_DEVICE) == device && kind_take(r, (enum af_rank_kind)k, mpi))
			kind_keep(r, (enum af_rank_kind)k);
	free(mpi);
	free(r->path);
	free(r->totals);
	free(r->selves);
	free(r->variances);
}

/* Calls of MPI that were recorded: a path for each function. */
static void calls_read(struct reading *r, const struct af_activity *a)
{
	struct af_tree *paths = &r->all->paths;

	for (uint32_t i = 0; i < a->nr_calls; i++) {
		const char *name = *a->calls[i].name ? a->calls[i].name : "other functions of MPI";
		uint32_t id = af_tree_name(paths, name, strlen(name), AF_FRAME_MPI, 0);
		uint32_t path = af_tree_child(paths, 0, id);
		if (a->calls[i].ns)
			part_add(r->profile,
			         &(struct ranks_part){path, AF_RANK_MPI, a->calls[i].ns, 0});
	}
}

/*
 * Without --off-cpu the recorder's polls tell how long a rank waited for disks, but not where. By
 * chance their number varies as that of samples does; ranks_deviation() halves it for a wait.
 */
static void polled_read(struct reading *r, const struct af_activity *a)
{
	const char *name = af_wait_frame(AF_STATE_DISK);
	struct af_tree *paths = &r->all->paths;
	double ns = (double)a->polled_disk_ns;

	if (a->disk_polls < POLLS)
		return;
	uint32_t id = af_tree_name(paths, name, strlen(name), AF_FRAME_MARK, 0);
	part_add(r->profile,
	         &(struct ranks_part){af_tree_child(paths, 0, id), AF_RANK_DISK, a->polled_disk_ns,
	                              4 * ns * ns / (double)a->disk_polls});
}

static void bins_keep(struct af_ranks *all, struct ranks_profile *p, const struct af_activity *a)
{
	p->start_ns = a->start_ns;
	p->each_ns = a->each_ns;
	p->nr_bins = a->nr;
	p->bins = a->nr
	              ? af_arena_alloc(&all->arena, (size_t)a->nr * AF_RANK_KINDS * sizeof *p->bins)
	              : NULL;
	for (uint32_t i = 0; i < a->nr; i++)
		for (uint32_t k = 0; k < AF_RANK_KINDS; k++) {
			double parts = (double)a->ns[k][i] * 1e4 / (double)a->each_ns;
			p->bins[i * AF_RANK_KINDS + k] =
			    parts < 4e9 ? (uint32_t)(parts + 0.5) : 4000000000u;
		}
}

void ranks_profile_make(struct af_ranks *all, struct ranks_profile *p, struct af_rank *rank,
                        const struct af_results *r)
{
	const struct af_activity *a = r->query.own;
	struct reading reading = {.all = all, .profile = p, .mpi_known = a && a->nr_calls};

	tree_read(&reading, &r->trees[AF_VIEW_CPU], false);
	tree_read(&reading, &r->trees[AF_VIEW_GPU], true);
	bool has_waits = r->has[AF_VIEW_CPU] & 1u << AF_WEIGHT_OFF_CPU;
	if (a) {
		calls_read(&reading, a);
		if (!has_waits)
			polled_read(&reading, a);
		bins_keep(all, p, a);
		rank->wall_ns = a->wall_ns;
	}
	for (uint32_t i = 0; i < p->nr; i++)
		rank->kinds_ns[p->parts[i].kind] =
		    plus(rank->kinds_ns[p->parts[i].kind], p->parts[i].ns);
	all->has_waits |= has_waits;
}
