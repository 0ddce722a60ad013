#include "cmd/output/picture_set.h"

#include <stdlib.h>

#include "analyse/clocks/slices.h"
#include "analyse/time/timeline.h"
#include "base/arena.h"
#include "base/err.h"
#include "cmd/output/progress.h"
#include "render/timeline/slices.h"

struct set_picture {
	struct af_render *r;
	const struct af_picture_request *request;
	struct af_slices *all;
	struct af_set set;
	struct af_set_times times;
	struct af_set_slices slices;
};

static void sums_add(struct af_slices *all, const struct af_slices *one)
{
	all->nr_slices += one->nr_slices;
	all->beyond += one->beyond;
	all->crossing += one->crossing;
	all->unplaced += one->unplaced;
}

/* One that cannot be read was named when the trees were made. */
static int member_write(struct set_picture *p, uint32_t member, struct af_err *err)
{
	struct af_query query = p->request->results->query;
	const struct af_timeline_query asks = {
	    .process = UINT64_MAX, .pid = UINT64_MAX, .trees = &query};
	struct af_slices_to into = {p->request->format, p->r};
	const struct af_slices_sink sink = af_slices_sink(&into);
	struct af_timeline *t = NULL;

	if (!af_set_times_part(&p->times, member, &query.from_ns, &query.to_ns) ||
	    af_timeline_open(&t, p->set.members[member].path, &asks, NULL, NULL, NULL))
		return 0;
	struct af_slices shown = *af_timeline_slices(t);
	const struct af_slices_sink placed = af_set_slices_of(&p->slices, member, &sink);
	shown.start_ns = p->times.start_ns;
	p->r->slices = &shown;
	p->r->part = member + 1;
	int rc = af_timeline_run(t, &placed, err);
	if (rc && err && !err->code)
		af_fail(err, rc, "cannot write the timeline");
	if (p->request->format->part_end)
		p->request->format->part_end(p->r);
	sums_add(p->all, af_timeline_slices(t));
	if (!p->all->realtime.foreign_ns && !member)
		p->all->realtime = shown.realtime;
	af_timeline_close(t);
	return rc;
}

/* The members that have a timeline. */
struct members_chosen {
	bool *is; /* by member */
	uint32_t nr;
	uint64_t bytes;
};

static void member_choose(const struct set_picture *p, uint32_t member, struct members_chosen *c)
{
	if (member >= p->set.nr || c->is[member] || c->nr == AF_PICTURE_RANKS)
		return;
	uint64_t bytes = p->times.members[member].size_bytes;
	if (c->nr && c->bytes + bytes > AF_PICTURE_BYTES)
		return;
	c->is[member] = true;
	c->bytes += bytes;
	c->nr++;
}

static struct members_chosen members_choose(const struct set_picture *p)
{
	struct members_chosen c = {.is = af_xcalloc(p->set.nr + 1ull, sizeof *c.is)};
	const struct af_results *results = p->request->results;

	for (uint32_t i = 0; i < results->nr_looked_at; i++)
		member_choose(p, results->looked_at[i], &c);
	for (uint32_t i = 0; i < p->set.nr; i++)
		member_choose(p, i, &c);
	return c;
}

static int members_write(struct set_picture *p, struct af_err *err)
{
	struct af_progress progress = af_progress_begin("reading the timelines of ranks");
	struct members_chosen chosen = members_choose(p);
	int rc = 0;

	p->all->start_ns = p->times.start_ns;
	/* Trees that keep ranks apart have frames for that, which stacks in time do not have. */
	bool adds_up = chosen.nr == p->set.nr && !p->request->results->query.members_by;
	p->all->traces = adds_up ? 0 : p->set.nr;
	for (uint32_t i = 0; i < p->set.nr && !rc; i++) {
		if (chosen.is[i])
			rc = member_write(p, i, err);
		af_progress_tell(&progress, i + 1, p->set.nr);
	}
	p->r->part = 0;
	p->r->slices = p->all;
	af_progress_end(&progress);
	free(chosen.is);
	return rc;
}

int af_set_picture(struct af_render *r, const struct af_picture_request *request,
                   struct af_slices *all, struct af_err *err)
{
	struct set_picture p = {.r = r, .request = request, .all = all};
	int rc = af_set_open(&p.set, request->dir, err);

	r->label = NULL;
	if (!rc)
		rc = af_set_times_read(&p.times, &p.set, err);
	p.slices = (struct af_set_slices){.set = &p.set, .times = &p.times};
	if (!rc)
		rc = members_write(&p, err);
	af_set_slices_free(&p.slices);
	af_set_times_free(&p.times);
	af_set_close(&p.set);
	return rc;
}
