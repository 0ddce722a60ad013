/*
 * Why devices were idle is the same if a trace is read in parts. Programs that nobody wrote launch
 * work, wait and are sampled; their records come late, and borders of parts lie anywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/idle/idle.h"
#include "analyse/pass/pass.h"
#include "analyse/world/waits.h"
#include "base/buf.h"

enum { EVENTS = 4000, PARTS = 5, THREADS = 3, DEVICES = 2, LAUNCH = 1, SYNC = 2 };

/* One of the events, and when the reader comes to it. */
struct record {
	enum { IS_CALL, IS_WAIT, IS_TICK, IS_WORK } is;
	uint32_t nr;
	uint64_t time_ns, call_ns; /* call: of a work's launch, which is read then */
	struct af_call call;
	struct af_wait wait;
	struct af_sample tick;
	struct af_work work;
};

struct script {
	struct af_world world;
	struct af_work_descriptor descriptors[1 + THREADS]; /* a queue of each thread */
	struct af_function functions[3];
	struct af_path paths[16];
	struct record records[EVENTS];
	uint32_t nr;
	uint64_t seed, end_ns, late_ns;
};

static uint64_t any(struct script *s, uint64_t below)
{
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	return (s->seed >> 33) % below;
}

static struct record *record(struct script *s, uint64_t time_ns)
{
	struct record *r = &s->records[s->nr++];

	*r = (struct record){.nr = s->nr, .time_ns = time_ns};
	s->end_ns = time_ns > s->end_ns ? time_ns : s->end_ns;
	return r;
}

static void call(struct script *s, uint32_t thread, uint32_t function, uint64_t start_ns,
                 uint64_t end_ns)
{
	struct record *r = record(s, end_ns);

	r->is = IS_CALL;
	r->call = (struct af_call){.process = 1,
	                           .tid = 10 + thread,
	                           .path = 1 + thread,
	                           .function = function,
	                           .start_ns = start_ns,
	                           .end_ns = end_ns};
}

static void tick(struct script *s, uint32_t thread, uint64_t time_ns)
{
	struct record *r = record(s, time_ns);

	r->is = IS_TICK;
	r->tick = (struct af_sample){
	    .time_ns = time_ns,
	    .weight_ns = 40,
	    .tid = 10 + thread,
	    .at = {.process = 1, .path = 4 + (uint32_t)any(s, 4), .kstack = (uint32_t)any(s, 3)}};
}

static void blocked(struct script *s, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
	struct record *r = record(s, end_ns);

	r->is = IS_WAIT;
	r->wait = (struct af_wait){.at = {.process = 1, .path = 8 + thread, .kstack = 1},
	                           .tid = 10 + thread,
	                           .blocked_at_ns = start_ns,
	                           .blocked_ns = end_ns - start_ns};
}

static uint64_t launch(struct script *s, uint32_t thread, uint64_t start_ns, uint64_t *device_ns)
{
	uint64_t end_ns = start_ns + 5 + any(s, 30), ready_ns = end_ns + any(s, 50);
	uint64_t busy_ns = 10 + any(s, 90);

	*device_ns = ready_ns > *device_ns ? ready_ns : *device_ns;
	struct record *r = record(s, *device_ns + busy_ns + any(s, s->late_ns));
	r->is = IS_WORK;
	r->call_ns = end_ns;
	r->work = (struct af_work){.process = 1,
	                           .descriptor = 1 + thread,
	                           .tid = 10 + thread,
	                           .path = 1 + thread,
	                           .function = LAUNCH,
	                           .placed_ns = *device_ns,
	                           .start_ns = *device_ns,
	                           .end_ns = *device_ns + busy_ns,
	                           .call_start_ns = start_ns,
	                           .call_end_ns = end_ns,
	                           .launched = true};
	*device_ns += any(s, 4) ? busy_ns : busy_ns / 2; /* in two queues */
	call(s, thread, LAUNCH, start_ns, end_ns);
	return end_ns;
}

