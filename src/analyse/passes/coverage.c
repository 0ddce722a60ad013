/* How much of the CPU time that processes and threads used do samples stand for? */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/coverage_private.h"
#include "analyse/world/device_name.h"
#include "base/arena.h"

enum { IMAGES_MAX = 1 << 20 };

static struct coverage_image *image_at(struct coverage_pass *p, uint32_t process)
{
	static _Thread_local struct coverage_image none;

	if (process >= IMAGES_MAX)
		return &none;
	AF_REACH(p->images, process, p->nr_images);
	return &p->images[process];
}

static struct coverage_thread *thread_at(struct coverage_pass *p, uint32_t process, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = af_map_at(&p->by_thread, (uint64_t)process << 32 | tid, &fresh);

	if (fresh) {
		AF_GROW(p->threads, p->nr_threads, p->cap_threads);
		p->threads[p->nr_threads] =
		    (struct coverage_thread){.process = process, .tid = tid};
		*slot = p->nr_threads++;
	}
	return &p->threads[*slot];
}

static void coverage_sample(void *self, const struct af_world *w, const struct af_sample *s)
{
	struct coverage_pass *p = self;
	struct coverage_image *image = image_at(p, s->at.process);
	struct coverage_thread *thread = thread_at(p, s->at.process, s->tid);

	(void)w;
	p->kernel_seen |= s->in_kernel;
	if (s->in_kernel) {
		image->sampled_kernel += s->weight_ns;
		thread->cpu.sampled_kernel += s->weight_ns;
	} else {
		image->sampled_user += s->weight_ns;
		thread->cpu.sampled_user += s->weight_ns;
	}
	if (s->weight_ns && (!p->least_ns || s->weight_ns < p->least_ns))
		p->least_ns = s->weight_ns;
}

/* All of these only grow: of several that measured, whoever came last knows most. */
static void children_used(struct coverage_image *image, uint64_t user_ns, uint64_t kernel_ns)
{
	if (user_ns + kernel_ns <= image->children_user + image->children_kernel)
		return;
	image->children_user = user_ns;
	image->children_kernel = kernel_ns;
}

static void thread_used(struct coverage_thread *t, uint32_t source, uint64_t user_ns,
                        uint64_t kernel_ns)
{
	if (t->known && user_ns + kernel_ns <= af_covered_used(&t->cpu))
		return;
	t->known = true;
	t->source = source;
	t->cpu.used_user = user_ns;
	t->cpu.used_kernel = kernel_ns;
}

static void take_usage(struct coverage_pass *p, const struct af_ev_usage *u)
{
	if (u->whose == AF_USAGE_CHILDREN && !u->process) {
		p->tree.used_user = u->user_ns;
		p->tree.used_kernel = u->kernel_ns;
		p->has_tree = true;
	} else if (u->whose == AF_USAGE_CHILDREN) {
		children_used(image_at(p, u->process), u->user_ns, u->kernel_ns);
	} else if (u->whose == AF_USAGE_OWN && u->tid) {
		thread_used(thread_at(p, u->process, u->tid), u->source, u->user_ns, u->kernel_ns);
	}
}

static uint64_t cause_key(uint32_t process, uint32_t cause)
{
	return (uint64_t)process << 8 | (cause & 0xff);
}

static void coverage_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct coverage_pass *p = self;
	struct af_ev_usage usage;
	struct af_ev_unsampled cause;
	struct af_ev_lost lost;

	(void)w;
	switch (ev->kind) {
	case AF_KIND_USAGE:
		if (af_event_decode(ev, &usage, sizeof usage, NULL))
			take_usage(p, &usage);
		break;
	case AF_KIND_UNSAMPLED:
		if (!af_event_decode(ev, &cause, sizeof cause, NULL))
			break;
		*af_map_at(&p->cause_count, cause_key(cause.process, cause.cause), NULL) +=
		    cause.count;
		*af_map_at(&p->cause_ns, cause_key(cause.process, cause.cause), NULL) +=
		    cause.cpu_ns;
		break;
	case AF_KIND_LOST:
		if (af_event_decode(ev, &lost, sizeof lost, NULL))
			*af_map_at(&p->lost, cause_key(ev->process, lost.reason), NULL) +=
			    lost.count;
		break;
	case AF_KIND_SUMMED:
		p->summed = true;
		break;
	}
}

static void samples_add(struct coverage_pass *p, const struct coverage_pass *from)
{
	for (uint32_t i = 0; i < from->nr_images; i++) {
		struct coverage_image *image = image_at(p, i);
		image->sampled_user += from->images[i].sampled_user;
		image->sampled_kernel += from->images[i].sampled_kernel;
		children_used(image, from->images[i].children_user,
		              from->images[i].children_kernel);
	}
	for (uint32_t i = 0; i < from->nr_threads; i++) {
		const struct coverage_thread *t = &from->threads[i];
		struct coverage_thread *to = thread_at(p, t->process, t->tid);
		to->cpu.sampled_user += t->cpu.sampled_user;
		to->cpu.sampled_kernel += t->cpu.sampled_kernel;
		if (t->known)
			thread_used(to, t->source, t->cpu.used_user, t->cpu.used_kernel);
	}
}

