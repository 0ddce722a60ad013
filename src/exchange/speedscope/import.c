/*
 * Speedscope's files. Each profile is a thread of one process. In sampled ones whose unit is time
 * the stacks stand one after the other, so each sample has a moment; evented ones are spans, and
 * their time is wall-clock time. Of other units only sums are known. What aflame wrote has sums
 * too, the process as the outermost frame, and what was summed behind the profile's name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/source/sniff.h"
#include "exchange/source/source.h"
#include "exchange/source/whole.h"
#include "exchange/speedscope/file.h"
#include "exchange/text/weights.h"

struct open_frame {
	uint32_t frame;
	uint64_t start;
};

struct import_speedscope {
	struct af_builder *builder;
	uint32_t space, nr_threads;
	bool ours;
	uint32_t reported; /* which kinds of values were reported already */
	/* of the profile */
	uint32_t thread;
	struct import_value_type type;
	int power; /* of a number, to be one of the type */
	struct open_frame *open;
	uint32_t nr_open, cap_open;
};

/* False, and counted: it is not there, or cannot be. */
static bool number_get(struct import_speedscope *in, const struct speedscope_number *n,
                       uint64_t *value)
{
	int64_t v;

	if (!n->len || !af_json_fixed(n->text, n->len, in->power, &v) || v < 0) {
		in->builder->unused[AF_BUILDER_VALUES_UNUSED]++;
		return false;
	}
	const char *point = memchr(n->text, '.', n->len);
	bool exponent = memchr(n->text, 'e', n->len) || memchr(n->text, 'E', n->len);
	uint32_t digits = point ? (uint32_t)(n->text + n->len - point - 1) : 0;
	while (digits && point[digits] == '0')
		digits--;
	if (!exponent && digits > (uint32_t)in->power)
		in->builder->unused[AF_BUILDER_FRACTIONS_UNUSED]++;
	*value = (uint64_t)v;
	return true;
}

static const struct af_builder_frame_of *frame_get(struct import_speedscope *in,
                                                   const struct speedscope_file *f, uint32_t index)
{
	if (index < f->nr_frames)
		return &f->frames[index];
	in->builder->unused[AF_BUILDER_FRAMES_UNUSED]++;
	return NULL;
}

static uint32_t stack_node(struct import_speedscope *in, const struct speedscope_file *f,
                           const uint32_t *frames, uint32_t nr)
{
	uint32_t node = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct af_builder_frame_of *frame = frame_get(in, f, frames[i]);
		if (frame)
			node = af_builder_node_of(in->builder, node, frame);
	}
	return node;
}

static void sum_add(struct import_speedscope *in, uint32_t node, uint64_t value)
{
	struct af_builder_sum sum = {.thread = in->thread, .node = node};

	if (value > INT64_MAX)
		return;
	import_weight_add(in->builder, &sum, &in->type, (int64_t)value);
	if (value)
		af_builder_sum(in->builder, &sum);
}

/* The thread of a process that is the outermost frame. */
static void root_thread(struct import_speedscope *in, uint32_t name)
{
	struct af_builder *d = in->builder;
	uint32_t process = af_builder_process(d, in->space, name);

	d->processes[process].exe = name;
	in->thread = af_builder_thread(d, process, name);
}

static void take_sampled(struct import_speedscope *in, const struct speedscope_file *f,
                         const struct speedscope_profile *p)
{
	bool timed = in->type.weight == IMPORT_WEIGHT_TIME && !in->ours;
	uint64_t now = 0, value;

	if (timed && p->start.len && !number_get(in, &p->start, &now))
		return;
	for (uint64_t i = 0; i < p->nr_samples; i++) {
		uint32_t nr = p->samples[i].nr;
		const uint32_t *frames = nr ? p->frames + p->samples[i].first : NULL;
		const struct speedscope_number none = {0};
		if (!number_get(in, i < p->nr_weights ? &p->weights[i] : &none, &value))
			continue;
		if (in->ours && nr && *frames < f->nr_frames) {
			root_thread(in, f->frames[*frames++].name);
			nr--;
		} else if (in->ours) {
			root_thread(in, af_builder_name(in->builder, "[speedscope]", 12));
		}
		if (in->thread == UINT32_MAX || !value)
			continue;
		uint32_t node = stack_node(in, f, frames, nr);
		if (!timed) {
			sum_add(in, node, value);
			continue;
		}
		if (value > INT64_MAX - now)
			value = INT64_MAX - now;
		now += value;
		/* Nothing was running there. */
		if (nr)
			af_builder_sample(in->builder,
			                  &(struct af_builder_sample){.time_ns = now,
			                                              .weight_ns = value,
			                                              .thread = in->thread,
			                                              .node = node});
	}
}

/* The innermost one ends. */
static void span_close(struct import_speedscope *in, const struct speedscope_file *f, uint64_t now)
{
	const struct open_frame *o = &in->open[--in->nr_open];

	af_builder_slice(in->builder, AF_BUILDER_SPAN,
	                 &(struct af_builder_slice){.start_ns = o->start,
	                                            .busy_ns = now - o->start,
	                                            .name = f->frames[o->frame].name,
	                                            .thread = in->thread,
	                                            .external = in->nr_open});
}

/* Time since the last event belongs to the innermost frame, also in units that are no times. */
static void passed_add(struct import_speedscope *in, const struct speedscope_file *f,
                       uint64_t passed)
{
	uint32_t node = 0;

	for (uint32_t i = 0; i < in->nr_open; i++)
		node = af_builder_node_of(in->builder, node, &f->frames[in->open[i].frame]);
	if (in->nr_open)
		sum_add(in, node, passed);
}

