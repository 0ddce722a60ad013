/*
 * pprof's profiles: protobuf, mostly gzipped. Stacks have values and no times; of the labels those
 * that name a process or a thread have a place in a trace.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "exchange/builder/builder.h"
#include "exchange/pprof/profile.h"
#include "exchange/source/source.h"
#include "exchange/source/whole.h"

enum {
	LABELS_REPORTED = 16,
	TID_FIRST = 1u << 30, /* of threads that have names only: none of these numbers is real */
};

/* Fields of a sample. */
enum label_kind { LABEL_PID, LABEL_TID, LABEL_COMM, LABEL_THREAD, LABEL_NONE };

struct import_pprof {
	struct pprof_profile profile;
	uint32_t space, exe;
	uint64_t end_ns;
	bool by_samples;           /* samples have no time, but the period has */
	struct af_map label_kinds; /* string → kind */
	struct af_buf labels_reported;
	uint32_t nr_labels_reported;
	uint64_t *stack;
	uint32_t nr_stack, cap_stack;
	/* of the sample */
	uint64_t label_values[LABEL_NONE];
	bool label_given[LABEL_NONE];
};

static enum label_kind label_kind(struct import_pprof *in, uint64_t key)
{
	static const struct {
		const char *key;
		enum label_kind kind;
	} known[] = {
	    {"pid", LABEL_PID},       {"process_id", LABEL_PID},     {"process id", LABEL_PID},
	    {"tid", LABEL_TID},       {"thread_id", LABEL_TID},      {"thread id", LABEL_TID},
	    {"comm", LABEL_COMM},     {"process", LABEL_COMM},       {"process_name", LABEL_COMM},
	    {"thread", LABEL_THREAD}, {"thread_name", LABEL_THREAD}, {"thread name", LABEL_THREAD},
	};
	bool fresh;
	uint64_t *slot = af_map_at(&in->label_kinds, key, &fresh);

	if (!fresh)
		return (enum label_kind) * slot;
	const char *text = pprof_text(&in->profile, key);
	*slot = LABEL_NONE;
	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(text, known[i].key))
			*slot = known[i].kind;
	if (*slot == LABEL_NONE && in->nr_labels_reported++ < LABELS_REPORTED)
		af_buf_fmt(&in->labels_reported, "%s%.64s", in->labels_reported.len ? ", " : "",
		           text);
	return (enum label_kind) * slot;
}

/* A number that was written as text, as some do. */
static bool text_number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

static bool sample_label(struct import_pprof *in, struct af_cursor label)
{
	uint64_t key = 0, text = 0, number = 0;
	struct af_pb_field f;

	while (af_pb_next(&label, &f)) {
		uint64_t *to[] = {[PPROF_LABEL_KEY] = &key,
		                  [PPROF_LABEL_TEXT] = &text,
		                  [PPROF_LABEL_NUMBER] = &number};
		if (f.number < sizeof to / sizeof *to)
			*to[f.number] = f.value;
	}
	enum label_kind kind = label_kind(in, key);
	bool good = kind != LABEL_NONE;
	if (kind == LABEL_COMM || kind == LABEL_THREAD)
		number = pprof_name(&in->profile, text);
	else if (good && text)
		good = text_number(pprof_text(&in->profile, text), &number);
	if (good && number <= UINT32_MAX) {
		in->label_values[kind] = number;
		in->label_given[kind] = true;
	} else {
		in->profile.builder->unused[AF_BUILDER_LABELS_UNUSED]++;
	}
	return !label.bad;
}

/* The thread that the labels name. One that has a name only gets a number by it. */
static uint32_t sample_thread(struct import_pprof *in)
{
	struct af_builder *d = in->profile.builder;
	uint32_t pid = (uint32_t)in->label_values[LABEL_PID];
	uint32_t process = af_builder_process(d, in->space, pid);
	uint32_t name = (uint32_t)in->label_values[LABEL_THREAD];
	uint32_t tid = in->label_given[LABEL_TID]      ? (uint32_t)in->label_values[LABEL_TID]
	               : in->label_given[LABEL_THREAD] ? TID_FIRST + name
	                                               : pid;
	uint32_t thread = af_builder_thread(d, process, tid);

	if (!d->processes[process].exe)
		d->processes[process].exe = in->exe;
	if (in->label_given[LABEL_COMM])
		d->processes[process].exe = (uint32_t)in->label_values[LABEL_COMM];
	if (thread != UINT32_MAX && in->label_given[LABEL_THREAD])
		d->threads[thread].name = name;
	return thread;
}

