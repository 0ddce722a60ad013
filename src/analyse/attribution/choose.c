/* Chooses which works of a window get the samples of a code, and adds them up. */
#include "analyse/attribution/private.h"
#include "analyse/world/code_names.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"
#include "base/arena.h"

void attribution_epoch(struct attribution_private *p)
{
	p->epoch++;
	p->nr_touched = p->nr_shares = p->nr_chosen = 0;
}

struct attribution_span attribution_span_of(const struct af_time_range *in, uint64_t start_ns,
                                            uint64_t end_ns)
{
	struct attribution_span span = {
	    .all_ns = end_ns - start_ns,
	    .in_range_ns = af_time_range_ns(in, start_ns, end_ns),
	};

	if (in->to_ns && start_ns < in->from_ns)
		span.before_ns = (end_ns < in->from_ns ? end_ns : in->from_ns) - start_ns;
	return span;
}

/* Sums of hostile times stop at the largest number. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void attribution_span_add(struct attribution_span *to, const struct attribution_span *more)
{
	to->all_ns = sum(to->all_ns, more->all_ns);
	to->before_ns = sum(to->before_ns, more->before_ns);
	to->in_range_ns = sum(to->in_range_ns, more->in_range_ns);
}

/* The part of @count samples in the first @upto_ns of @all_ns: none at 0, all at the end. */
static uint32_t portion_until(uint32_t count, uint64_t upto_ns, uint64_t all_ns, uint32_t phase)
{
	if (upto_ns >= all_ns)
		return count;
	unsigned __int128 part = (unsigned __int128)count * upto_ns << 32;
	return (uint32_t)((part / all_ns + phase) >> 32);
}

uint32_t attribution_portion(const struct attribution_span *span, uint32_t count, uint32_t phase)
{
	uint64_t upto_ns = sum(span->before_ns, span->in_range_ns);

	return portion_until(count, upto_ns, span->all_ns, phase) -
	       portion_until(count, span->before_ns, span->all_ns, phase);
}

void attribution_touch(struct attribution_private *p, uint32_t launch_group,
                       const struct attribution_span *busy, const struct attribution_span *near)
{
	struct attribution_seen *s = &p->seen[launch_group];
	struct attribution_kernel *k = &p->kernels[p->kernel_of[launch_group]];

	if (s->epoch != p->epoch) {
		if (k->epoch != p->epoch)
			*k = (struct attribution_kernel){.epoch = p->epoch};
		*s = (struct attribution_seen){.epoch = p->epoch, .next = k->first};
		k->first = launch_group + 1;
		AF_GROW(p->touched, p->nr_touched, p->cap_touched);
		p->touched[p->nr_touched++] = launch_group;
	}
	attribution_span_add(&s->busy, busy);
	attribution_span_add(&s->near, near);
}

void attribution_share(struct attribution_private *p, uint32_t launch_group,
                       const struct attribution_span *span)
{
	AF_GROW(p->shares, p->nr_shares, p->cap_shares);
	p->shares[p->nr_shares++] = (struct attribution_share){launch_group, *span};
}

/* Is it the same frame of the same stack, whatever stream it ran in? */
static bool same_path(const struct af_launch_group *a, const struct af_launch_group *b)
{
	return a->is.process == b->is.process && a->is.path == b->is.path &&
	       a->is.function == b->is.function && a->is.node == b->is.node &&
	       a->is.op == b->is.op && a->name == b->name;
}

struct attribution_choice attribution_among(const struct af_attribution *a, uint32_t first)
{
	struct attribution_private *p = a->private_;
	struct attribution_choice c = {.epoch = p->epoch,
	                               .first = first,
	                               .nr = p->nr_shares - first,
	                               .exact = true,
	                               .recorded = true};

	for (uint32_t i = first; i < p->nr_shares; i++) {
		attribution_span_add(&c.span, &p->shares[i].span);
		c.exact &= same_path(&a->launch_groups[p->shares[first].launch_group],
		                     &a->launch_groups[p->shares[i].launch_group]);
	}
	return c;
}

/* Shares of the launch groups of kernel @k, that ran in the window or, where @near, beside it. */
static void share_kernel(struct attribution_private *p, const struct attribution_kernel *k,
                         bool near)
{
	for (uint32_t i = k->first; i; i = p->seen[i - 1].next) {
		const struct attribution_seen *s = &p->seen[i - 1];
		if (near)
			attribution_share(p, i - 1, &s->near);
		else if (s->busy.all_ns)
			attribution_share(p, i - 1, &s->busy);
	}
}

/* A function that kernels call: shares of the kernels that may have called it. */
static void share_callers(struct af_attribution *a, const struct af_world *w, uint32_t code)
{
	struct attribution_private *p = a->private_;

	for (uint32_t i = 0; a->names && i < p->nr_touched; i++) {
		uint32_t launch_group = p->touched[i], name = a->launch_groups[launch_group].name;
		if (name && p->seen[launch_group].busy.all_ns &&
		    af_code_names_runs(a->names, w, code, af_strtab_get(&w->strings, name)))
			attribution_share(p, launch_group, &p->seen[launch_group].busy);
	}
}

/* Graphs that were timed as a whole have no kernels of their own. */
static void share_graphs(struct af_attribution *a)
{
	struct attribution_private *p = a->private_;

	for (uint32_t i = 0; i < p->nr_touched; i++)
		if (a->launch_groups[p->touched[i]].is.op == AF_OP_GRAPH &&
		    p->seen[p->touched[i]].busy.all_ns)
			attribution_share(p, p->touched[i], &p->seen[p->touched[i]].busy);
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

	if (k && k->epoch == p->epoch) {
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
	AF_REACH(p->choices, code, p->nr_choices);
	struct attribution_choice *choice = &p->choices[code];
	if (choice->epoch != p->epoch) {
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
	uint32_t count = attribution_portion(&choice->span, what->count, what->phase);

	if (!count)
		return;
	if (!latency)
		*(!choice->recorded ? &d->unattributed
		  : choice->exact   ? &d->exact
		                    : &d->apportioned) += count;
	if (what->cut && !latency) {
		d->samples += count;
		d->edge += count;
	}
	if (!choice->group)
		choice->group = attribution_group(p, what->code, choice) + 1;
	attribution_count(p, choice->group - 1, what->offset, reason ? reason : what->stall, count,
	                  latency);
	choice->count += latency ? 0 : count;
}
