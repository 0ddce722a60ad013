/* Reports of metric groups that Level Zero calculated: counters, whole numbers and times. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/zet/reports.h"

enum { REPORTS_MOST = 64, MS = 1000000 };

static struct af_zet_report reports[REPORTS_MOST];
static uint32_t nr_reports;

static void keep(void *arg, const struct af_zet_report *report)
{
	(void)arg;
	assert_true(nr_reports < REPORTS_MOST);
	reports[nr_reports++] = *report;
}

static struct zet_typed_value u64(uint64_t v)
{
	return (struct zet_typed_value){.type = AF_ZET_VALUE_UINT64, .value.u64 = v};
}

static struct zet_typed_value f64(double v)
{
	return (struct zet_typed_value){.type = AF_ZET_VALUE_FLOAT64, .value.f64 = v};
}

static struct zet_typed_value f32(float v)
{
	return (struct zet_typed_value){.type = AF_ZET_VALUE_FLOAT32, .value.f32 = v};
}

static bool is_whole(struct zet_typed_value v, uint32_t per, uint64_t want)
{
	uint64_t whole = UINT64_MAX;

	return af_zet_value_whole(&v, per, &whole) && whole == want;
}

static bool is_none(struct zet_typed_value v, uint32_t per)
{
	uint64_t whole;

	return !af_zet_value_whole(&v, per, &whole);
}

static void numbers_are_whole_or_left_out(void **state)
{
	struct zet_typed_value odd = u64(1);

	(void)state;
	assert_true(is_whole(u64(0), 1, 0));
	assert_true(is_whole(u64(UINT64_MAX), 1, UINT64_MAX));
	assert_true(is_none(u64(UINT64_MAX), AF_ZET_MILLIONTHS));
	assert_true(is_whole(f64(0), AF_ZET_MILLIONTHS, 0));
	assert_true(is_whole(f64(-0.0), AF_ZET_MILLIONTHS, 0));
	assert_true(is_whole(f64(99.5), AF_ZET_MILLIONTHS, 99500000));
	assert_true(is_whole(f32(0.25f), AF_ZET_MILLIONTHS, 250000));
	assert_true(is_whole(f64(0.0000004), AF_ZET_MILLIONTHS, 0));
	assert_true(is_whole(f64(0.0000006), AF_ZET_MILLIONTHS, 1));
	assert_true(is_whole(f64(9e9), AF_ZET_MILLIONTHS, 9000000000000000));
	assert_true(is_none(f64(1e10), AF_ZET_MILLIONTHS));
	assert_true(is_none(f64(-0.001), AF_ZET_MILLIONTHS));
	assert_true(is_none(f64(NAN), AF_ZET_MILLIONTHS));
	assert_true(is_none(f32(INFINITY), AF_ZET_MILLIONTHS));
	assert_true(is_none(f64(-INFINITY), 1));
	odd.type = 77;
	assert_true(is_none(odd, 1));
}

static void amounts_add_up_and_rates_do_not(void **state)
{
	static const struct {
		const char *units;
		uint32_t type;
		bool amount;
	} metrics[] = {
	    {"ns", AF_ZET_TYPE_DURATION, true},
	    {"events", AF_ZET_TYPE_EVENT, true},
	    {"bytes", AF_ZET_TYPE_EVENT_WITH_RANGE, true},
	    {"", AF_ZET_TYPE_EVENT, true},
	    {"MHz", AF_ZET_TYPE_EVENT, false},
	    {"percent", AF_ZET_TYPE_EVENT, false},
	    {"messages/sendcycle", AF_ZET_TYPE_EVENT, false},
	    {"GBpS", AF_ZET_TYPE_THROUGHPUT, false},
	    {"percent", AF_ZET_TYPE_RATIO, false},
	    {"", AF_ZET_TYPE_FLAG, false},
	    {"", AF_ZET_TYPE_RAW, false},
	};
	struct af_zet_meters m = {0};

	(void)state;
	for (uint32_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
		af_zet_meters_add(&m, "M", metrics[i].units, metrics[i].type, i % 4);
		assert_true(m.all[i].is_counter);
		assert_int_equal(m.all[i].is_amount, metrics[i].amount);
		assert_int_equal(m.all[i].per, i % 4 < 2 ? 1 : AF_ZET_MILLIONTHS);
	}
	af_zet_meters_add(&m, "QueryBeginTime", "ns", AF_ZET_TYPE_TIMESTAMP, AF_ZET_VALUE_UINT64);
	af_zet_meters_add(&m, "IP", "Address", AF_ZET_TYPE_IP_EXP, AF_ZET_VALUE_UINT64);
	assert_false(m.all[m.nr - 1].is_counter);
	assert_false(m.all[m.nr - 2].is_counter);
	assert_int_equal(m.stamp_at, m.nr - 1);
	assert_int_equal(m.span_at, 0);
}

static struct af_zet_meters of_three(void)
{
	struct af_zet_meters m = {0};

	af_zet_meters_add(&m, "GpuTime", "ns", AF_ZET_TYPE_DURATION, AF_ZET_VALUE_UINT64);
	af_zet_meters_add(&m, "QueryBeginTime", "ns", AF_ZET_TYPE_TIMESTAMP, AF_ZET_VALUE_UINT64);
	af_zet_meters_add(&m, "N", "", AF_ZET_TYPE_EVENT, AF_ZET_VALUE_UINT64);
	return m;
}

/* @nr reports of a millisecond each from @stamp_ns on, which are read at @read_ns. */
static uint32_t read_at(struct af_zet_clocks *clocks, uint64_t stamp_ns, uint32_t nr,
                        uint64_t read_ns)
{
	const struct af_zet_meters m = of_three();
	struct zet_typed_value values[3 * REPORTS_MOST];
	const uint32_t set = 3 * nr;
	const struct af_zet_reports r = {.values = values,
	                                 .set_values = &set,
	                                 .nr_values = set,
	                                 .nr_sets = 1,
	                                 .read_ns = read_ns,
	                                 .period_ns = 7};

	for (uint32_t i = 0; i < nr; i++) {
		values[3 * i] = u64(MS);
		values[3 * i + 1] = u64(stamp_ns + i * (uint64_t)MS);
		values[3 * i + 2] = u64(i);
	}
	nr_reports = 0;
	return af_zet_reports_take(&m, clocks, &r, keep, NULL);
}