static uint32_t sample_node(struct import_pprof *in)
{
	const struct af_builder_frame_of *frames;
	uint32_t node = 0;

	for (uint32_t i = in->nr_stack; i-- > 0;) {
		uint32_t nr = pprof_frames(&in->profile, in->stack[i], &frames), f = 0;
		/* A process that stands in the stack as well stands there once. */
		if (i + 1 == in->nr_stack && nr && in->label_given[LABEL_COMM])
			f = frames[0].name == in->label_values[LABEL_COMM];
		for (; f < nr; f++)
			node = af_builder_node_of(in->profile.builder, node, &frames[f]);
	}
	return node;
}

static void sample_stack(struct import_pprof *in, struct af_pb_field *f)
{
	uint64_t id;

	while (af_pb_each(f, &id)) {
		AF_GROW(in->stack, in->nr_stack, in->cap_stack);
		in->stack[in->nr_stack++] = id;
	}
}

static void sample_values(struct import_pprof *in, struct af_pb_field *f, uint32_t *nr,
                          struct af_builder_sum *sum)
{
	uint64_t value;

	for (; af_pb_each(f, &value); ++*nr)
		if (*nr < in->profile.nr_types)
			import_weight_add(in->profile.builder, sum, &in->profile.types[*nr],
			                  (int64_t)value);
}

static bool take_sample(struct import_pprof *in, struct af_cursor sample)
{
	struct af_builder_sum sum = {.time_ns = in->end_ns};
	struct af_pb_field f;
	uint32_t nr = 0;
	bool good = true;

	in->nr_stack = 0;
	memset(in->label_values, 0, sizeof in->label_values);
	memset(in->label_given, 0, sizeof in->label_given);
	while (af_pb_next(&sample, &f)) {
		if (f.number == PPROF_SAMPLE_LOCATION)
			sample_stack(in, &f);
		else if (f.number == PPROF_SAMPLE_VALUE)
			sample_values(in, &f, &nr, &sum);
		else if (f.number == PPROF_SAMPLE_LABEL)
			good = sample_label(in, f.bytes) && good;
	}
	if (in->by_samples &&
	    __builtin_mul_overflow(sum.samples, (uint64_t)in->profile.period, &sum.busy_ns))
		in->profile.builder->unused[AF_BUILDER_VALUES_UNUSED]++;
	sum.thread = sample_thread(in);
	sum.node = sample_node(in);
	if (sum.thread != UINT32_MAX &&
	    (sum.busy_ns || sum.samples || sum.count || sum.bytes || sum.off_cpu_ns))
		af_builder_sum(in->profile.builder, &sum);
	return good && !sample.bad;
}

/* The types of the values, and the time that a sample stands for where only samples are there. */
static void types_read(struct import_pprof *in)
{
	struct pprof_profile *p = &in->profile;
	struct import_value_type period = {.type = pprof_text(p, p->period_texts[0]),
	                                   .unit = pprof_text(p, p->period_texts[1])};
	bool time = false, samples = false;

	if (p->nr_types > IMPORT_VALUE_TYPES)
		p->nr_types = IMPORT_VALUE_TYPES;
	for (uint32_t i = 0; i < p->nr_types; i++) {
		p->types[i].type = pprof_text(p, p->type_texts[2 * i]);
		p->types[i].unit = pprof_text(p, p->type_texts[2 * i + 1]);
		import_weight_of(&p->types[i]);
		time |= p->types[i].weight == IMPORT_WEIGHT_TIME;
		samples |= p->types[i].weight == IMPORT_WEIGHT_SAMPLES;
	}
	/* Ours have the time of CPUs and of devices apart, as a stack is of one or the other. */
	bool ours = !strcmp(pprof_text(p, p->comment), "written by aflame");
	p->builder->unused[AF_BUILDER_WEIGHTS_UNUSED] += import_weights_choose(
	    p->types, p->nr_types, pprof_text(p, p->default_type), ours, p->builder);
	import_weight_of(&period);
	if (time || !samples || period.weight != IMPORT_WEIGHT_TIME || p->period <= 0 ||
	    __builtin_mul_overflow(p->period, (int64_t)period.scale, &p->period))
		return;
	in->by_samples = true;
	af_builder_note(p->builder, "import.rate", "a sample every %lld ns, as the file says",
	                (long long)p->period);
}

