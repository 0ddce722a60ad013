#include "exchange/events/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/builder.h"
#include "exchange/events/event.h"

/* The next value as an id of @s->ids: a number or a text. 0: it is neither. */
static bool take_id(struct import_stacks *s, struct af_json *j, uint32_t *id)
{
	enum af_json_token token = af_json_next(j);

	*id = 0;
	if (token != AF_JSON_NUMBER && token != AF_JSON_STRING)
		return af_json_skip(j, token);
	*id = af_strtab_id(&s->ids, j->text, j->len);
	return true;
}

static bool take_frame(struct import_stacks *s, struct af_json *j, struct af_builder *d,
                       uint32_t id)
{
	struct import_stack_frame frame = {0};
	enum af_json_token token = af_json_next(j);
	char name[AF_JSON_TEXT_MAX + 1];
	size_t len = 0;

	if (token != AF_JSON_OBJECT)
		return af_json_skip(j, token);
	while ((token = af_json_next(j)) == AF_JSON_KEY) {
		bool read = import_is(j, "name")
		                ? import_take_text(j, name, sizeof name, &len,
		                                   &d->unused[AF_BUILDER_TEXTS_UNUSED])
		            : import_is(j, "parent") ? take_id(s, j, &frame.parent)
		                                     : af_json_skip(j, af_json_next(j));
		if (!read)
			return false;
	}
	frame.name = af_builder_name(d, len ? name : "[unnamed]", len ? len : 9);
	AF_GROW(s->frames, s->nr_frames, s->cap_frames);
	*af_map_at(&s->by_id, id, NULL) = s->nr_frames;
	s->frames[s->nr_frames++] = frame;
	return token == AF_JSON_OBJECT_END;
}

bool import_stacks_frames(struct import_stacks *s, struct af_json *j, struct af_builder *d)
{
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_OBJECT)
		return af_json_skip(j, token);
	while ((token = af_json_next(j)) == AF_JSON_KEY)
		if (!take_frame(s, j, d, af_strtab_id(&s->ids, j->text, j->len)))
			return false;
	return token == AF_JSON_OBJECT_END;
}

static bool take_sample(struct import_stacks *s, struct af_json *j, struct af_builder *d)
{
	struct import_number ts = {0}, tid = {0}, cpu = {0}, weight = {0};
	struct import_stack_sample sample = {0};
	enum af_json_token token;

	while ((token = af_json_next(j)) == AF_JSON_KEY) {
		bool read = import_is(j, "ts")       ? import_take_number(j, 3, &ts)
		            : import_is(j, "tid")    ? import_take_number(j, 0, &tid)
		            : import_is(j, "cpu")    ? import_take_number(j, 0, &cpu)
		            : import_is(j, "weight") ? import_take_number(j, 0, &weight)
		            : import_is(j, "sf")     ? take_id(s, j, &sample.frame)
		                                     : af_json_skip(j, af_json_next(j));
		if (!read)
			return false;
	}
	if (!ts.given || ts.value < 0 || !import_fits(&tid)) {
		d->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return token == AF_JSON_OBJECT_END;
	}
	sample.ns = (uint64_t)ts.value;
	sample.tid = import_u32(&tid);
	sample.cpu = import_u32(&cpu);
	sample.weight = import_fits(&weight) && weight.value ? (uint64_t)weight.value : 1;
	if (af_builder_times(d, sample.ns, 0)) {
		AF_GROW(s->samples, s->nr, s->cap);
		s->samples[s->nr++] = sample;
	}
	return token == AF_JSON_OBJECT_END;
}

bool import_stacks_samples(struct import_stacks *s, struct af_json *j, struct af_builder *d)
{
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_ARRAY)
		return af_json_skip(j, token);
	while ((token = af_json_next(j)) != AF_JSON_ARRAY_END)
		if (token == AF_JSON_OBJECT ? !take_sample(s, j, d) : !af_json_skip(j, token))
			return false;
	return true;
}

