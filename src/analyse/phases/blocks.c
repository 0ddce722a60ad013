/*
 * The calls of a run as they come, and blocks of them by call path. Thousands of paths take turns,
 * so a call that went to its path at once would miss the cache. What was put into blocks is shared:
 * adding a part of the trace to those before copies none of it.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/phases/blocks.h"
#include "base/arena.h"

/* Calls of a block; blocks that are kept before their calls are put to the paths. */
enum { BLOCK_CALLS = 1 << 16, BLOCKS_MOST = 256 };

/* The times of the path p are those from starts[p] to starts[p + 1]. */
struct phase_block {
	uint32_t refs, nr_paths;
	uint64_t first_ns, last_ns; /* of all */
	uint64_t *at_ns;
	uint32_t starts[];
};

static struct phase_path *path_at(struct phase_calls *c, uint32_t path)
{
	AF_REACH(c->paths, path, c->cap);
	if (path >= c->nr)
		c->nr = path + 1;
	return &c->paths[path];
}

static void blocks_free(struct phase_calls *c)
{
	for (uint32_t i = 0; i < c->nr_blocks; i++) {
		struct phase_block *b = c->blocks[i];
		if (--b->refs)
			continue;
		free(b->at_ns);
		free(b);
	}
	c->nr_blocks = 0;
}

static void path_keep(const struct phase_block *b, uint32_t path, struct phase_times *t)
{
	if (path < b->nr_paths)
		phase_times_keep(t, b->at_ns + b->starts[path],
		                 b->starts[path + 1] - b->starts[path]);
}

void phase_calls_load(struct phase_calls *c, struct phase_path *p)
{
	if (p->loaded)
		return;
	for (uint32_t i = 0; i < c->nr_blocks; i++)
		path_keep(c->blocks[i], p->path, &p->calls);
	phase_times_sort(&p->calls);
	p->loaded = true;
}

static uint64_t block_between(const struct phase_block *b, uint32_t path, uint64_t from_ns,
                              uint64_t to_ns)
{
	uint64_t nr = 0;

	if (path >= b->nr_paths || b->last_ns < from_ns || b->first_ns > to_ns)
		return 0;
	if (b->first_ns >= from_ns && b->last_ns <= to_ns)
		return b->starts[path + 1] - b->starts[path];
	for (uint32_t i = b->starts[path]; i < b->starts[path + 1]; i++)
		nr += b->at_ns[i] >= from_ns && b->at_ns[i] <= to_ns;
	return nr;
}

uint64_t phase_calls_between(struct phase_calls *c, struct phase_path *p, uint64_t from_ns,
                             uint64_t to_ns)
{
	const struct phase_times *calls = &p->calls;
	uint64_t nr = 0;

	if (calls->first_ns >= from_ns && calls->last_ns <= to_ns)
		return calls->nr;
	if (!calls->kept && calls->nr <= PHASE_TIMES_MOST) {
		for (uint32_t i = 0; i < c->nr_blocks; i++)
			nr += block_between(c->blocks[i], p->path, from_ns, to_ns);
		return nr;
	}
	phase_calls_load(c, p);
	nr = phase_times_before(calls, to_ns + 1) - phase_times_before(calls, from_ns);
	return calls->kept ? (uint64_t)((unsigned __int128)calls->nr * nr / calls->kept) : 0;
}

/* Too many blocks: of the times of one path not all are kept. */
static void blocks_put(struct phase_calls *c)
{
	for (uint32_t p = 0; p < c->nr; p++)
		for (uint32_t i = 0; i < c->nr_blocks; i++)
			path_keep(c->blocks[i], p, &c->paths[p].calls);
	blocks_free(c);
}

static void block_add(struct phase_calls *c, struct phase_block *b)
{
	if (c->nr_blocks == BLOCKS_MOST)
		blocks_put(c);
	AF_GROW(c->blocks, c->nr_blocks, c->cap_blocks);
	c->blocks[c->nr_blocks++] = b;
	b->refs++;
}

