/* Times of paths with everything below them. */
#include <stdlib.h>

#include "analyse/ranks/private.h"

void ranks_sums_open(struct ranks_sums *s, const struct af_ranks *all)
{
	size_t nr_cells = (size_t)all->paths.nr * AF_RANK_KINDS;

	*s = (struct ranks_sums){.nr = all->paths.nr};
	s->ns = af_xcalloc(nr_cells, sizeof *s->ns);
	s->variance = af_xcalloc(nr_cells, sizeof *s->variance);
	s->touched = af_xcalloc(nr_cells, sizeof *s->touched);
	s->is_touched = af_xcalloc(nr_cells, sizeof *s->is_touched);
}

void ranks_sums_close(struct ranks_sums *s)
{
	free(s->ns);
	free(s->variance);
	free(s->touched);
	free(s->is_touched);
	*s = (struct ranks_sums){0};
}

void ranks_sums_clear(struct ranks_sums *s)
{
	for (uint32_t i = 0; i < s->nr_touched; i++) {
		uint32_t cell = s->touched[i];
		s->ns[cell] = s->variance[cell] = 0;
		s->is_touched[cell] = false;
	}
	s->nr_touched = 0;
}

void ranks_sums_add(struct ranks_sums *s, const struct af_ranks *all, const struct ranks_profile *p,
                    double scale)
{
	for (uint32_t i = 0; i < p->nr; i++) {
		const struct ranks_part *part = &p->parts[i];
		for (uint32_t path = part->path;; path = all->paths.nodes[path].parent) {
			uint32_t cell = ranks_cell(path, part->kind);
			if (!s->is_touched[cell]) {
				s->is_touched[cell] = true;
				s->touched[s->nr_touched++] = cell;
			}
			s->ns[cell] += (double)part->ns * scale;
			s->variance[cell] += part->variance * scale * scale;
			if (!path)
				break;
		}
	}
}
