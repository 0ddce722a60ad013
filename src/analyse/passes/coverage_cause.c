/* Is much missing of what was used, and what kept samples from it? */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/coverage_private.h"

struct cause_maker {
	const struct coverage_pass *p;
	const struct af_world *w;
	const struct af_family *family;
	struct af_coverage *c;
};

/* The notes of one process, from all its images. */
struct evidence {
	uint64_t count[AF_UNSAMPLED_END], cpu_ns[AF_UNSAMPLED_END];
};

static uint64_t map_value(const struct af_map *m, uint32_t process, uint32_t what)
{
	const uint64_t *at = af_map_get(m, (uint64_t)process << 8 | what);

	return at ? *at : 0;
}

/* Losses of events, as causes; a lost sample was a period of CPU time. */
static void take_losses(const struct cause_maker *m, uint32_t process, struct evidence *e)
{
	static const struct {
		enum af_lost reason;
		enum af_unsampled cause;
	} known[] = {
	    {AF_LOST_THROTTLED, AF_UNSAMPLED_LATE},      {AF_LOST_DEBUGGER, AF_UNSAMPLED_DEBUGGER},
	    {AF_LOST_FORBIDDEN, AF_UNSAMPLED_FORBIDDEN}, {AF_LOST_RING_FULL, AF_UNSAMPLED_LOST},
	    {AF_LOST_NO_STREAM, AF_UNSAMPLED_LOST},      {AF_LOST_DISK_FULL, AF_UNSAMPLED_LOST},
	    {AF_LOST_KERNEL_RING, AF_UNSAMPLED_LOST},
	};

	for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
		uint64_t nr = map_value(&m->p->lost, process, known[i].reason);
		if (known[i].reason == AF_LOST_RING_FULL && !process)
			nr += m->w->lost[AF_LOST_RING_FULL];
		e->count[known[i].cause] += nr;
		e->cpu_ns[known[i].cause] += nr * m->c->period_ns;
	}
}

static void take_process(const struct cause_maker *m, uint32_t process, struct evidence *e)
{
	for (uint32_t i = 1; i < m->w->nr_processes; i++) {
		if (i != process && m->family->image_of[i] != process)
			continue;
		for (uint32_t cause = 1; cause < AF_UNSAMPLED_END; cause++) {
			e->count[cause] += map_value(&m->p->cause_count, i, cause);
			e->cpu_ns[cause] += map_value(&m->p->cause_ns, i, cause);
		}
		take_losses(m, i, e);
	}
}

/* Causes that keep every sample from a process, and so explain all that is missing. */
static bool is_whole(uint32_t cause)
{
	switch (cause) {
	case AF_UNSAMPLED_OTHER_USER:
	case AF_UNSAMPLED_STATIC:
	case AF_UNSAMPLED_SET_USER_ID:
	case AF_UNSAMPLED_OTHER_LIBC:
	case AF_UNSAMPLED_NOT_LOADED:
	case AF_UNSAMPLED_SAMPLER_FAILED:
	case AF_UNSAMPLED_HANDLER_REPLACED:
	case AF_UNSAMPLED_GO:
		return true;
	}
	return false;
}

/* The cause that explains most; one without a time of its own explains everything. */
static void evidence_weigh(const struct evidence *e, uint64_t missing_ns,
                           struct af_coverage_row *row)
{
	uint64_t best_ns = missing_ns / 10;

	for (uint32_t cause = 1; cause < AF_UNSAMPLED_END; cause++) {
		uint64_t ns = e->cpu_ns[cause];
		if (!e->count[cause] && !ns)
			continue;
		if (!ns && (is_whole(cause) || cause == AF_UNSAMPLED_SIGNALS_BLOCKED))
			ns = missing_ns;
		if (ns <= best_ns)
			continue;
		best_ns = ns;
		row->cause = cause;
		row->count = e->count[cause];
		row->cpu_ns = e->cpu_ns[cause];
	}
}

/* For user mode alone: samples that see no kernel are not compared with kernel time. */
static uint64_t missing_user(const struct af_coverage_row *row)
{
	return af_covered_missing(row->cpu.used_user, row->cpu.sampled_user);
}

