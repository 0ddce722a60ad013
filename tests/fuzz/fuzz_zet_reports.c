/*
 * Reports of a metric group that a driver of Level Zero calculated, with any metrics, types, times
 * and counts of parts: no value beyond them is read, no report is later than its read or much
 * older, and no more reports come than there is room for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/zet/reports.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SETS_MOST = AF_ZET_PARTS_MOST + 2, AGE_NS_MOST = 2000000000 };

struct seen {
	const struct af_zet_meters *m;
	const struct af_zet_reports *r;
	uint32_t nr;
	uint64_t sum;
};

static void report_take(void *arg, const struct af_zet_report *report)
{
	struct seen *s = arg;
	uint64_t whole;

	if (report->part >= AF_ZET_PARTS_MOST || report->time_ns > s->r->read_ns ||
	    s->r->read_ns - report->time_ns > AGE_NS_MOST || !report->span_ns)
		abort();
	for (uint32_t i = 0; i < s->m->nr; i++)
		if (af_zet_value_whole(&report->values[i], s->m->all[i].per, &whole))
			s->sum += whole;
	s->nr++;
}

static void meters_take(struct af_zet_meters *m, struct input *in)
{
	static const char *const names[] = {"GpuTime", "QueryBeginTime", "N", ""};
	static const char *const units[] = {"ns", "percent", "MHz", "", "GB/s", "events"};
	uint32_t nr = take_byte(in) % 16;

	for (uint32_t i = 0; i < nr; i++) {
		uint8_t what = take_byte(in);
		af_zet_meters_add(m, names[what % 4], units[what % 6], what % 11, what / 16 % 6);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct af_zet_meters m;
	struct input in = {data, size};
	struct af_zet_clocks clocks = {0};
	uint32_t sets[SETS_MOST];

	memset(&m, 0, sizeof m);
	meters_take(&m, &in);
	struct af_zet_reports r = {.set_values = sets, .nr_sets = take_byte(&in) % (SETS_MOST + 1)};
	for (uint32_t i = 0; i < r.nr_sets; i++) {
		uint8_t n = take_byte(&in);
		sets[i] = n == UINT8_MAX ? UINT32_MAX : n;
	}
	r.read_ns = (uint64_t)take_byte(&in) << (take_byte(&in) & 63);
	r.period_ns = 1u + take_byte(&in);
	r.nr_values = (uint32_t)(in.left / sizeof *r.values);
	/* Exactly so many, so that a sanitizer sees what lies beyond. */
	struct zet_typed_value *values = malloc(r.nr_values ? r.nr_values * sizeof *values : 1);
	if (r.nr_values)
		memcpy(values, in.data, r.nr_values * sizeof *values);
	r.values = values;
	struct seen s = {.m = &m, .r = &r};
	for (int again = 0; again < 2; again++) {
		s.nr = 0;
		uint32_t cut = af_zet_reports_take(&m, &clocks, &r, report_take, &s);
		if (cut > r.nr_sets || (s.nr && (!m.nr || s.nr > r.nr_values / m.nr)))
			abort();
		r.read_ns += r.read_ns < UINT64_MAX / 2 ? r.read_ns / 2 : 0;
	}
	free(values);
	return 0;
}