static void thread_run(struct script *s, uint32_t thread, uint32_t steps)
{
	uint64_t now_ns = 1000 + any(s, 100), device_ns = 0, outer_ns = 0;
	uint32_t inner = 0;

	for (uint32_t n = 0; n < steps; n++) {
		if (outer_ns && !--inner) {
			call(s, thread, 0, outer_ns, now_ns + 1);
			outer_ns = 0;
			now_ns += 2;
		} else if (!outer_ns && !any(s, 60)) {
			outer_ns = now_ns;
			inner = 1 + (uint32_t)any(s, s->seed % 2 ? 2 : 8);
		}
		uint64_t next_ns = now_ns + 20 + any(s, 200);
		if (!any(s, 3))
			tick(s, thread, now_ns + any(s, next_ns - now_ns));
		if (!any(s, 5))
			blocked(s, thread, now_ns + 2, next_ns - 2);
		now_ns = launch(s, thread, next_ns, &device_ns);
		if (any(s, 3) || now_ns >= device_ns)
			continue;
		call(s, thread, SYNC, now_ns, device_ns + 10);
		now_ns = device_ns + 10;
	}
}

static uint64_t joined_ns(const struct record *r)
{
	return r->call_ns > r->time_ns ? r->call_ns : r->time_ns;
}