/* The timer sees kernel time of programs that it is in; others are sampled from outside. */
static bool sees_user_only(const struct cause_maker *m, const struct af_coverage_row *row)
{
	const char *sampler = af_world_note(m->w, "collector.cpu");
	bool by_timer = sampler && !strncmp(sampler, "timer", 5);

	return !m->c->sees_kernel || (by_timer && !row->cpu.sampled_kernel);
}

static void row_cause(const struct cause_maker *m, struct af_coverage_row *row,
                      const struct evidence *e)
{
	uint64_t missing =
	    af_covered_missing(af_covered_used(&row->cpu), af_covered_sampled(&row->cpu));

	row->short_of = row->known && !row->over &&
	                af_coverage_short(af_covered_used(&row->cpu), af_covered_sampled(&row->cpu),
	                                  m->c->period_ns);
	if (!row->short_of)
		return;
	if (!row->process && !row->parent && !row->tid && row != &m->c->total)
		row->cause = AF_UNSAMPLED_NOT_LOADED;
	if (sees_user_only(m, row) && missing_user(row) < missing / 2)
		row->cause = AF_UNSAMPLED_KERNEL;
	else
		evidence_weigh(e, missing, row);
	if (!row->cause && row->parent)
		row->cause = AF_UNSAMPLED_NOT_LOADED;
}

/* Losses that nobody knows the process of count where the row is most of what there was. */
static void process_cause(const struct cause_maker *m, struct af_coverage_row *row)
{
	struct evidence e = {0};
	uint64_t used = af_covered_used(&row->cpu), all = af_covered_used(&m->c->total.cpu);

	if (!row->known || !af_coverage_short(used, af_covered_sampled(&row->cpu), m->c->period_ns))
		return;
	take_process(m, row->process ? row->process : row->parent, &e);
	if (used >= all / 2)
		take_losses(m, 0, &e);
	row_cause(m, row, &e);
}

/* For the whole: the cause of most of the time that processes lack. */
static void total_cause(const struct cause_maker *m)
{
	struct af_coverage_row *total = &m->c->total;
	struct evidence sum = {0};

	for (uint32_t i = 0; i < m->c->nr_processes; i++) {
		const struct af_coverage_row *r = &m->c->processes[i];
		if (!r->cause)
			continue;
		sum.count[r->cause]++;
		sum.cpu_ns[r->cause] +=
		    af_covered_missing(af_covered_used(&r->cpu), af_covered_sampled(&r->cpu));
	}
	row_cause(m, total, &sum);
}

/* Before causes of what is missing: who was sampled twice has kernel time to hide it behind. */
static void overs_find(struct af_coverage *c)
{
	struct af_covered sum = {0};

	for (uint32_t i = 0; i < c->nr_processes; i++) {
		struct af_coverage_row *r = &c->processes[i];
		if (!af_coverage_is_exact(r))
			continue;
		r->over = af_coverage_over(c, &r->cpu);
		af_covered_add(&sum, &r->cpu);
	}
	for (uint32_t i = 0; i < c->nr_threads; i++) {
		struct af_coverage_row *t = &c->threads[i];
		t->over = af_coverage_is_exact(t) && af_coverage_over(c, &t->cpu);
	}
	c->total.over = af_coverage_over(c, &sum);
}

void coverage_causes(const struct coverage_pass *p, const struct af_world *w,
                     const struct af_family *family, struct af_coverage *c)
{
	const struct cause_maker m = {p, w, family, c};

	if (!c->comparable)
		return;
	overs_find(c);
	for (uint32_t i = 0; i < c->nr_processes; i++)
		process_cause(&m, &c->processes[i]);
	for (uint32_t i = 0; i < c->nr_threads; i++) {
		struct af_coverage_row *t = &c->threads[i];
		struct evidence e = {0};
		if (!t->known || !af_coverage_short(af_covered_used(&t->cpu),
		                                    af_covered_sampled(&t->cpu), c->period_ns))
			continue;
		take_process(&m, t->process, &e);
		row_cause(&m, t, &e);
	}
	total_cause(&m);
}
