/* Chooses which works of a window get the samples of a code, and adds them up. */
#include <string.h>

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

uint32_t af_attribution_interval(const struct af_world *w, uint64_t time_ns, uint64_t apart_ns)
{
	uint64_t start_ns = w->time_range.start_ns;
	/* A window that ends with an interval is of it. */
	uint64_t since_ns = time_ns > start_ns ? time_ns - start_ns - 1 : 0;
	uint64_t interval = since_ns / apart_ns;

	return interval < UINT32_MAX ? (uint32_t)interval : UINT32_MAX;
}

void attribution_at(struct af_attribution *a, const struct af_world *w, uint64_t time_ns)
{
	struct attribution_private *p = a->private_;

	if (!a->apart_ns)
		return;
	while (attribution_sums_many(p) && p->last_interval && a->apart_ns <= UINT64_MAX / 2) {
		attribution_sums_widen(p);
		a->apart_ns *= 2;
		p->last_interval /= 2;
	}
	p->interval = af_attribution_interval(w, time_ns, a->apart_ns);
	if (p->interval > p->last_interval)
		p->last_interval = p->interval;
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
void attribution_span_add(struct attribution_span *to, const struct attribution_span *more)
{
	to->all_ns = attribution_later(to->all_ns, more->all_ns);
	to->before_ns = attribution_later(to->before_ns, more->before_ns);
	to->in_range_ns = attribution_later(to->in_range_ns, more->in_range_ns);
}

/* The part of @count samples in the first @upto_ns of @all_ns: none at 0, all at the end. */
static uint32_t portion_until(uint32_t count, uint64_t upto_ns, uint64_t all_ns, uint32_t phase)
{
	if (upto_ns >= all_ns)
		return count;
	if (!upto_ns)
		return 0;
	unsigned __int128 part = (unsigned __int128)count * upto_ns << 32;
	return (uint32_t)((part / all_ns + phase) >> 32);
}

uint32_t attribution_portion(const struct attribution_span *span, uint32_t count, uint32_t phase)
{
	uint64_t upto_ns = attribution_later(span->before_ns, span->in_range_ns);

	if (span->in_range_ns == span->all_ns)
		return count;
	return portion_until(count, upto_ns, span->all_ns, phase) -
	       portion_until(count, span->before_ns, span->all_ns, phase);
}

void attribution_touch(struct attribution_private *p, uint32_t launch_group,
                       const struct attribution_ran *ran)
{
	struct attribution_seen *s = &p->seen[launch_group];
	struct attribution_kernel *k = &p->kernels[p->kernel_of[launch_group]];

	if (s->epoch != p->epoch) {
		if (k->epoch != p->epoch)
			k->first = 0;
		k->epoch = p->epoch;
		*s = (struct attribution_seen){.epoch = p->epoch, .next = k->first};
		k->first = launch_group + 1;
		AF_GROW(p->touched, p->nr_touched, p->cap_touched);
		p->touched[p->nr_touched++] = launch_group;
	}
	attribution_span_add(&s->ran.busy, &ran->busy);
	attribution_span_add(&s->ran.near, &ran->near);
	attribution_span_add(&s->ran.launched, &ran->launched);
}

void attribution_share(struct attribution_private *p, uint32_t launch_group,
                       const struct attribution_span *span)
{
	AF_GROW(p->shares, p->nr_shares, p->cap_shares);
	p->shares[p->nr_shares++] = (struct attribution_share){launch_group, 0, *span};
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

/* By what shares are: in this order, and the next one only where there are none. */
enum share_by { BY_TIME, BY_LAUNCHES, BY_NEAR, BY_END };

static const struct attribution_span *span_by(const struct attribution_seen *s, enum share_by by)
{
	return by == BY_TIME ? &s->ran.busy : by == BY_LAUNCHES ? &s->ran.launched : &s->ran.near;
}

/* Shares of the launch groups of kernel @k that ran in the window or, BY_NEAR, beside it. */
static void share_kernel(struct attribution_private *p, const struct attribution_kernel *k,
                         enum share_by by)
{
	for (uint32_t i = k->first; i; i = p->seen[i - 1].next) {
		const struct attribution_span *span = span_by(&p->seen[i - 1], by);
		if (span->all_ns)
			attribution_share(p, i - 1, span);
	}
}

/* A function that kernels call: shares of the kernels that may have called it. */
static void share_callers(struct af_attribution *a, const struct af_world *w, uint32_t code,
                          enum share_by by)
{
	struct attribution_private *p = a->private_;

	for (uint32_t i = 0; a->names && i < p->nr_touched; i++) {
		uint32_t launch_group = p->touched[i];
		const struct af_launch_group *g = &a->launch_groups[launch_group];
		const struct attribution_span *span = span_by(&p->seen[launch_group], by);
		if (g->name && span->all_ns && g->is.process == w->codes[code].process &&
		    af_code_names_runs(a->names, w, code, af_strtab_get(&w->strings, g->name)))
			attribution_share(p, launch_group, span);
	}
}

/* Does the launch group run @code as one of a batch, under another name? */
static bool batch_runs(const struct af_world *w, const struct af_launch_group *g, uint32_t code)
{
	return g->is.op == AF_OP_KERNEL && g->name != w->codes[code].kernel &&
	       af_world_batch_runs(w, g->is.process, g->is.kernel, code);
}

/* Batches that were timed as a whole, and run the code: their shares, beside its own kernel's. */
static void share_batches(const struct af_attribution *a, const struct af_world *w, uint32_t code,
                          enum share_by by)
{
	struct attribution_private *p = a->private_;

	for (uint32_t i = 0; w->by_kernel_code.nr && i < p->nr_touched; i++) {
		const struct attribution_span *span = span_by(&p->seen[p->touched[i]], by);
		if (span->all_ns && batch_runs(w, &a->launch_groups[p->touched[i]], code))
			attribution_share(p, p->touched[i], span);
	}
}

/* Batches without times: it may be any of them. */
static void share_batches_always(const struct af_attribution *a, const struct af_world *w,
                                 uint32_t code)
{
	struct attribution_private *p = a->private_;

	for (uint32_t i = 0; w->by_kernel_code.nr && i < a->nr_launch_groups; i++)
		if (p->always[i].launched.all_ns && batch_runs(w, &a->launch_groups[i], code))
			attribution_share(p, i, &p->always[i].launched);
}

/* Graphs that were timed as a whole have no kernels of their own. */
static void share_graphs(struct af_attribution *a, uint32_t process)
{
	struct attribution_private *p = a->private_;

	for (uint32_t i = 0; i < p->nr_touched; i++) {
		const struct af_launch_group *g = &a->launch_groups[p->touched[i]];
		const struct attribution_span *busy = &p->seen[p->touched[i]].ran.busy;
		if (g->is.op == AF_OP_GRAPH && g->is.process == process && busy->all_ns)
			attribution_share(p, p->touched[i], busy);
	}
}

/* Launches of the kernel whose times nobody knows: it may be any of them. */
static void share_always(struct attribution_private *p, const struct attribution_kernel *k)
{
	for (uint32_t i = k->always; i; i = p->always[i - 1].next)
		if (p->always[i - 1].launched.all_ns)
			attribution_share(p, i - 1, &p->always[i - 1].launched);
}

/* Did all launches of the kernel come by one path? */
static bool one_path(const struct af_attribution *a, const struct attribution_kernel *k)
{
	const struct attribution_always *always = a->private_->always;
	bool one = true;

	for (uint32_t i = k->always; i; i = always[i - 1].next)
		one &= same_path(&a->launch_groups[k->always - 1], &a->launch_groups[i - 1]);
	return one;
}

/* Shares of the kernel @k, NULL when nothing is known of it. Returns what they are by. */
static enum share_by share_all(struct af_attribution *a, const struct af_world *w, uint32_t code,
                               const struct attribution_kernel *k)
{
	struct attribution_private *p = a->private_;
	uint32_t first = p->nr_shares, by;

	for (by = BY_TIME; by < BY_END; by++) {
		if (k && k->epoch == p->epoch)
			share_kernel(p, k, by);
		else if (!k && by < BY_NEAR)
			share_callers(a, w, code, by);
		share_batches(a, w, code, by);
		if (p->nr_shares > first)
			return by;
	}
	share_graphs(a, w->codes[code].process);
	if (p->nr_shares > first || !p->last)
		return BY_TIME;
	if (k)
		share_always(p, k);
	share_batches_always(a, w, code);
	return p->nr_shares > first ? BY_LAUNCHES : BY_TIME;
}

static void choose(struct af_attribution *a, const struct af_world *w, uint32_t code,
                   struct attribution_choice *choice)
{
	struct attribution_private *p = a->private_;
	const struct af_device_code *c = &w->codes[code];
	const uint64_t *slot =
	    c->kernel ? af_map_get(&p->by_name, (uint64_t)c->process << 32 | c->kernel) : NULL;
	const struct attribution_kernel *k = slot ? &p->kernels[*slot] : NULL;
	uint32_t first = p->nr_shares;

	enum share_by by = share_all(a, w, code, k);
	*choice = attribution_among(a, first);
	choice->launches = by == BY_LAUNCHES;
	choice->near = by == BY_NEAR;
	/* When works without times ran is not known, so it may have been any of them. */
	choice->exact &= by == BY_TIME || (by == BY_LAUNCHES && k && one_path(a, k));
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

/* The shares of @from again; of several, those by launches have none if others have times. */
static void alias_share(struct attribution_private *p, const struct attribution_choice *from,
                        uint32_t member, bool timed)
{
	for (uint32_t i = 0; i < from->nr && from->launches == !timed; i++) {
		AF_GROW(p->shares, p->nr_shares, p->cap_shares);
		p->shares[p->nr_shares] = p->shares[from->first + i];
		p->shares[p->nr_shares++].member = member;
	}
}

uint32_t attribution_choose_alias(struct af_attribution *a, const struct af_world *w,
                                  const struct attribution_alias_code *codes, uint32_t nr)
{
	struct attribution_private *p = a->private_;
	bool fresh, timed = false, several = false;
	uint64_t *slot = af_keys_at(&p->by_alias, codes, nr * sizeof *codes, &fresh);

	if (fresh) {
		AF_ROOM(p->alias_codes, (size_t)p->nr_alias_codes + nr, p->cap_alias_codes);
		memcpy(p->alias_codes + p->nr_alias_codes, codes, nr * sizeof *codes);
		AF_GROW(p->aliases, p->nr_aliases, p->cap_aliases);
		p->aliases[p->nr_aliases] = (struct attribution_alias){p->nr_alias_codes, nr, {0}};
		p->nr_alias_codes += nr;
		*slot = p->nr_aliases++;
	}
	struct attribution_alias *alias = &p->aliases[*slot];
	if (alias->choice.epoch == p->epoch)
		return (uint32_t)*slot;
	for (uint32_t i = 0; i < nr; i++) {
		timed |= !p->choices[codes[i].code].launches;
		several |= w->codes[codes[i].code].process != w->codes[codes[0].code].process;
	}
	uint32_t first = p->nr_shares;
	for (uint32_t i = 0; i < nr; i++)
		alias_share(p, &p->choices[codes[i].code], alias->first + i, timed);
	alias->choice = attribution_among(a, first);
	alias->choice.exact = false;
	alias->choice.launches = !timed;
	alias->choice.shared = several;
	AF_GROW(p->chosen, p->nr_chosen, p->cap_chosen);
	p->chosen[p->nr_chosen++] = (uint32_t)*slot | ATTRIBUTION_ALIAS;
	return (uint32_t)*slot;
}

void attribution_alias_member(const struct attribution_private *p, uint32_t member,
                              struct af_attributed *f)
{
	const struct attribution_alias_code *c = &p->alias_codes[member];

	f->code = c->code;
	f->offset -= c->base;
	if (c->is_32)
		f->offset = (uint32_t)f->offset;
}

void attribution_divide_all(struct attribution_private *p)
{
	for (uint32_t i = 0; i < p->nr_chosen; i++)
		attribution_divide_choice(p, attribution_choice_of(p, p->chosen[i]));
}

struct attribution_reason attribution_reason(const struct af_world *w, uint32_t stall)
{
	uint32_t issued = af_world_stall_of(w, stall);

	return (struct attribution_reason){
	    .stall = issued ? issued : stall,
	    .latency = stall && w->stalls[stall].flags & AF_STALL_NOT_ISSUED,
	    .known = true,
	};
}

/* @count more samples of @d are joined. @cut: of a window that crosses an end of the time range. */
static void device_joined(struct af_sampled_device *d, const struct attribution_choice *choice,
                          bool cut, uint64_t count)
{
	*(!choice->recorded ? &d->unattributed
	  : choice->exact   ? &d->exact
	                    : &d->apportioned) += count;
	if (!choice->exact) {
		d->by_launches += choice->launches ? count : 0;
		d->shared += choice->shared ? count : 0;
	}
	if (cut) {
		d->samples += count;
		d->edge += count;
	}
}

void attribution_joined_all(struct attribution_private *p, struct af_sampled_device *d, bool cut)
{
	for (uint32_t i = 0; i < p->nr_chosen; i++) {
		const struct attribution_choice *choice = attribution_choice_of(p, p->chosen[i]);
		device_joined(d, choice, cut, choice->count);
	}
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
	const struct attribution_reason reason = attribution_reason(w, what->stall);
	uint32_t count = attribution_portion(&choice->span, what->count, what->phase);

	if (!count)
		return;
	if (!reason.latency)
		device_joined(&a->devices[what->place], choice, what->cut, count);
	if (!choice->group)
		choice->group = attribution_group(p, what->code, choice) + 1;
	const struct attribution_sampled one = {
	    .offset = what->offset,
	    .group = choice->group - 1,
	    .stall = reason.stall,
	    .count = count,
	    .latency = reason.latency,
	};
	attribution_count(p, &one, 1);
	choice->count += reason.latency ? 0 : count;
}