static void the_clock_is_that_of_the_promptest_read(void **state)
{
	const uint64_t device = UINT64_C(1) << 50, ours = UINT64_C(9) << 40;
	struct af_zet_clocks clocks = {0};

	(void)state;
	/* A read that comes 5 ms after the newest report, one that is prompt, and a late one. */
	assert_int_equal(read_at(&clocks, device, 10, ours + 9 * MS + 5 * MS), 0);
	assert_int_equal(nr_reports, 10);
	assert_int_equal(reports[0].time_ns, ours + 5 * MS);
	assert_int_equal(reports[9].time_ns, ours + 14 * MS);
	assert_int_equal(reports[3].span_ns, MS);
	read_at(&clocks, device + 10 * MS, 10, ours + 19 * MS);
	assert_int_equal(reports[9].time_ns, ours + 19 * MS);
	read_at(&clocks, device + 20 * MS, 10, ours + 29 * MS + 8 * MS);
	/* 18 ms since the last read, in which clocks may differ by 900 ns. */
	assert_in_range(reports[0].time_ns, ours + 20 * MS, ours + 20 * MS + 1000);
	assert_int_equal(reports[9].time_ns - reports[0].time_ns, 9 * MS);
	/* The device's clock begins anew. */
	read_at(&clocks, 100, 2, ours + 60 * MS);
	assert_int_equal(reports[1].time_ns, ours + 60 * MS);
	assert_int_equal(reports[0].time_ns, ours + 59 * MS);
}

static void times_are_never_later_than_the_read(void **state)
{
	struct af_zet_clocks clocks = {0};

	(void)state;
	read_at(&clocks, UINT64_MAX - 3 * (uint64_t)MS, 10, 50 * MS);
	for (uint32_t i = 0; i < nr_reports; i++)
		assert_true(reports[i].time_ns <= 50 * MS);
}

static void parts_have_their_reports(void **state)
{
	struct af_zet_meters m = {0};
	const uint32_t sets[] = {4, 2, 3, 100};
	const struct zet_typed_value values[] = {u64(1), u64(2), u64(3), u64(4), u64(5),
	                                         u64(6), u64(7), u64(8), u64(9)};
	struct af_zet_clocks clocks = {0};
	const struct af_zet_reports r = {.values = values,
	                                 .set_values = sets,
	                                 .nr_values = 9,
	                                 .nr_sets = 4,
	                                 .read_ns = 1000,
	                                 .period_ns = 10};

	(void)state;
	af_zet_meters_add(&m, "A", "", AF_ZET_TYPE_EVENT, AF_ZET_VALUE_UINT64);
	af_zet_meters_add(&m, "B", "", AF_ZET_TYPE_EVENT, AF_ZET_VALUE_UINT64);
	nr_reports = 0;
	/* The third ends within a report, and the fourth lies beyond all values. */
	assert_int_equal(af_zet_reports_take(&m, &clocks, &r, keep, NULL), 2);
	assert_int_equal(nr_reports, 4);
	for (uint32_t i = 0; i < nr_reports; i++) {
		assert_int_equal(reports[i].part, i < 2 ? 0 : i - 1);
		assert_int_equal(reports[i].values->value.u64, 1 + 2 * i);
		assert_int_equal(reports[i].span_ns, 10);
	}
	assert_int_equal(reports[0].time_ns, 990);
	assert_int_equal(reports[1].time_ns, 1000);
}

static void too_many_metrics_are_refused(void **state)
{
	static struct af_zet_meters m;
	struct af_zet_clocks clocks = {0};
	const uint32_t set = 0;
	const struct af_zet_reports r = {.set_values = &set, .nr_sets = 1};

	(void)state;
	for (int i = 0; i <= AF_ZET_METERS_MOST; i++)
		af_zet_meters_add(&m, "M", "", AF_ZET_TYPE_EVENT, AF_ZET_VALUE_UINT64);
	assert_int_equal(m.nr, AF_ZET_METERS_MOST + 1);
	assert_int_equal(af_zet_reports_take(&m, &clocks, &r, keep, NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_whole_or_left_out),
	    cmocka_unit_test(amounts_add_up_and_rates_do_not),
	    cmocka_unit_test(the_clock_is_that_of_the_promptest_read),
	    cmocka_unit_test(times_are_never_later_than_the_read),
	    cmocka_unit_test(parts_have_their_reports),
	    cmocka_unit_test(too_many_metrics_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
