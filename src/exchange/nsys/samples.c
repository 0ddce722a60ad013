/*
 * Nsight Systems' export: samples of threads. The weight of a sample is the period that newer files
 * give, if its event is a software event, which counts time: on a busy machine the samples of a
 * thread are further apart than that. The period of another event may be time or cycles; it is
 * taken as time if it is about the median distance between two samples of a thread. Without a
 * period, that median is the weight. Nsight unwinds the stack of one sample in several; the others
 * have their innermost frame only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/nsys/nsys.h"

enum { GAPS_MAX = 1 << 20, PERIOD_OFF = 20 /* that part of it */ };
#define PERIOD_MAX_NS UINT64_C(60000000000)

struct nsys_samples {
	struct af_map stacks;  /* id → stack */
	struct af_map last_ns; /* of a thread */
	uint64_t *gaps;
	uint64_t nr_gaps, cap_gaps;
	uint64_t first;     /* of the builder's samples */
	uint64_t period_ns; /* if it is of time; 0: unknown */
	bool of_time;       /* it is */
};

static void take_chain(struct import_nsys *in, const struct sqlite_rows *rows)
{
	nsys_chain_add(in, &in->samples->stacks, rows);
}

static void gap_add(struct nsys_samples *s, uint32_t thread, uint64_t time_ns)
{
	bool fresh;
	uint64_t *last = af_map_at(&s->last_ns, thread, &fresh);

	if (!fresh && time_ns > *last && s->nr_gaps < GAPS_MAX) {
		AF_GROW(s->gaps, s->nr_gaps, s->cap_gaps);
		s->gaps[s->nr_gaps++] = time_ns - *last;
	}
	*last = time_ns;
}

static void take_sample(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct af_builder_sample sample = {.weight_ns = 1};
	int64_t cpu = sqlite_int(rows, 3, 0);

	if (!sqlite_has(rows, 2)) {
		in->builder->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return;
	}
	if (!nsys_time(in, rows, &sample.time_ns))
		return;
	const uint64_t *node = af_map_get(&in->samples->stacks, (uint64_t)sqlite_int(rows, 1, -1));
	sample.node = node ? (uint32_t)*node : 0;
	sample.cpu = cpu > 0 && cpu <= UINT32_MAX ? (uint32_t)cpu : 0;
	sample.thread = nsys_thread(in, sqlite_int(rows, 2, 0));
	if (sample.thread == UINT32_MAX)
		return;
	gap_add(in->samples, sample.thread, sample.time_ns);
	af_builder_sample(in->builder, &sample);
}

static void take_period(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct nsys_samples *s = in->samples;
	char name[64];
	size_t len;

	snprintf(name, sizeof name, "%s", sqlite_text(rows, 0, &len));
	const char *value = sqlite_text(rows, 1, &len);
	if (!strcmp(name, "LINUX_PERF_OPTIONS:SAMPLING_PERIOD"))
		s->period_ns = strtoull(value, NULL, 10);
	else if (!strcmp(name, "LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE"))
		s->of_time = !strcmp(value, "Software");
}

static int order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void samples_weigh(struct import_nsys *in, struct nsys_samples *s)
{
	struct af_builder *d = in->builder;

	if (d->nr_samples == s->first)
		return;
	AF_SORT(s->gaps, s->nr_gaps, order);
	uint64_t gap_ns = s->nr_gaps ? s->gaps[s->nr_gaps / 2] : 0, weight_ns = gap_ns;
	uint64_t off_ns = gap_ns > s->period_ns ? gap_ns - s->period_ns : s->period_ns - gap_ns;
	if (s->period_ns && s->period_ns <= PERIOD_MAX_NS &&
	    (s->of_time || off_ns <= s->period_ns / PERIOD_OFF))
		weight_ns = s->period_ns;
	for (uint64_t i = s->first; i < d->nr_samples; i++)
		d->samples[i].weight_ns = weight_ns;
	if (weight_ns)
		af_builder_note(
		    d, "import.weights", "a sample is %llu ns, %s", (unsigned long long)weight_ns,
		    weight_ns == s->period_ns ? "the period that the file gives"
					      : "the median distance of a thread's samples");
}

void nsys_samples(struct import_nsys *in)
{
	struct nsys_samples *s = af_xcalloc(1, sizeof *s);

	s->first = in->builder->nr_samples;
	in->samples = s;
	nsys_table(in, "SAMPLING_CALLCHAINS", NSYS_CHAIN_ORDER, nsys_chain_columns, take_chain);
	nsys_table(in, "META_DATA_CAPTURE", NULL, (const char *const[]){"name", "value", NULL},
	           take_period);
	nsys_table(in, "COMPOSITE_EVENTS", "start",
	           (const char *const[]){"start", "id", "globalTid", "cpu", NULL}, take_sample);
	in->samples = NULL;
	samples_weigh(in, s);
	free(s->gaps);
	af_map_free(&s->stacks);
	af_map_free(&s->last_ns);
	free(s);
}
