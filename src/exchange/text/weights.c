#include "exchange/text/weights.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "exchange/builder/builder.h"

static const struct unit {
	const char *name;
	enum import_weight weight;
	uint64_t scale;
} units[] = {
    {"nanoseconds", IMPORT_WEIGHT_TIME, 1},
    {"nanosecond", IMPORT_WEIGHT_TIME, 1},
    {"ns", IMPORT_WEIGHT_TIME, 1},
    {"microseconds", IMPORT_WEIGHT_TIME, 1000},
    {"microsecond", IMPORT_WEIGHT_TIME, 1000},
    {"us", IMPORT_WEIGHT_TIME, 1000},
    {"milliseconds", IMPORT_WEIGHT_TIME, 1000000},
    {"millisecond", IMPORT_WEIGHT_TIME, 1000000},
    {"ms", IMPORT_WEIGHT_TIME, 1000000},
    {"seconds", IMPORT_WEIGHT_TIME, 1000000000},
    {"second", IMPORT_WEIGHT_TIME, 1000000000},
    {"s", IMPORT_WEIGHT_TIME, 1000000000},
    {"bytes", IMPORT_WEIGHT_BYTES, 1},
    {"byte", IMPORT_WEIGHT_BYTES, 1},
    {"b", IMPORT_WEIGHT_BYTES, 1},
    {"kilobytes", IMPORT_WEIGHT_BYTES, 1 << 10},
    {"kb", IMPORT_WEIGHT_BYTES, 1 << 10},
    {"megabytes", IMPORT_WEIGHT_BYTES, 1 << 20},
    {"mb", IMPORT_WEIGHT_BYTES, 1 << 20},
    {"samples", IMPORT_WEIGHT_SAMPLES, 1},
    {"count", IMPORT_WEIGHT_COUNT, 1},
    {"none", IMPORT_WEIGHT_SAMPLES, 1},
    {"launches", IMPORT_WEIGHT_COUNT, 1},
    {"objects", IMPORT_WEIGHT_COUNT, 1},
};

static bool has_word(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(text, *words))
			return true;
	return false;
}

void import_weight_of(struct import_value_type *t)
{
	static const char *const waits[] = {"delay", "off-cpu", "off_cpu", "offcpu", "wait",
	                                    "block", "idle",    "lock",    NULL};
	static const char *const samples[] = {"sample", NULL};

	/* Values with a unit of their own, as cycles or requests, are counted in it. */
	t->weight = *t->unit ? IMPORT_WEIGHT_COUNT : IMPORT_WEIGHT_NONE;
	t->scale = 1;
	for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcasecmp(t->unit, units[i].name)) {
			t->weight = units[i].weight;
			t->scale = units[i].scale;
		}
	/* "clock" has "lock" in it. */
	if (t->weight == IMPORT_WEIGHT_TIME && has_word(t->type, waits) &&
	    !strcasestr(t->type, "clock"))
		t->weight = IMPORT_WEIGHT_OFF_CPU;
	if (t->weight == IMPORT_WEIGHT_COUNT && has_word(t->type, samples))
		t->weight = IMPORT_WEIGHT_SAMPLES;
}

/* How well a type fits to the one that the file prefers. */
static int fit(const struct import_value_type *t, const char *preferred)
{
	const char *end = strchr(preferred, '_');

	if (!*preferred)
		return 0;
	if (!strcmp(t->type, preferred))
		return 2;
	return end && !strncmp(t->type, preferred, (size_t)(end + 1 - preferred));
}

static void note_add(struct af_buf *b, const char *weight, const struct import_value_type *t)
{
	af_buf_fmt(b, "%s%s%s%s in %s", b->len ? ", " : "", weight, *weight ? ": " : "", t->type,
	           *t->unit ? t->unit : "no unit");
}

/* "inuse_objects" in "count", but "cpu" in "cycles". */
static const char *count_unit(const struct import_value_type *t)
{
	bool plain = !strcasecmp(t->unit, "count") || !strcasecmp(t->unit, "objects") ||
	             !strcasecmp(t->unit, "none");

	return plain && *t->type ? t->type : t->unit;
}

uint32_t import_weights_choose(struct import_value_type *types, uint32_t nr, const char *preferred,
                               bool sum, struct af_builder *d)
{
	static const char *const names[IMPORT_WEIGHTS] = {"time", "samples", "count", "bytes",
	                                                  "off-cpu"};
	struct af_buf taken = {0}, left = {0};
	uint32_t best[IMPORT_WEIGHTS], nr_left = 0;

	memset(best, 0xff, sizeof best);
	for (uint32_t i = 0; i < nr; i++) {
		enum import_weight w = types[i].weight;
		bool better =
		    w != IMPORT_WEIGHT_NONE &&
		    (best[w] == UINT32_MAX ||
		     (!sum && fit(&types[i], preferred) >= fit(&types[best[w]], preferred)));
		if (better)
			best[w] = i;
	}
	for (uint32_t i = 0; i < nr; i++) {
		enum import_weight w = types[i].weight;
		if (w != IMPORT_WEIGHT_NONE &&
		    ((sum && w != IMPORT_WEIGHT_SAMPLES) || best[w] == i)) {
			note_add(&taken, names[w], &types[i]);
			if (w == IMPORT_WEIGHT_COUNT)
				af_builder_count_unit(d, count_unit(&types[i]));
			continue;
		}
		types[i].weight = IMPORT_WEIGHT_NONE;
		note_add(&left, "", &types[i]);
		nr_left++;
	}
	if (taken.len)
		af_builder_note(d, "import.weights", "%.*s", (int)taken.len, taken.data);
	if (left.len)
		af_builder_note(d, "import.weights.unused", "%.*s", (int)left.len, left.data);
	af_buf_free(&taken);
	af_buf_free(&left);
	return nr_left;
}

void import_weight_add(struct af_builder *d, struct af_builder_sum *s,
                       const struct import_value_type *t, int64_t value)
{
	uint64_t *const to[IMPORT_WEIGHTS] = {&s->busy_ns, &s->samples, &s->count, &s->bytes,
	                                      &s->off_cpu_ns};
	uint64_t scaled;

	if (!value || t->weight == IMPORT_WEIGHT_NONE)
		return;
	if (value < 0 || __builtin_mul_overflow((uint64_t)value, t->scale, &scaled) ||
	    __builtin_add_overflow(*to[t->weight], scaled, to[t->weight]))
		d->unused[AF_BUILDER_VALUES_UNUSED]++;
}