/* How many calls each path has in the block, as starts; the paths of the log are there. */
static void block_count(struct phase_calls *c, struct phase_block *b)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < c->nr_log; i++)
		if (!b->starts[c->log[i].path]++)
			c->paths[c->log[i].path].process = c->log[i].process;
	for (uint32_t p = 0; p <= b->nr_paths; p++) {
		uint32_t calls = b->starts[p];
		b->starts[p] = before;
		before += calls;
	}
}

static void block_fill(struct phase_calls *c, struct phase_block *b)
{
	for (uint32_t i = 0; i < c->nr_log; i++)
		b->at_ns[b->starts[c->log[i].path]++] = c->log[i].ns;
	/* Each is where the next one starts now. */
	memmove(b->starts + 1, b->starts, b->nr_paths * sizeof *b->starts);
	b->starts[0] = 0;
	struct phase_times all = {0};
	for (uint32_t p = 0; p < b->nr_paths; p++) {
		const uint64_t *at_ns = b->at_ns + b->starts[p];
		uint32_t nr = b->starts[p + 1] - b->starts[p];
		phase_times_count(&c->paths[p].calls, at_ns, nr);
		phase_times_count(&all, at_ns, nr);
	}
	b->first_ns = all.first_ns;
	b->last_ns = all.last_ns;
}

/* A block has an entry for each path: few calls of many paths are put to them one by one. */
static void log_put_singly(struct phase_calls *c)
{
	for (uint32_t i = 0; i < c->nr_log; i++) {
		struct phase_path *p = &c->paths[c->log[i].path];
		p->process = c->log[i].process;
		phase_times_add(&p->calls, c->log[i].ns);
	}
}

static void log_put(struct phase_calls *c)
{
	uint32_t nr_paths = 0;

	for (uint32_t i = 0; i < c->nr_log; i++)
		nr_paths = c->log[i].path >= nr_paths ? c->log[i].path + 1 : nr_paths;
	if (nr_paths)
		path_at(c, nr_paths - 1);
	if (nr_paths > c->nr_log) {
		log_put_singly(c);
	} else if (nr_paths) {
		struct phase_block *b =
		    af_xcalloc(1, sizeof *b + ((size_t)nr_paths + 1) * sizeof *b->starts);
		b->nr_paths = nr_paths;
		b->at_ns = af_xrealloc(NULL, c->nr_log * sizeof *b->at_ns);
		block_count(c, b);
		block_fill(c, b);
		block_add(c, b);
	}
	c->nr_log = 0;
}

void phase_calls_add(struct phase_calls *c, uint32_t process, uint32_t path, uint64_t ns)
{
	if (c->nr_log == BLOCK_CALLS)
		log_put(c);
	AF_GROW(c->log, c->nr_log, c->cap_log);
	c->log[c->nr_log++] = (struct phase_call){process, path, ns};
}

void phase_calls_merge(struct phase_calls *c, const struct phase_calls *from)
{
	for (uint32_t p = 0; p < from->nr; p++) {
		if (!from->paths[p].calls.nr)
			continue;
		struct phase_path *path = path_at(c, p);
		path->process = from->paths[p].process;
		phase_times_merge(&path->calls, &from->paths[p].calls);
	}
	/* Calls in order need no sorting. */
	log_put(c);
	for (uint32_t i = 0; i < from->nr_blocks; i++)
		block_add(c, from->blocks[i]);
	for (uint32_t i = 0; i < from->nr_log; i++)
		phase_calls_add(c, from->log[i].process, from->log[i].path, from->log[i].ns);
}

void phase_calls_end(struct phase_calls *c)
{
	uint32_t nr = 0;

	log_put(c);
	for (uint32_t p = 0; p < c->nr; p++) {
		if (!c->paths[p].calls.nr)
			continue;
		struct phase_path path = c->paths[nr];
		c->paths[nr] = c->paths[p];
		c->paths[nr++].path = p;
		c->paths[p] = path;
	}
	c->nr = nr;
}

void phase_calls_free(struct phase_calls *c)
{
	blocks_free(c);
	for (uint32_t i = 0; i < c->cap; i++)
		free(c->paths[i].calls.at_ns);
	free(c->paths);
	free(c->blocks);
	free(c->log);
}