static bool coverage_merge(void *self, const struct af_world *w, const void *other)
{
	const struct coverage_pass *from = other;
	struct coverage_pass *p = self;

	(void)w;
	samples_add(p, from);
	af_map_add(&p->cause_count, &from->cause_count);
	af_map_add(&p->cause_ns, &from->cause_ns);
	af_map_add(&p->lost, &from->lost);
	if (from->least_ns && (!p->least_ns || from->least_ns < p->least_ns))
		p->least_ns = from->least_ns;
	if (from->has_tree)
		p->tree = from->tree;
	p->has_tree |= from->has_tree;
	p->summed |= from->summed;
	p->kernel_seen |= from->kernel_seen;
	return true;
}

/* Used is of all the time that a process lived; samples may be of a part. */
static const char *why_not(const struct coverage_pass *p, const struct af_world *w)
{
	const struct af_query *query = w->time_range.query;

	if (query->from_ns || query->to_ns || query->tid || query->device || query->range)
		return "only a part of the run is shown, and CPU time used is known of all of it";
	if (w->lost[AF_LOST_PAUSED])
		return "recording was off for a part of the run, and CPU time used is known of all "
		       "of it";
	if (w->lost[AF_LOST_OLDEST])
		return "older samples gave way to newer ones, as --ring asks";
	if (af_world_samples_waits(w))
		return "samples count time by the wall clock, waits included";
	return p->summed ? "another profiler added up the samples" : NULL;
}

static void coverage_total(struct af_coverage *c)
{
	struct af_covered *t = &c->total.cpu;

	for (uint32_t i = 0; i < c->nr_processes; i++) {
		const struct af_covered *of = &c->processes[i].cpu;
		if (!c->processes[i].known)
			continue;
		af_covered_add(t, of);
		c->total.known = true;
	}
}

static int row_order(const void *a, const void *b)
{
	const struct af_coverage_row *x = a, *y = b;
	uint64_t x_ns = af_covered_missing(af_covered_used(&x->cpu), af_covered_sampled(&x->cpu)),
		 y_ns = af_covered_missing(af_covered_used(&y->cpu), af_covered_sampled(&y->cpu));

	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	/* A thread whose process became another image. */
	x_ns = af_covered_used(&x->cpu);
	y_ns = af_covered_used(&y->cpu);
	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	x_ns = af_covered_sampled(&x->cpu);
	y_ns = af_covered_sampled(&y->cpu);
	return x_ns < y_ns ? 1 : x_ns > y_ns ? -1 : 0;
}

/* @row_of has rows as they were before they were sorted: by process they are found again. */
static void rows_find(struct af_coverage *c, uint32_t *row_of, uint32_t nr_images,
                      const struct af_family *family)
{
	uint32_t *at = af_xcalloc((size_t)nr_images + 1, sizeof *at);

	for (uint32_t i = 0; i < c->nr_processes; i++)
		if (c->processes[i].process < nr_images)
			at[c->processes[i].process] = i + 1;
	for (uint32_t i = 1; i < nr_images; i++)
		row_of[i] = row_of[i] ? at[family->image_of[i]] : 0;
	free(at);
	c->row_of = row_of;
	c->nr_images = nr_images;
}

static void rows_sort(struct af_coverage_row *rows, uint32_t nr)
{
	AF_SORT(rows, nr, row_order);
}

/* Ordinals that are processes: by their own word, or by what somebody saw them do. */
static bool *processes_there(const struct coverage_pass *p, const struct af_world *w)
{
	bool *there = af_xcalloc((size_t)w->nr_processes + 1, sizeof *there);

	for (uint32_t i = 1; i < w->nr_processes; i++)
		there[i] = w->processes[i].has_usage || w->processes[i].start_ns;
	for (uint32_t i = 0; i < p->nr_threads; i++)
		if (p->threads[i].process < w->nr_processes)
			there[p->threads[i].process] = true;
	there[0] = false;
	return there;
}

static const char *process_text(const struct af_world *w, struct af_tables *f, uint32_t process)
{
	const struct af_process *is = af_world_process(w, process);

	return is ? af_tables_text(f, "%s [%u]", *is->name ? is->name : "[unknown process]",
	                           is->pid)
	          : "[unknown process]";
}

enum { LAUNCHES_LEAST = 10 };

static bool is_short(uint64_t of, uint64_t nr)
{
	return of >= LAUNCHES_LEAST && (double)nr * 100 < (double)of * AF_COVERAGE_PERCENT;
}

/* The rows of one process and API, from @l on: launches without work have no device of their own.
 */
static uint32_t launches_short(struct af_coverage_launches *l, uint32_t nr_left, bool goes_on)
{
	uint64_t calls = 0, joined = 0;
	uint32_t nr = 0;

	for (; nr < nr_left && l[nr].process == l->process && l[nr].api == l->api; nr++) {
		calls += l[nr].calls;
		joined += l[nr].joined;
	}
	/* Launches that are under way are no loss. */
	for (uint32_t i = 0; i < nr; i++)
		l[i].short_of = !goes_on && is_short(calls, joined) && l[i].calls > l[i].joined;
	return nr;
}

