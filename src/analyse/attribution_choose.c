/* Whose are the samples of a code, of the works of one window? And the sums of it all. */
#include "analyse/attribution_private.h"
#include "analyse/code_names.h"
#include "analyse/work.h"
#include "analyse/world.h"
#include "base/arena.h"

void attribution_round(struct attribution_private *p)
{
	p->round++;
	p->nr_touched = p->nr_shares = p->nr_chosen = 0;
}

void attribution_touch(struct attribution_private *p, uint32_t job, uint64_t busy_ns,
                       uint64_t near_ns)
{
	struct attribution_seen *s = &p->seen[job];
	struct attribution_kernel *k = &p->kernels[p->kernel_of[job]];

	if (s->round != p->round) {
		if (k->round != p->round)
			*k = (struct attribution_kernel){.round = p->round};
		*s = (struct attribution_seen){.round = p->round, .next = k->first};
		k->first = job + 1;
		AF_GROW(p->touched, p->nr_touched, p->cap_touched);
		p->touched[p->nr_touched++] = job;
	}
	s->busy_ns += busy_ns;
	s->near_ns += near_ns;
}

void attribution_share(struct attribution_private *p, uint32_t job, uint64_t weight)
{
	AF_GROW(p->shares, p->nr_shares, p->cap_shares);
	p->shares[p->nr_shares++] = (struct attribution_share){job, weight};
}

/* Is it the same frame of the same stack, whatever stream it ran in? */
static bool same_path(const struct af_job *a, const struct af_job *b)
{
	return a->is.process == b->is.process && a->is.path == b->is.path &&
	       a->is.function == b->is.function && a->is.node == b->is.node &&
	       a->is.op == b->is.op && a->name == b->name;
}

struct attribution_choice attribution_among(const struct af_attribution *a, uint32_t first)
{
	struct attribution_private *p = a->private_;
	struct attribution_choice c = {.round = p->round,
	                               .first = first,
	                               .nr = p->nr_shares - first,
	                               .exact = true,
	                               .recorded = true};

	for (uint32_t i = first; i < p->nr_shares; i++) {
		c.weight += p->shares[i].weight;
		c.exact &= same_path(&a->jobs[p->shares[first].job], &a->jobs[p->shares[i].job]);
	}
	/* Works of no length are as good as one another. */
	for (uint32_t i = first; !c.weight && i < p->nr_shares; i++)
		p->shares[i].weight = 1;
	if (!c.weight)
		c.weight = c.nr;
	return c;
}

/* Shares of the jobs of kernel @k, that ran in the window or, where @near, beside it. */
static void share_kernel(struct attribution_private *p, const struct attribution_kernel *k,
                         bool near)
{
	for (uint32_t i = k->first; i; i = p->seen[i - 1].next) {
		const struct attribution_seen *s = &p->seen[i - 1];
		if (near)
			attribution_share(p, i - 1, s->near_ns);
		else if (s->busy_ns)
			attribution_share(p, i - 1, s->busy_ns);
	}
}

/* A function that kernels call: shares of those that may. */
static void share_callers(struct af_attribution *a, const struct af_world *w, uint32_t code)
{
	struct attribution_private *p = a->private_;

	for (uint32_t i = 0; a->names && i < p->nr_touched; i++) {
		uint32_t job = p->touched[i], name = a->jobs[job].name;
		if (name && p->seen[job].busy_ns &&
		    af_code_names_runs(a->names, w, code, af_strtab_get(&w->strings, name)))
			attribution_share(p, job, p->seen[job].busy_ns);
	}
}

/* Of graphs that were timed as a whole no kernel is told. */
static void share_graphs(struct af_attribution *a)
{
	struct attribution_private *p = a->private_;

	for (uint32_t i = 0; i < p->nr_touched; i++)
		if (a->jobs[p->touched[i]].is.op == AF_OP_GRAPH && p->seen[p->touched[i]].busy_ns)
			attribution_share(p, p->touched[i], p->seen[p->touched[i]].busy_ns);
}

static void choose(struct af_attribution *a, const struct af_world *w, uint32_t code,
                   struct attribution_choice *choice)
{
	struct attribution_private *p = a->private_;
	const struct af_device_code *c = &w->codes[code];
	const uint64_t *slot = c->kernel ? af_map_get(&p->by_name, c->kernel) : NULL;
	const struct attribution_kernel *k = slot ? &p->kernels[*slot] : NULL;
	uint32_t first = p->nr_shares;
	bool near = false;

	if (k && k->round == p->round) {
		share_kernel(p, k, false);
		near = p->nr_shares == first;
		if (near)
			share_kernel(p, k, true);
	}
	if (!k)
		share_callers(a, w, code);
	if (p->nr_shares == first)
		share_graphs(a);
	*choice = attribution_among(a, first);
	choice->exact &= !near;
}

struct attribution_choice *attribution_choose(struct af_attribution *a, const struct af_world *w,
                                              uint32_t code)
{
	struct attribution_private *p = a->private_;

	if (!code)
		return NULL;
	if (code >= p->nr_choices) {
		uint32_t nr = (code + 1) * 2;
		p->choices = af_xrealloc(p->choices, nr * sizeof *p->choices);
		for (uint32_t i = p->nr_choices; i < nr; i++)
			p->choices[i] = (struct attribution_choice){0};
		p->nr_choices = nr;
	}
	struct attribution_choice *choice = &p->choices[code];
	if (choice->round != p->round) {
		choose(a, w, code, choice);
		AF_GROW(p->chosen, p->nr_chosen, p->cap_chosen);
		p->chosen[p->nr_chosen++] = code;
	}
	return choice->nr ? choice : NULL;
}

static bool not_issued(const struct af_world *w, uint32_t stall)
{
	return stall && w->stalls[stall].flags & AF_STALL_NOT_ISSUED;
}

void attribution_divide_choice(struct attribution_private *p, struct attribution_choice *choice)
{
	if (choice->group)
		attribution_divide(p, choice->group - 1, choice, choice->count);
	choice->count = 0;
}

void attribution_put(struct af_attribution *a, const struct af_world *w,
                     struct attribution_choice *choice, const struct attribution_put *what)
{
	struct attribution_private *p = a->private_;
	struct af_sampled_device *d = &a->devices[what->place];
	uint32_t reason = af_world_stall_of(w, what->stall);
	bool latency = not_issued(w, what->stall);

	if (!latency)
		*(!choice->recorded ? &d->unattributed
		  : choice->exact   ? &d->exact
		                    : &d->apportioned) += what->count;
	if (!choice->group)
		choice->group = attribution_group(p, what->code, choice) + 1;
	attribution_count(p, choice->group - 1, what->offset, reason ? reason : what->stall,
	                  what->count, latency);
	choice->count += latency ? 0 : what->count;
}
