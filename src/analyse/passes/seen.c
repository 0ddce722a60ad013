/*
 * Which calls of device APIs did the kernel see? Those of programs that nothing was loaded into:
 * how often each function was called in each process, and no more than that is known of them. And
 * how many it saw of those that were to be recorded in the program.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"

struct seen_row {
	uint32_t process, function;
	uint64_t count;
};

struct seen {
	struct af_map by_row;
	struct seen_row *rows;
	uint32_t nr, cap;
	uint64_t nr_twice; /* that have the number of a call */
};

static void seen_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct seen *s = self;
	struct af_call call;
	bool fresh;

	if (!af_call_seen_read(w, ev, &call))
		return;
	if (call.correlation) {
		s->nr_twice++;
		return;
	}
	uint64_t key = (uint64_t)call.process << 32 | call.function;
	uint64_t *slot = af_map_at(&s->by_row, key, &fresh);
	if (fresh) {
		AF_GROW(s->rows, s->nr, s->cap);
		s->rows[s->nr] = (struct seen_row){call.process, call.function, 0};
		*slot = s->nr++;
	}
	s->rows[*slot].count++;
}

static int row_order(const void *a, const void *b)
{
	const struct seen_row *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static void twice_finish(const struct seen *s, struct af_results *out)
{
	static const struct af_column columns[] = {AF_TWICE_COLUMNS(AF_ROW_COLUMN)};
	struct af_facts *f = &out->facts;

	if (!s->nr_twice)
		return;
	struct af_table *t = AF_TABLE(f, "calls_twice", "Calls of CUDA, seen twice", columns);
	t->note = "by libaflame and by the kernel; what was not recorded in the program has its "
		  "stack from the kernel";
	struct af_twice_row *c = af_table_row(f, t);
	c->seen.value = s->nr_twice;
	c->not_recorded.value = out->calls_seen_alone;
}

static void seen_finish(void *self, const struct af_world *w, struct af_results *out)
{
	static const struct af_column columns[] = {AF_SEEN_COLUMNS(AF_ROW_COLUMN)};
	const struct seen *s = self;
	struct af_facts *f = &out->facts;

	twice_finish(s, out);
	if (!s->nr)
		return;
	qsort(s->rows, s->nr, sizeof *s->rows, row_order);
	struct af_table *t = AF_TABLE(f, "calls_seen", "Calls of CUDA, seen from outside", columns);
	t->note = "by the kernel's probes: neither how long they took nor what devices did is "
		  "known; aflame run -- PROGRAM records both";
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct seen_row *r = &s->rows[i];
		const struct af_function *function =
		    r->function ? &w->functions[r->function] : NULL;
		const struct af_process *p = af_world_process(w, r->process);
		struct af_seen_row *c = af_table_row(f, t);
		c->function.text =
		    af_facts_text(f, "%s", function ? function->name : "[function not known]");
		c->category.text = function ? af_does_text(function->does) : "";
		c->calls.value = r->count;
		c->process.text = af_facts_text(f, "%s", p ? p->name : "");
		c->pid.value = p ? p->pid : 0;
	}
}

static void seen_close(void *self)
{
	struct seen *s = self;

	af_map_free(&s->by_row);
	free(s->rows);
}

const struct af_pass_ops af_pass_seen = {
    .name = "seen",
    .question = "which calls of device APIs did the kernel see?",
    .answers = AF_ANSWER_TABLES,
    .wants = 1ull << AF_KIND_CALL_SEEN,
    .state_size = sizeof(struct seen),
    .event = seen_event,
    .finish = seen_finish,
    .close = seen_close,
};