static void launches_check(const struct coverage_pass *p, struct af_coverage *c,
                           const struct af_world *w, struct af_tables *f)
{
	bool goes_on = af_world_note(w, "snapshot") && !af_world_note(w, "end.status");

	for (uint32_t i = 0; i < c->nr_launches;)
		i += launches_short(&c->launches[i], c->nr_launches - i, goes_on);
	for (uint32_t i = 0; i < c->nr_launches; i++) {
		struct af_coverage_launches *l = &c->launches[i];
		const uint64_t *dropped =
		    af_map_get(&p->lost, cause_key(l->process, AF_LOST_DROPPED));
		l->text = process_text(w, f, l->process);
		l->device_text = l->device ? af_device_name(f, w, l->process, l->device) : "";
		l->dropped = dropped ? *dropped : 0;
		l->short_of_times = is_short(l->works, l->works - l->untimed);
	}
}

static void row_name(struct af_coverage_row *r, const struct af_world *w, struct af_tables *f)
{
	const struct af_process *is = af_world_process(w, r->process);
	const struct af_thread *thread = r->tid ? af_world_thread(w, r->process, r->tid) : NULL;

	r->name = is ? af_tables_text(f, "%s", is->name) : "";
	if (r->tid)
		r->text = af_tables_text(f, "%s %u of %s",
		                         thread && *thread->name ? thread->name : r->name, r->tid,
		                         process_text(w, f, r->process));
	else if (r->process)
		r->text = process_text(w, f, r->process);
	else if (r->parent)
		r->text = af_tables_text(f, "[not recorded, started by %s]",
		                         process_text(w, f, r->parent));
	else
		r->text = "[not recorded]";
	if (!r->process)
		r->name = r->text;
}

static void rows_name(struct af_coverage *c, const struct af_world *w, struct af_tables *f)
{
	for (uint32_t i = 0; i < c->nr_processes; i++)
		row_name(&c->processes[i], w, f);
	for (uint32_t i = 0; i < c->nr_threads; i++)
		row_name(&c->threads[i], w, f);
	c->total.name = c->total.text = "all processes";
}

static double stolen_share(const struct af_world *w)
{
	const char *permille = af_world_note(w, "stolen.permille");
	unsigned long share = permille ? strtoul(permille, NULL, 10) : 0;

	return (share < 900 ? (double)share : 900) / 1000;
}

static void coverage_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct coverage_pass *p = self;
	struct af_coverage *c = &out->coverage;
	struct af_family family;
	const char *sampler = af_world_note(w, "collector.cpu"),
		   *period = af_world_note(w, "sample.period_ns");
	bool *there = processes_there(p, w);
	uint64_t *busy = af_xcalloc((size_t)w->nr_processes + 1, sizeof *busy);
	uint32_t *row_of = af_xcalloc((size_t)w->nr_processes + 1, sizeof *row_of);

	if (p->nr_images < w->nr_processes)
		image_at(p, w->nr_processes);
	c->why_not = why_not(p, w);
	c->sees_kernel = !sampler || strncmp(sampler, "perf", 4) != 0 || p->kernel_seen;
	c->stolen = stolen_share(w);
	c->period_ns = period ? strtoull(period, NULL, 10) : p->least_ns;
	af_family_make(&family, w, there, busy);
	coverage_used(p, w, &family, c, row_of);
	coverage_total(c);
	c->tree_ns = p->has_tree ? af_covered_used(&p->tree) : 0;
	/* A trace that another profiler made says of no process what it used. */
	c->comparable = !c->why_not && sampler && strncmp(sampler, "off", 3) != 0 &&
	                strncmp(sampler, "no CPU", 6) != 0 && c->total.known;
	coverage_causes(p, w, &family, c);
	rows_name(c, w, &out->tables);
	launches_check(p, c, w, &out->tables);
	rows_sort(c->processes, c->nr_processes);
	rows_sort(c->threads, c->nr_threads);
	rows_find(c, row_of, w->nr_processes, &family);
	af_coverage_tables(c, &out->tables);
	memcpy(out->lost, w->lost, sizeof out->lost);
	af_family_free(&family);
	free(busy);
	free(there);
}

static void coverage_close(void *self)
{
	struct coverage_pass *p = self;

	free(p->images);
	free(p->threads);
	af_map_free(&p->by_thread);
	af_map_free(&p->cause_count);
	af_map_free(&p->cause_ns);
	af_map_free(&p->lost);
}

const struct af_pass_ops af_pass_coverage = {
    .name = "coverage",
    .question = "how much of what was used was sampled?",
    .answers = AF_ANSWER_TABLES | AF_ANSWER_TOP | AF_ANSWER_COVERAGE,
    .wants = 1ull << AF_KIND_USAGE | 1ull << AF_KIND_UNSAMPLED | 1ull << AF_KIND_LOST |
             1ull << AF_KIND_SUMMED,
    .state_size = sizeof(struct coverage_pass),
    .event = coverage_event,
    .sample = coverage_sample,
    .merge = coverage_merge,
    .finish = coverage_finish,
    .close = coverage_close,
};
