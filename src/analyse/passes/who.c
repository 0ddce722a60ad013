/* The processes as a family, with what each used, and the threads with their samples and waits. */
#include <stdlib.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/who.h"
#include "analyse/world/family.h"
#include "analyse/world/waits.h"

struct who_use *who_use(struct who *who, uint32_t process, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = af_map_at(&who->by_thread, (uint64_t)process << 32 | tid, &fresh);

	if (fresh) {
		AF_GROW(who->threads, who->nr, who->cap);
		who->threads[who->nr] = (struct who_thread){.process = process, .tid = tid};
		*slot = who->nr++;
	}
	return &who->threads[*slot].use;
}

static void who_sample(void *self, const struct af_world *w, const struct af_sample *s)
{
	struct who *who = self;
	struct who_use *use = who_use(who, s->at.process, s->tid);

	use->sampled_ns += s->weight_ns;
	use->untimed |= s->counted;
	if (!s->in_kernel)
		return;
	use->kernel_ns += s->weight_ns;
	if (s->at.kstack != AF_KSTACK_MISSED)
		who->stacks_ns += s->weight_ns;
}

static void who_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct who *who = self;
	struct af_wait wait;
	struct af_ev_summed sum;

	if (ev->kind == AF_KIND_SUMMED && af_event_decode(ev, &sum, sizeof sum, NULL)) {
		struct who_use *use = who_use(who, ev->process, ev->tid);
		use->sampled_ns += sum.busy_ns;
		use->blocked_ns += sum.off_cpu_ns;
		use->untimed |= !sum.busy_ns;
	}
	if (ev->kind == AF_KIND_WAKE)
		*af_map_at(&who->wakers, ev->process, NULL) = 1;
	if (!af_wait_read(w, ev, &wait))
		return;
	struct who_use *use = who_use(who, wait.at.process, wait.tid);
	use->blocked_ns += wait.blocked_ns;
	use->queued_ns += wait.queued_ns;
	use->waits += !wait.blocked_out_of_range;
}

void who_use_add(struct who_use *to, const struct who_use *u)
{
	to->sampled_ns += u->sampled_ns;
	to->kernel_ns += u->kernel_ns;
	to->blocked_ns += u->blocked_ns;
	to->queued_ns += u->queued_ns;
	to->waits += u->waits;
	to->untimed |= u->untimed;
}

static bool who_merge(void *self, const struct af_world *w, const void *other)
{
	const struct who *from = other;
	struct who *who = self;

	(void)w;
	for (uint32_t i = 0; i < from->nr; i++) {
		const struct who_thread *t = &from->threads[i];
		who_use_add(who_use(who, t->process, t->tid), &t->use);
	}
	for (size_t i = 0; i < from->wakers.cap; i++)
		if (from->wakers.slots[i].used)
			*af_map_at(&who->wakers, from->wakers.slots[i].key, NULL) = 1;
	who->stacks_ns += from->stacks_ns;
	return true;
}

/* CPU time by ordinal, whoever knows more of it. */
static uint64_t *processes_busy(const struct who *who, const struct af_world *w,
                                const struct af_coverage *c)
{
	uint64_t *busy = af_xcalloc((size_t)w->nr_processes + 1, sizeof *busy);

	for (uint32_t i = 0; i < who->nr; i++)
		if (who->threads[i].process < w->nr_processes)
			busy[who->threads[i].process] += who->threads[i].use.sampled_ns;
	for (uint32_t i = 0; i < c->nr_processes; i++) {
		const struct af_coverage_row *r = &c->processes[i];
		if (r->known && af_covered_used(&r->cpu) > busy[r->process])
			busy[r->process] = af_covered_used(&r->cpu);
	}
	busy[0] = 0;
	return busy;
}

static void who_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct who *who = self;
	bool *there = af_xcalloc((size_t)w->nr_processes + 1, sizeof *there);

	/* A process that only woke others was not recorded. */
	for (uint32_t p = 1; p < w->nr_processes; p++)
		there[p] = w->processes[p].has_usage ||
		           (w->processes[p].start_ns && !af_map_get(&who->wakers, p));
	for (uint32_t i = 0; i < who->nr; i++)
		if (who->threads[i].process < w->nr_processes)
			there[who->threads[i].process] = true;
	for (uint32_t p = w->nr_processes; p-- > 1;)
		if (there[p] && w->processes[p].parent < w->nr_processes)
			there[w->processes[p].parent] = true;
	there[0] = false;
	uint64_t *busy = processes_busy(who, w, &out->coverage);
	struct af_family family;
	af_family_make(&family, w, there, busy);
	who_processes(who, w, there, &family, out);
	who_threads(who, w, &family, &out->tables);
	af_family_free(&family);
	free(busy);
	free(there);
}

static void who_close(void *self)
{
	struct who *who = self;

	af_map_free(&who->by_thread);
	af_map_free(&who->wakers);
	free(who->threads);
}

const struct af_pass_ops af_pass_who = {
    .name = "who",
    .question = "who was there?",
    .answers = AF_ANSWER_TABLES,
    .wants = 1ull << AF_KIND_OFFCPU | 1ull << AF_KIND_WAKE | 1ull << AF_KIND_SUMMED,
    .state_size = sizeof(struct who),
    .event = who_event,
    .sample = who_sample,
    .merge = who_merge,
    .finish = who_finish,
    .close = who_close,
};
