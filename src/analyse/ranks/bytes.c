/* Profiles of ranks as bytes, and back. Nothing that is read is believed. */
#include <errno.h>
#include <stdlib.h>

#include "analyse/ranks/private.h"
#include "analyse/tree/bytes.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"

static void write_profile(const struct ranks_profile *p, struct af_buf *to)
{
	af_buf_leb128(to, p->nr);
	for (uint32_t i = 0; i < p->nr; i++) {
		const struct ranks_part *part = &p->parts[i];
		af_buf_leb128(to, part->path);
		af_buf_char(to, (char)part->kind);
		af_buf_leb128(to, part->ns);
		af_buf_add(to, &part->variance, sizeof part->variance);
	}
	af_buf_leb128(to, p->start_ns);
	af_buf_leb128(to, p->each_ns);
	af_buf_leb128(to, p->nr_bins);
	for (uint32_t i = 0; i < p->nr_bins * AF_RANK_KINDS; i++)
		af_buf_leb128(to, p->bins[i]);
}

void af_ranks_write(const struct af_ranks *all, struct af_buf *to)
{
	af_tree_write(&all->paths, to);
	af_buf_char(to, (char)all->has_waits);
	af_buf_leb128(to, all->nr);
	for (uint32_t i = 0; i < all->nr; i++) {
		const struct af_rank *rank = &all->ranks[i];
		af_member_write(rank->who, to);
		af_buf_leb128(to, rank->wall_ns);
		for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
			af_buf_leb128(to, rank->kinds_ns[k]);
		write_profile(&all->profiles[i], to);
	}
}

static struct ranks_part read_part(struct af_cursor *from, uint32_t nr_paths)
{
	uint64_t path = af_cursor_uleb(from), kind = af_cursor_uint(from, 1);
	struct ranks_part part = {.ns = af_cursor_uleb(from)};
	uint64_t bits = af_cursor_uint(from, sizeof part.variance);

	memcpy(&part.variance, &bits, sizeof part.variance);
	from->bad |= path >= nr_paths || kind >= AF_RANK_KINDS || !isfinite(part.variance) ||
	             part.variance < 0;
	part.path = from->bad ? 0 : (uint32_t)path;
	part.kind = from->bad ? AF_RANK_CPU : (enum af_rank_kind)kind;
	return part;
}

static void read_bins(struct af_cursor *from, struct af_ranks *all, struct ranks_profile *p)
{
	p->start_ns = af_cursor_uleb(from);
	p->each_ns = af_cursor_uleb(from);
	uint64_t nr = af_cursor_uleb(from);
	from->bad |=
	    nr > AF_ACTIVITY_BINS || (nr && (!p->each_ns || p->each_ns > UINT64_MAX / 3 / nr));
	if (from->bad || !nr)
		return;
	p->nr_bins = (uint32_t)nr;
	p->bins = af_arena_alloc(&all->arena, nr * AF_RANK_KINDS * sizeof *p->bins);
	for (uint32_t i = 0; i < nr * AF_RANK_KINDS; i++) {
		uint64_t part = af_cursor_uleb(from);
		p->bins[i] = part < UINT32_MAX ? (uint32_t)part : UINT32_MAX;
	}
}

static void read_rank(struct af_cursor *from, struct af_ranks *all)
{
	struct af_member who = {0};

	af_member_read(from, &all->arena, &who);
	if (from->bad)
		return;
	struct ranks_profile *p = ranks_new(all, &who);
	struct af_rank *rank = &all->ranks[all->nr - 1];
	rank->wall_ns = af_cursor_uleb(from);
	for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
		rank->kinds_ns[k] = af_cursor_uleb(from);
	uint64_t nr = af_cursor_uleb(from);
	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		struct ranks_part part = read_part(from, all->paths.nr);
		AF_GROW(p->parts, p->nr, p->cap);
		p->parts[p->nr++] = part;
	}
	read_bins(from, all, p);
}

/* The ranks of @later come behind those of @all. Paths are made in the order of the ranks. */
static void ranks_join(struct af_ranks *all, const struct af_ranks *later)
{
	uint32_t *path = af_ranks_paths_join(&all->paths, &later->paths);

	for (uint32_t r = 0; r < later->nr; r++) {
		const struct ranks_profile *from = &later->profiles[r];
		struct ranks_profile *p = ranks_new(all, later->ranks[r].who);
		struct af_rank *rank = &all->ranks[all->nr - 1];
		rank->wall_ns = later->ranks[r].wall_ns;
		memcpy(rank->kinds_ns, later->ranks[r].kinds_ns, sizeof rank->kinds_ns);
		for (uint32_t i = 0; i < from->nr; i++) {
			AF_GROW(p->parts, p->nr, p->cap);
			p->parts[p->nr] = from->parts[i];
			p->parts[p->nr++].path = path[from->parts[i].path];
		}
		size_t bins = (size_t)from->nr_bins * AF_RANK_KINDS * sizeof *p->bins;
		p->start_ns = from->start_ns;
		p->each_ns = from->each_ns;
		p->nr_bins = from->nr_bins;
		p->bins = bins ? af_arena_alloc(&all->arena, bins) : NULL;
		if (bins)
			memcpy(p->bins, from->bins, bins);
	}
	all->has_waits |= later->has_waits;
	free(path);
}

int af_ranks_read(struct af_ranks *all, const void *data, size_t size, struct af_err *err)
{
	struct af_cursor c = {data, (const uint8_t *)data + size, false};
	struct af_ranks *later = af_ranks_open();

	int rc = af_tree_read(&later->paths, &c, err);
	later->has_waits = !rc && af_cursor_uint(&c, 1) != 0;
	uint64_t nr = rc ? 0 : af_cursor_uleb(&c);
	for (uint64_t i = 0; i < nr && !c.bad; i++)
		read_rank(&c, later);
	if (!rc && c.bad)
		rc = af_fail_plain(err, -EBADMSG, "the ranks of another process are damaged");
	if (!rc)
		ranks_join(all, later);
	af_ranks_close(later);
	return rc;
}