/* The program is the first mapping, if the profile has any. */
static void tables_read(struct import_pprof *in)
{
	struct pprof_profile *p = &in->profile;
	struct af_builder *d = p->builder;
	uint64_t duration_ns = p->duration_ns > 0 ? (uint64_t)p->duration_ns : 0;

	in->exe = p->nr_mappings ? pprof_name(p, p->mappings[0]) : 0;
	if (!in->exe)
		in->exe = af_builder_name(d, "[pprof]", 7);
	if (p->time_ns <= 0 || !af_builder_times(d, (uint64_t)p->time_ns, duration_ns))
		return;
	in->end_ns = (uint64_t)p->time_ns + duration_ns;
	if (!d->begin_ns || (uint64_t)p->time_ns < d->begin_ns)
		d->begin_ns = (uint64_t)p->time_ns;
}

static bool take_samples(struct import_pprof *in, struct af_cursor whole)
{
	struct af_pb_field f;
	bool good = true;

	while (af_pb_next(&whole, &f))
		if (f.number == PPROF_SAMPLE)
			good = take_sample(in, f.bytes) && good;
	return good;
}

void af_import_pprof(struct af_builder *d, const struct af_import_source *source, uint32_t number,
                     char *complaint, size_t size)
{
	struct import_pprof in = {.profile = {.builder = d}, .space = number + 1};
	size_t nr_bytes;
	ssize_t rc;
	uint8_t *data = import_whole(source, &nr_bytes, &rc);
	struct af_cursor whole = {data, data + nr_bytes, false};

	bool good = pprof_read(&in.profile, whole);
	types_read(&in);
	tables_read(&in);
	good = take_samples(&in, whole) && good;
	if (in.labels_reported.len)
		af_builder_note(d, "import.labels.unused", "%.*s%s", (int)in.labels_reported.len,
		                in.labels_reported.data,
		                in.nr_labels_reported > LABELS_REPORTED ? ", …" : "");
	if (rc < 0 || !good) {
		d->damaged++;
		snprintf(complaint, size, "%s",
		         rc < 0 ? import_whole_text(rc) : "parts of the profile are damaged");
	}
	af_map_free(&in.label_kinds);
	af_buf_free(&in.labels_reported);
	free(in.stack);
	pprof_free(&in.profile);
	free(data);
}

/* Do fields have the numbers that the type of message allows? */
static bool fields_fit(struct af_cursor in, uint32_t most)
{
	struct af_pb_field f;

	while (af_pb_next(&in, &f))
		if (f.number > most)
			return false;
	return !in.bad;
}

bool af_import_is_pprof(const char *text, size_t len)
{
	/* The highest field of the messages that a profile's own fields are; 0: a number. */
	static const uint8_t most[] = {
	    [PPROF_SAMPLE_TYPE] = 2, [PPROF_SAMPLE] = 3,   [PPROF_MAPPING] = 10,
	    [PPROF_LOCATION] = 5,    [PPROF_FUNCTION] = 5, [PPROF_PERIOD_TYPE] = 2,
	    [PPROF_DEFAULT_TYPE] = 0};
	struct af_cursor in = {(const uint8_t *)text, (const uint8_t *)text + len, false};
	struct af_pb_field f;
	unsigned nr = 0;

	for (; af_pb_next(&in, &f); nr++) {
		bool any = f.number == PPROF_COMMENT || f.number == PPROF_STRING;
		if (f.number > PPROF_DEFAULT_TYPE)
			return false;
		if (!any && (f.wire != (most[f.number] ? AF_PB_BYTES : AF_PB_VARINT) ||
		             !fields_fit(f.bytes, most[f.number])))
			return false;
	}
	/* Only the beginning of a long message is available. */
	bool begun = f.number && f.number <= PPROF_FUNCTION && f.wire == AF_PB_BYTES;
	return memchr(text, '\b', len) && (nr > 1 || begun);
}