static void event_close(struct import_speedscope *in, const struct speedscope_file *f,
                        uint32_t frame, uint64_t now, bool timed)
{
	uint32_t at = in->nr_open;

	while (at && in->open[at - 1].frame != frame)
		at--;
	/* Frames inside of it end with it. */
	in->builder->unused[AF_BUILDER_OVERLAPS_UNUSED] += at ? in->nr_open - at : 1;
	while (at && in->nr_open >= at) {
		if (timed)
			span_close(in, f, now);
		else
			in->nr_open--;
	}
}

static void take_evented(struct import_speedscope *in, const struct speedscope_file *f,
                         const struct speedscope_profile *p)
{
	bool timed = in->type.weight == IMPORT_WEIGHT_TIME;
	uint64_t now = 0, at;

	in->nr_open = 0;
	for (uint64_t i = 0; i < p->nr_events && in->thread != UINT32_MAX; i++) {
		const struct speedscope_event *e = &p->events[i];
		if (!number_get(in, &e->at, &at) || !frame_get(in, f, e->frame))
			continue;
		if (at < now || at > INT64_MAX / 4) {
			in->builder->unused[AF_BUILDER_TIMES_UNUSED]++;
			continue;
		}
		if (!timed)
			passed_add(in, f, at - now);
		now = at;
		if (e->type == 'C') {
			event_close(in, f, e->frame, now, timed);
		} else if (e->type != 'O') {
			in->builder->unused[AF_BUILDER_OTHER_UNUSED]++;
		} else if (in->nr_open == AF_BUILDER_DEPTH) {
			in->builder->unused[AF_BUILDER_DEPTH_UNUSED]++;
		} else {
			AF_GROW(in->open, in->nr_open, in->cap_open);
			in->open[in->nr_open++] = (struct open_frame){e->frame, now};
		}
	}
	if (in->nr_open && p->end.len && number_get(in, &p->end, &at) && at > now &&
	    at <= INT64_MAX / 4)
		now = at;
	while (timed && in->nr_open)
		span_close(in, f, now);
}

/* The name of aflame's column stands behind the name: "train.py: off-cpu". */
static void type_find(struct import_speedscope *in, const struct speedscope_profile *p)
{
	const char *name = af_strtab_get(&in->builder->names, p->name), *colon = strrchr(name, ' ');
	const char *column = in->ours && colon ? colon + 1 : in->ours ? name : "";

	in->type = (struct import_value_type){column, *p->unit ? p->unit : "none"};
	import_weight_of(&in->type);
	if (in->type.weight == IMPORT_WEIGHT_SAMPLES && in->ours && !strstr(column, "samples"))
		in->type.weight = IMPORT_WEIGHT_COUNT;
	in->power = 0;
	if (in->type.weight != IMPORT_WEIGHT_TIME && in->type.weight != IMPORT_WEIGHT_OFF_CPU)
		return;
	for (; in->type.scale > 1; in->type.scale /= 10)
		in->power++;
}

static void take_profile(void *arg, struct speedscope_file *f, const struct speedscope_profile *p)
{
	struct import_speedscope *in = arg;
	struct af_builder *d = in->builder;

	in->ours = p->sampled && !strncmp(f->exporter, "aflame ", 7);
	type_find(in, p);
	if (in->type.weight == IMPORT_WEIGHT_NONE || (!p->sampled && !p->evented)) {
		d->unused[AF_BUILDER_WEIGHTS_UNUSED]++;
		return;
	}
	/* Samples of CPUs and of devices are no two of a kind. */
	if (in->ours && !strcmp(in->type.type, "gpu-samples")) {
		d->unused[AF_BUILDER_WEIGHTS_UNUSED]++;
		return;
	}
	if (!in->ours) {
		uint32_t process = af_builder_process(d, in->space, 0);
		d->processes[process].exe =
		    f->name ? f->name : af_builder_name(d, "[speedscope]", 12);
		in->thread = af_builder_thread(d, process, ++in->nr_threads);
		if (in->thread != UINT32_MAX)
			d->threads[in->thread].name = p->name;
	}
	uint32_t reported = 1u << (2 * in->type.weight + p->evented);
	if (!(in->reported & reported))
		af_builder_note(d, "import.weights", "%s in %s",
		                p->evented ? "what passed between events"
		                : in->ours ? in->type.type
		                           : "weights of samples",
		                in->type.unit);
	in->reported |= reported;
	if (in->type.weight == IMPORT_WEIGHT_COUNT)
		af_builder_count_unit(d, in->ours ? in->type.type : in->type.unit);
	if (p->sampled)
		take_sampled(in, f, p);
	else
		take_evented(in, f, p);
}

void af_import_speedscope(struct af_builder *d, const struct af_import_source *source,
                          uint32_t number, char *complaint, size_t size)
{
	struct import_speedscope in = {.builder = d, .space = number + 1};
	struct speedscope_file f;
	size_t nr_bytes;
	ssize_t rc;
	uint8_t *data = import_whole(source, &nr_bytes, &rc);

	speedscope_open(&f, d, data, nr_bytes);
	bool good = speedscope_read(&f, take_profile, &in);
	if (rc < 0 || !good) {
		d->damaged++;
		snprintf(complaint, size, "%s",
		         rc < 0            ? import_whole_text(rc)
		         : f.json.err.code ? f.json.err.msg
		                           : "this is no speedscope file");
	}
	speedscope_close(&f);
	free(in.open);
	free(data);
}

bool af_import_is_speedscope(const char *text, size_t len)
{
	return import_json_kind(text, len) == IMPORT_JSON_SPEEDSCOPE;
}