static int record_order(const void *a, const void *b)
{
	const struct record *x = a, *y = b;
	uint64_t x_ns = joined_ns(x), y_ns = joined_ns(y);

	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

static void script_make(struct script *s, uint64_t seed)
{
	memset(s, 0, sizeof *s);
	s->seed = seed;
	s->late_ns = seed % 3 ? 300 : 2000;
	for (uint32_t k = 0; k < THREADS; k++)
		s->descriptors[1 + k] =
		    (struct af_work_descriptor){.process = 1,
		                                .device = 1 + k % DEVICES,
		                                .is = {.op = AF_OP_KERNEL, .queue = k}};
	for (uint32_t k = 0; k < 16; k++)
		s->paths[k].process = 1;
	s->functions[SYNC].category = AF_CATEGORY_SYNC;
	s->world.descriptors = s->descriptors;
	s->world.nr_descriptors = 1 + THREADS;
	s->world.functions = s->functions;
	s->world.paths = s->paths;
	s->world.first_ns = 900;
	for (uint32_t k = 0; k < THREADS; k++)
		thread_run(s, k, 100 + (uint32_t)any(s, 200));
	qsort(s->records, s->nr, sizeof *s->records, record_order);
}

static void feed(struct idle *i, const struct af_world *w, const struct record *r)
{
	if (r->is == IS_CALL)
		idle_call(i, &r->call);
	else if (r->is == IS_WAIT)
		idle_wait(i, &r->wait, r->time_ns);
	else if (r->is == IS_TICK)
		af_pass_idle.sample(i, w, &r->tick);
	else
		af_pass_idle.work(i, w, &r->work);
}

static int line_order(const void *a, const void *b)
{
	return strcmp(a, b);
}

enum { LINES = 3000, LINE = 200 };

static void line_sum(const struct idle *i, const struct af_world *w, const struct idle_sum *sum,
                     char *line)
{
	const struct idle_story *s = &i->stories[sum->story];
	struct af_stack_location at = {0};

	if (sum->place)
		at = idle_location(i, w, sum->place);
	snprintf(line, LINE, "sum %u of %u by %u %u %u: %u at %u %u %u: %llu of %llu %llu",
	         s->phase, i->devices[s->device].id, s->tid, s->drained, s->is_long, sum->kind,
	         at.path, at.kstack, sum->what, (unsigned long long)sum->ns,
	         (unsigned long long)s->left_ns, (unsigned long long)s->sampled_ns);
}

static void line_gap(const struct idle *i, const struct af_world *w, const struct idle_gap *gap,
                     char *line)
{
	int len =
	    snprintf(line, LINE, "gap of %u at %llu: %llu by %u", i->devices[gap->device].id,
	             (unsigned long long)gap->start_ns, (unsigned long long)gap->end_ns, gap->tid);

	for (uint32_t k = 0; k < gap->nr_causes && k < 4; k++) {
		const struct idle_cause *c = &gap->causes[k];
		len += snprintf(line + len, LINE - (size_t)len, ", %u %u %llu", c->kind,
		                c->place ? idle_location(i, w, c->place).path : 0,
		                (unsigned long long)c->ns);
	}
}

/* All that is shown of @i, which is freed. */
static char *results(struct script *s, struct idle *i)
{
	char(*lines)[LINE] = calloc(LINES, LINE);
	struct af_buf b = {0};
	uint32_t nr = 0;

	assert_true(i->nr_sums + i->nr_longest + DEVICES <= LINES);
	s->world.last_ns = s->end_ns;
	af_pass_idle.end(i, &s->world);
	for (uint32_t k = 0; k < i->nr_sums; k++)
		line_sum(i, &s->world, &i->sums[k], lines[nr++]);
	for (uint32_t k = 0; k < i->nr_longest; k++)
		line_gap(i, &s->world, &i->longest[k], lines[nr++]);
	for (uint32_t k = 0; k < i->nr_devices; k++) {
		const struct idle_device *d = &i->devices[k];
		snprintf(lines[nr++], LINE, "device %u %u: %llu in %llu %llu, %llu %llu %llu", k,
		         d->id, (unsigned long long)d->nr_works, (unsigned long long)d->busy_ns,
		         (unsigned long long)d->kernels_ns, (unsigned long long)d->nr_gaps,
		         (unsigned long long)d->phase_ns[IDLE_BETWEEN],
		         (unsigned long long)d->phase_ns[IDLE_AFTER]);
	}
	qsort(lines, nr, LINE, line_order);
	for (uint32_t k = 0; k < nr; k++)
		af_buf_fmt(&b, "%s\n", lines[k]);
	free(lines);
	af_pass_idle.close(i);
	return b.data;
}

static char *in_one(struct script *s)
{
	struct idle *i = calloc(1, sizeof *i);

	for (uint32_t n = 0; n < s->nr; n++)
		feed(i, &s->world, &s->records[n]);
	char *text = results(s, i);
	free(i);
	return text;
}

static uint32_t part_of(uint64_t time_ns, const uint64_t *from_ns)
{
	uint32_t part = 0;

	while (part + 1 < PARTS && time_ns >= from_ns[part + 1])
		part++;
	return part;
}

/* NULL: it is known that they cannot be added. */
static char *in_parts(struct script *s, uint32_t *bodies)
{
	struct idle *all = calloc(PARTS + 1, sizeof *all);
	uint64_t from_ns[PARTS] = {0};
	bool fine = true;

	for (uint32_t k = 1; k < PARTS; k++)
		from_ns[k] = 900 + (s->end_ns - 900) / PARTS * k + any(s, 2000);
	for (uint32_t k = 0; k < PARTS && fine; k++) {
		struct idle *part = &all[k + 1];
		struct af_world w = s->world;
		w.in_part = true;
		w.part_from_ns = from_ns[k];
		w.part_to_ns = k + 1 < PARTS ? from_ns[k + 1] : UINT64_MAX;
		for (uint32_t n = 0; n < s->nr; n++) {
			const struct record *r = &s->records[n];
			uint32_t at = part_of(r->time_ns, from_ns);
			uint32_t called = r->is == IS_WORK ? part_of(r->call_ns, from_ns) : at;
			if ((at > called ? at : called) == k)
				feed(at == called ? part : all, at == called ? &w : &s->world, r);
		}
		af_pass_idle.merge(part, &w, NULL);
		*bodies += part->body;
		fine = af_pass_idle.merge(all, &s->world, part);
	}
	for (uint32_t k = 1; k <= PARTS; k++)
		af_pass_idle.close(&all[k]);
	char *text = fine ? results(s, all) : NULL;
	if (!fine)
		af_pass_idle.close(all);
	free(all);
	return text;
}

static void parts_of_a_trace_are_idle_for_the_same_reasons(void **state)
{
	struct script *s = calloc(1, sizeof *s);
	uint32_t added = 0, bodies = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		script_make(s, seed);
		char *whole = in_one(s), *parts = in_parts(s, &bodies);
		if (parts)
			assert_string_equal(parts, whole);
		added += parts != NULL;
		free(whole);
		free(parts);
	}
	free(s);
	print_message("%u of 200 were added; %u parts were settled by themselves\n", added, bodies);
	assert_true(added > 100 && bodies > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parts_of_a_trace_are_idle_for_the_same_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
