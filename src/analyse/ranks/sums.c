/* Times of paths with everything below them. */
#include <stdlib.h>

#include "analyse/ranks/private.h"

void ranks_sums_open(struct ranks_sums *s, const struct af_ranks *all)
{
	size_t places = (size_t)all->paths.nr * AF_RANK_KINDS;

	*s = (struct ranks_sums){.nr = all->paths.nr};
	s->ns = af_xcalloc(places, sizeof *s->ns);
	s->variance = af_xcalloc(places, sizeof *s->variance);
	s->touched = af_xcalloc(places, sizeof *s->touched);
	s->is_touched = af_xcalloc(places, sizeof *s->is_touched);
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
		uint32_t place = s->touched[i];
		s->ns[place] = s->variance[place] = 0;
		s->is_touched[place] = false;
	}
	s->nr_touched = 0;
}

void ranks_sums_add(struct ranks_sums *s, const struct af_ranks *all, const struct ranks_profile *p,
                    double scale)
{
	for (uint32_t i = 0; i < p->nr; i++) {
		const struct ranks_part *part = &p->parts[i];
		for (uint32_t path = part->path;; path = all->paths.nodes[path].parent) {
			uint32_t place = ranks_place(path, part->kind);
			if (!s->is_touched[place]) {
				s->is_touched[place] = true;
				s->touched[s->nr_touched++] = place;
			}
			s->ns[place] += (double)part->ns * scale;
			s->variance[place] += part->variance * scale * scale;
			if (!path)
				break;
		}
	}
}
