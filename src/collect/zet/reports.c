#include "collect/zet/reports.h"

#include <string.h>

enum {
	DRIFT_NS = 20000,          /* a nanosecond of so many: clocks differ by less */
	SPAN_NS_MOST = 2000000000, /* a report of more than twice the longest period is wrong */
	AGE_NS_MOST = 2000000000,  /* so old may a report be that is read now */
};

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* Numbers of events that are really rates: Intel's driver calls a mean frequency an event. */
static bool is_rate(const char *units)
{
	return ends_with(units, "Hz") || !strcmp(units, "percent") || !strcmp(units, "%") ||
	       ends_with(units, "/s") || strstr(units, " per ") || strchr(units, '/');
}

static bool is_amount(uint32_t type, const char *units)
{
	return type == AF_ZET_TYPE_DURATION ||
	       ((type == AF_ZET_TYPE_EVENT || type == AF_ZET_TYPE_EVENT_WITH_RANGE) &&
	        !is_rate(units));
}

void af_zet_meters_add(struct af_zet_meters *m, const char *name, const char *units, uint32_t type,
                       uint32_t value_type)
{
	bool is_float = value_type == AF_ZET_VALUE_FLOAT32 || value_type == AF_ZET_VALUE_FLOAT64;

	if (m->nr++ >= AF_ZET_METERS_MOST)
		return;
	m->all[m->nr - 1] = (struct af_zet_meter){
	    .is_counter = type != AF_ZET_TYPE_TIMESTAMP && type != AF_ZET_TYPE_IP_EXP,
	    .is_amount = is_amount(type, units),
	    .per = is_float ? AF_ZET_MILLIONTHS : 1,
	};
	if (!m->span_at && type == AF_ZET_TYPE_DURATION && !strcmp(name, "GpuTime") &&
	    !strcmp(units, "ns"))
		m->span_at = (int)m->nr;
	if (!m->stamp_at && type == AF_ZET_TYPE_TIMESTAMP && !strcmp(units, "ns"))
		m->stamp_at = (int)m->nr;
}

static bool of_float(double v, uint32_t per, uint64_t *whole)
{
	static const double most = 9007199254740992.0; /* 2^53: exact in a double, and in JSON */

	v = v * per + 0.5;
	if (!(v >= 0.5 && v < most)) /* not a number, too */
		return false;
	*whole = (uint64_t)v;
	return true;
}

bool af_zet_value_whole(const struct zet_typed_value *v, uint32_t per, uint64_t *whole)
{
	switch (v->type) {
	case AF_ZET_VALUE_UINT32:
		return !__builtin_mul_overflow((uint64_t)v->value.u32, per, whole);
	case AF_ZET_VALUE_UINT64:
		return !__builtin_mul_overflow(v->value.u64, per, whole);
	case AF_ZET_VALUE_FLOAT32:
		return of_float((double)v->value.f32, per, whole);
	case AF_ZET_VALUE_FLOAT64:
		return of_float(v->value.f64, per, whole);
	case AF_ZET_VALUE_BOOL8:
		*whole = (v->value.b8 != 0) * (uint64_t)per;
		return true;
	default:
		return false;
	}
}

/* The metric at @at, from 1: in nanoseconds. */
static bool ns_at(const struct zet_typed_value *values, int at, uint64_t *ns)
{
	return at && af_zet_value_whole(&values[at - 1], 1, ns) && *ns;
}

static uint64_t span_of(const struct af_zet_meters *m, const struct zet_typed_value *values,
                        const struct af_zet_reports *r)
{
	uint64_t ns;

	return ns_at(values, m->span_at, &ns) && ns < SPAN_NS_MOST ? ns : r->period_ns;
}

/* The newest report of those that were read at @read_ns has the time @stamp_ns. */
static void clock_learn(struct af_zet_clock *c, uint64_t stamp_ns, uint64_t read_ns)
{
	uint64_t offset_ns = read_ns - stamp_ns;

	/* Later by less than before: it was read sooner. */
	if (c->is_known && stamp_ns >= c->stamp_ns && read_ns >= c->read_ns) {
		uint64_t drifted_ns = c->offset_ns + (read_ns - c->read_ns) / DRIFT_NS;
		if ((int64_t)(offset_ns - drifted_ns) > 0)
			offset_ns = drifted_ns;
	}
	*c = (struct af_zet_clock){true, offset_ns, stamp_ns, read_ns};
}

static uint64_t time_of(uint64_t time_ns, const struct af_zet_reports *r)
{
	uint64_t least_ns = r->read_ns > AGE_NS_MOST ? r->read_ns - AGE_NS_MOST : 0;

	return time_ns > r->read_ns ? r->read_ns : time_ns < least_ns ? least_ns : time_ns;
}

/* @nr whole reports of one part. */
static void part_take(const struct af_zet_meters *m, struct af_zet_clock *c,
                      const struct af_zet_reports *r, struct af_zet_report *report, uint32_t nr,
                      void (*take)(void *arg, const struct af_zet_report *report), void *arg)
{
	const struct zet_typed_value *first = report->values;
	uint64_t after_ns = 0, stamp_ns;

	for (uint32_t i = 0; i < nr; i++)
		after_ns += span_of(m, first + (size_t)i * m->nr, r);
	bool stamped = nr && ns_at(first + (size_t)(nr - 1) * m->nr, m->stamp_at, &stamp_ns);
	if (stamped)
		clock_learn(c, stamp_ns, r->read_ns);
	for (uint32_t i = 0; i < nr; i++) {
		report->values = first + (size_t)i * m->nr;
		report->span_ns = span_of(m, report->values, r);
		after_ns -= report->span_ns;
		report->time_ns = after_ns < r->read_ns ? r->read_ns - after_ns : 0;
		if (stamped && ns_at(report->values, m->stamp_at, &stamp_ns))
			report->time_ns = stamp_ns + c->offset_ns;
		report->time_ns = time_of(report->time_ns, r);
		take(arg, report);
	}
}

uint32_t af_zet_reports_take(const struct af_zet_meters *m, struct af_zet_clocks *clocks,
                             const struct af_zet_reports *r,
                             void (*take)(void *arg, const struct af_zet_report *report), void *arg)
{
	uint32_t cut = 0, at = 0;

	if (!m->nr || m->nr > AF_ZET_METERS_MOST)
		return r->nr_sets;
	for (uint32_t part = 0; part < r->nr_sets; part++) {
		uint32_t nr = r->set_values[part], left = r->nr_values - at;
		bool beyond = nr > left, unknown = part >= AF_ZET_PARTS_MOST;
		if (beyond)
			nr = left;
		cut += beyond || unknown || nr % m->nr;
		struct af_zet_report report = {.part = part, .values = r->values + at};
		if (!unknown)
			part_take(m, &clocks->all[part], r, &report, nr / m->nr, take, arg);
		at += nr;
	}
	return cut;
}