/* The stack that ends in the frame @id; what goes round in a circle is cut where it gets deep. */
static uint32_t stack_of(struct import_stacks *s, struct af_builder *d, uint32_t id)
{
	uint32_t path[AF_BUILDER_DEPTH], nr = 0, node = 0;
	uint64_t *at;

	while (id && nr < AF_BUILDER_DEPTH && (at = af_map_get(&s->by_id, id))) {
		struct import_stack_frame *f = &s->frames[*at];
		if (f->node) {
			node = f->node;
			break;
		}
		path[nr++] = (uint32_t)*at;
		id = f->parent;
	}
	if (id && !node && nr < AF_BUILDER_DEPTH)
		d->unused[AF_BUILDER_FRAMES_UNUSED]++;
	d->unused[AF_BUILDER_DEPTH_UNUSED] += nr == AF_BUILDER_DEPTH;
	while (nr > 0) {
		/* cppcheck-suppress uninitvar ; the first @nr are set */
		struct import_stack_frame *f = &s->frames[path[--nr]];
		node = f->node = af_builder_node(d, node, f->name, AF_BUILDER_NATIVE);
	}
	return node;
}

/* The threads of the file by their tids: a sample does not say of which process its thread is. */
static struct af_map threads_of(const struct af_builder *d, uint32_t space)
{
	struct af_map by_tid = {0};

	for (uint32_t i = 0; i < d->nr_threads; i++)
		if (d->processes[d->threads[i].process].space == space)
			*af_map_at(&by_tid, d->threads[i].tid, NULL) = i;
	return by_tid;
}

static uint32_t thread_of(struct af_builder *d, const struct af_map *by_tid, uint32_t space,
                          uint32_t tid)
{
	const uint64_t *known = af_map_get(by_tid, tid);

	return known ? (uint32_t)*known
	             : af_builder_thread(d, af_builder_process(d, space, tid), tid);
}

static int sample_order(const void *a, const void *b)
{
	const struct import_stack_sample *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

static int order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* How far two of a thread mostly are apart; 0: no thread has two. */
static uint64_t gap_of(const struct import_stacks *s)
{
	uint64_t *gaps = af_xcalloc(s->nr + 1, sizeof *gaps), nr = 0;

	for (uint64_t i = 1; i < s->nr; i++)
		if (s->samples[i].tid == s->samples[i - 1].tid)
			gaps[nr++] = s->samples[i].ns - s->samples[i - 1].ns;
	AF_SORT(gaps, nr, order);
	uint64_t gap = nr ? gaps[nr / 2] : 0;
	free(gaps);
	return gap;
}

bool import_stacks_finish(struct import_stacks *s, struct af_builder *d, uint32_t space)
{
	bool any = s->nr != 0;
	uint32_t thread = UINT32_MAX;

	if (any)
		AF_SORT(s->samples, s->nr, sample_order);
	uint64_t gap_ns = gap_of(s);
	struct af_map by_tid = threads_of(d, space);
	for (uint64_t i = 0; i < s->nr; i++) {
		const struct import_stack_sample *at = &s->samples[i];
		uint64_t weight_ns;
		if (!i || at->tid != at[-1].tid)
			thread = thread_of(d, &by_tid, space, at->tid);
		if (thread == UINT32_MAX)
			continue;
		if (__builtin_mul_overflow(gap_ns, at->weight, &weight_ns))
			weight_ns = gap_ns;
		af_builder_sample(d, &(struct af_builder_sample){.time_ns = at->ns,
		                                                 .weight_ns = weight_ns,
		                                                 .thread = thread,
		                                                 .node = stack_of(s, d, at->frame),
		                                                 .cpu = at->cpu});
	}
	if (gap_ns)
		af_builder_note(d, "import.weights",
		                "a sample is %llu ns, the median distance of a thread's samples",
		                (unsigned long long)gap_ns);
	af_strtab_free(&s->ids);
	af_map_free(&s->by_id);
	af_map_free(&by_tid);
	free(s->frames);
	free(s->samples);
	*s = (struct import_stacks){0};
	return any;
}
