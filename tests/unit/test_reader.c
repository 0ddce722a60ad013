#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "trace_maker.h"

/* The result of reading one or more streams. */
struct seen {
	uint64_t events, last_ns, weights[4096];
	bool disordered;
	struct af_trace_damage damage;
};

/* Runs have the same events, however few of them are taken at once. */
static void see_runs(const struct af_stream_bytes *bytes, uint32_t nr, uint64_t wanted)
{
	struct af_trace *one, *other;
	struct af_event ev, is = {0};
	struct af_run runs[3];
	uint32_t got;

	assert_int_equal(af_trace_open_memory(&one, bytes, nr, wanted), 0);
	assert_int_equal(af_trace_open_memory(&other, bytes, nr, wanted), 0);
	while ((got = af_trace_next_runs(one, runs, 3, 70))) {
		for (uint32_t i = 0; i < got; i++) {
			af_run_ids(&runs[i], &is);
			assert_true(runs[i].bytes > 0);
			while (af_run_next(&runs[i], &is)) {
				assert_true(af_trace_next(other, &ev));
				assert_int_equal(is.kind, ev.kind);
				assert_int_equal(is.time_ns, ev.time_ns);
				assert_int_equal(is.stream, ev.stream);
				assert_int_equal(is.process, ev.process);
				assert_int_equal(is.pid, ev.pid);
				assert_int_equal(is.tid, ev.tid);
				assert_ptr_equal(is.payload, ev.payload);
				assert_int_equal(is.payload_size, ev.payload_size);
			}
			assert_int_equal(runs[i].bytes, 0);
		}
	}
	assert_false(af_trace_next(other, &ev));
	assert_memory_equal(af_trace_damage(one), af_trace_damage(other),
	                    sizeof(struct af_trace_damage));
	af_trace_close(one);
	af_trace_close(other);
}

static void see(struct seen *seen, const struct made *made, uint32_t nr, uint64_t wanted)
{
	struct af_stream_bytes bytes[16];
	struct af_trace *t;
	struct af_event ev;

	*seen = (struct seen){0};
	for (uint32_t i = 0; i < nr; i++)
		bytes[i] = (struct af_stream_bytes){made[i].data, made[i].size};
	assert_int_equal(af_trace_open_memory(&t, bytes, nr, wanted), 0);
	while (af_trace_next(t, &ev)) {
		seen->disordered |= ev.time_ns < seen->last_ns;
		seen->last_ns = ev.time_ns;
		struct af_ev_sample sample;
		if (af_event_decode(&ev, &sample, sizeof sample, NULL) && seen->events < 4096)
			seen->weights[seen->events] = sample.weight_ns;
		seen->events++;
	}
	assert_false(af_trace_next(t, &ev));
	assert_int_equal(af_trace_position(t), af_trace_size(t));
	seen->damage = *af_trace_damage(t);
	af_trace_close(t);
	see_runs(bytes, nr, wanted);
}

static void store(struct made *m, size_t at, const void *value, size_t size)
{
	memcpy(m->data + at, value, size);
}

static void store_u64(struct made *m, size_t at, uint64_t value)
{
	store(m, at, &value, sizeof value);
}

static void streams_are_merged_by_time(void **state)
{
	struct made made[7];
	struct af_stream s;
	uint64_t total = 0;

	srand(1);
	for (unsigned i = 0; i < 7; i++) {
		uint64_t time_ns = 1000;
		maker_open(&made[i], &s, i);
		for (int n = rand() % 5000; n > 0; n--, total++)
			af_stream_put(&s, sample, time_ns += (uint64_t)rand() % 50, i, 0, 0);
		maker_close(&made[i], &s);
	}

	struct seen seen;
	see(&seen, made, 7, 0);
	assert_int_equal(seen.events, total);
	assert_false(seen.disordered);
	assert_string_equal(seen.damage.first, "");
	for (int i = 0; i < 7; i++)
		free(made[i].data);
}

/* A file that is cut off while it is read becomes zeros. */
static void a_run_ends_where_its_bytes_were_lost(void **state)
{
	struct af_stream_bytes bytes;
	struct af_event ev = {0};
	struct af_trace *t;
	struct af_run run;
	struct made m;

	maker_samples(&m, 1, 1, 3, 500, 10);
	bytes = (struct af_stream_bytes){m.data, m.size};
	af_trace_open_memory(&t, &bytes, 1, 0);
	assert_int_equal(af_trace_next_runs(t, &run, 1, 10), 1);
	assert_true(af_run_next(&run, &ev));
	memset(m.data + (run.at - m.data), 0, run.bytes);
	assert_false(af_run_next(&run, &ev));
	run.bytes = 5;
	assert_false(af_run_next(&run, &ev));
	af_trace_close(t);
	free(m.data);
}

static void ties_go_by_stream(void **state)
{
	struct made made[3];
	struct af_stream_bytes bytes[3];
	struct af_trace *t;
	struct af_event ev;

	for (unsigned i = 0; i < 3; i++) {
		maker_samples(&made[i], 9 - i, 1, 2, 500, 0);
		bytes[i] = (struct af_stream_bytes){made[i].data, made[i].size};
	}
	af_trace_open_memory(&t, bytes, 3, 0);
	assert_int_equal(af_trace_start_ns(t), 500);
	for (unsigned i = 0; i < 6; i++) {
		assert_true(af_trace_next(t, &ev));
		assert_int_equal(ev.stream, i / 2);
		assert_int_equal(ev.process, 10 - i / 2);
		assert_int_equal(ev.tid, 1000);
		assert_int_equal(ev.time_ns, 500);
	}
	assert_false(af_trace_next(t, &ev));
	af_trace_close(t);
	for (int i = 0; i < 3; i++)
		free(made[i].data);
}

static void no_streams_and_empty_streams_have_no_events(void **state)
{
	struct seen seen;
	struct made empty[2] = {{0}, {0}};

	see(&seen, empty, 0, 0);
	assert_int_equal(seen.events, 0);
	see(&seen, empty, 2, 0);
	assert_int_equal(seen.events, 0);
	assert_string_equal(seen.damage.first, "");
}

/* Like maker_samples, with an event of kind @kind between. */
static void mixed(struct made *m, uint16_t kind)
{
	struct af_stream s;

	maker_open(m, &s, 1);
	af_stream_put(&s, sample, 10, 1, 0, 1);
	memset(af_stream_begin(&s, kind, 20, 5), 0xff, 5);
	af_stream_end(&s);
	af_stream_put(&s, launch, 30, 1, 2);
	maker_close(m, &s);
}

static void unknown_kind_is_handed_over_and_counted(void **state)
{
	static const uint16_t unknown[] = {0, AF_KIND_END, AF_KIND_MAX - 1, AF_KIND_MAX,
	                                   AF_KIND_API - 1};
	struct made m;
	struct seen seen;

	for (int i = 0; i < 5; i++) {
		mixed(&m, unknown[i]);
		see(&seen, &m, 1, 0);
		assert_int_equal(seen.events, 3);
		assert_int_equal(seen.damage.unknown, 1);
		assert_string_equal(seen.damage.first, "");
		free(m.data);
	}
}

static void unwanted_kinds_are_skipped(void **state)
{
	struct made m;
	struct seen seen;

	mixed(&m, AF_KIND_END);
	see(&seen, &m, 1, 1ull << AF_KIND_SAMPLE);
	assert_int_equal(seen.events, 1);
	assert_int_equal(seen.last_ns, 10);
	see(&seen, &m, 1, 1ull << AF_KIND_LAUNCH);
	assert_int_equal(seen.events, 1);
	assert_int_equal(seen.last_ns, 30);
	assert_int_equal(seen.damage.unknown, 1);
	see(&seen, &m, 1, 1ull << AF_KIND_WORK);
	assert_int_equal(seen.events, 0);
	free(m.data);
}

static void malformed_event_is_counted_and_not_handed_over(void **state)
{
	struct made m;
	struct seen seen;

	mixed(&m, AF_KIND_STACK); /* five bytes are no stack */
	see(&seen, &m, 1, 0);
	assert_int_equal(seen.events, 2);
	assert_int_equal(seen.damage.events, 1);
	assert_non_null(strstr(seen.damage.first, "malformed stack"));
	free(m.data);
}

static void bad_magic_costs_one_packet(void **state)
{
	struct made m;
	struct seen seen;

	maker_samples(&m, 1, 5, 10, 1000, 10);
	m.data[maker_packet(&m, 2)] ^= 0x40;
	see(&seen, &m, 1, 0);
	assert_int_equal(seen.events, 40);
	assert_int_equal(seen.weights[20], 30);
	assert_int_equal(seen.damage.packets, 1);
	assert_int_equal(seen.damage.missing, 1);
	assert_int_equal(seen.damage.bytes, maker_packet(&m, 3) - maker_packet(&m, 2));
	free(m.data);
}

static void zeroed_packet_costs_only_itself(void **state)
{
	struct made m;
	struct seen seen;

	maker_samples(&m, 1, 3, 10, 1000, 10);
	size_t at = maker_packet(&m, 1);
	memset(m.data + at, 0, maker_packet(&m, 2) - at);
	see(&seen, &m, 1, 0);
	assert_int_equal(seen.events, 20);
	assert_int_equal(seen.weights[10], 20);
	free(m.data);
}

/* A header in an event's payload is no packet of ours unless it is of this stream. */
static void resync_ignores_headers_of_other_streams(void **state)
{
	struct made m, other;
	struct seen seen;

	maker_samples(&m, 1, 3, 20, 1000, 10);
	maker_samples(&other, 2, 1, 1, 1000, 10);
	size_t at = maker_packet(&m, 1);
	store(&m, at + 1, other.data, other.size);
	m.data[at] = 0;
	see(&seen, &m, 1, 0);
	assert_int_equal(seen.events, 40);
	free(m.data);
	free(other.data);
}

static void truncated_tail_keeps_whole_events(void **state)
{
	enum { EVENT = sizeof(struct af_event_header) + sizeof(struct af_ev_sample) };
	struct made m;
	struct seen seen;

	maker_samples(&m, 1, 2, 10, 1000, 10);
	size_t whole = m.size, last = maker_packet(&m, 1);
	for (m.size = 0; m.size <= whole; m.size++) {
		size_t packet = m.size < last ? 0 : last;
		size_t content = m.size - packet;
		size_t events = content < sizeof(struct af_packet)
		                    ? 0
		                    : (content - sizeof(struct af_packet)) / EVENT;
		see(&seen, &m, 1, 0);
		assert_int_equal(seen.events, (packet ? 10 : 0) + events);
		bool cut = m.size && m.size != last && m.size != whole;
		assert_int_equal(seen.damage.first[0] != 0, cut);
	}
	free(m.data);
}

static void packet_sizes_that_cannot_be_are_seen_through(void **state)
{
	static const struct {
		size_t field;
		uint64_t bits;
		uint64_t events; /* that survive of 5 packets of 10 */
	} cases[] = {
	    {offsetof(struct af_packet, packet_bits), 0, 40},
	    {offsetof(struct af_packet, packet_bits), 8, 40},
	    {offsetof(struct af_packet, packet_bits), 80 * 8 + 3, 40},
	    {offsetof(struct af_packet, packet_bits), 80 * 8, 40},
	    {offsetof(struct af_packet, packet_bits), 1000 * 8, 50},
	    {offsetof(struct af_packet, packet_bits), UINT64_MAX, 40},
	    {offsetof(struct af_packet, packet_bits), UINT64_MAX - 7, 50},
	    {offsetof(struct af_packet, content_bits), 0, 40},
	    {offsetof(struct af_packet, content_bits), 80 * 8, 40},
	    {offsetof(struct af_packet, content_bits), 10000 * 8, 50},
	    {offsetof(struct af_packet, content_bits), UINT64_MAX - 7, 50},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct made m;
		struct seen seen;

		maker_samples(&m, 1, 5, 10, 1000, 10);
		store_u64(&m, maker_packet(&m, 2) + cases[i].field, cases[i].bits);
		see(&seen, &m, 1, 0);
		if (seen.events != cases[i].events)
			fail_msg("case %zu: %llu events: %s", i, (unsigned long long)seen.events,
			         seen.damage.first);
		free(m.data);
	}
}

/* The size leads to a good header, only not to the next one. */
static void packets_inside_a_packet_are_found(void **state)
{
	struct made m;
	struct seen seen;

	maker_samples(&m, 1, 5, 10, 1000, 10);
	size_t at = maker_packet(&m, 1);
	uint64_t bits = (maker_packet(&m, 4) - at) * 8;
	store_u64(&m, at + offsetof(struct af_packet, packet_bits), bits);
	see(&seen, &m, 1, 0);
	assert_int_equal(seen.events, 50);
	assert_int_equal(seen.damage.packets, 1);

	/* The next ones are not padding now, but content; one event may seem to be in it. */
	store_u64(&m, at + offsetof(struct af_packet, content_bits), bits);
	see(&seen, &m, 1, 0);
	assert_true(seen.events >= 49);
	assert_int_equal(seen.weights[seen.events - 1], 49);
	free(m.data);
}

static void event_sizes_that_cannot_be_cost_the_rest_of_the_packet(void **state)
{
	static const uint16_t sizes[] = {0, 1, 11, 65535};
	enum { EVENT = sizeof(struct af_event_header) + sizeof(struct af_ev_sample) };

	for (int i = 0; i < 4; i++) {
		struct made m;
		struct seen seen;

		maker_samples(&m, 1, 3, 10, 1000, 10);
		size_t event = maker_packet(&m, 1) + sizeof(struct af_packet) + 4 * EVENT;
		store(&m, event + 2, &sizes[i], 2);
		see(&seen, &m, 1, 0);
		assert_int_equal(seen.events, 24);
		assert_int_equal(seen.weights[14], 20);
		assert_int_equal(seen.damage.events, 1);
		assert_int_equal(seen.damage.bytes, 6 * EVENT);
		free(m.data);
	}
}

static void times_never_go_back(void **state)
{
	enum { EVENT = sizeof(struct af_event_header) + sizeof(struct af_ev_sample) };
	static const uint64_t times[] = {0, 1005, UINT64_MAX};

	for (int i = 0; i < 3; i++) {
		struct made m;
		struct seen seen;

		maker_samples(&m, 1, 3, 10, 1000, 10);
		size_t event = maker_packet(&m, 1) + sizeof(struct af_packet) + 4 * EVENT;
		store_u64(&m, event + offsetof(struct af_event_header, time_ns), times[i]);
		see(&seen, &m, 1, 0);
		assert_int_equal(seen.events, 30);
		assert_false(seen.disordered);
		/*
		 * The wrong one is moved to its packet's end at most, and its neighbours with it.
		 */
		assert_int_equal(seen.last_ns, 1000 + 29 * 10);
		assert_in_range(seen.damage.retimed, 1, 6);
		free(m.data);
	}
}

static void missing_packets_are_counted(void **state)
{
	struct made m;
	struct seen seen;

	maker_samples(&m, 1, 6, 10, 1000, 10);
	size_t from = maker_packet(&m, 2), to = maker_packet(&m, 5);
	memmove(m.data + from, m.data + to, m.size - to);
	m.size -= to - from;
	see(&seen, &m, 1, 0);
	assert_int_equal(seen.events, 30);
	assert_int_equal(seen.damage.missing, 3);
	assert_int_equal(seen.damage.packets, 0);
	assert_non_null(strstr(seen.damage.first, "packets 2 to 4 are missing"));
	free(m.data);
}

static void sequence_number_that_cannot_be_is_no_loss(void **state)
{
	struct made m;
	struct seen seen;

	maker_samples(&m, 1, 4, 10, 1000, 10);
	store_u64(&m, maker_packet(&m, 1) + offsetof(struct af_packet, seq), UINT64_MAX);
	see(&seen, &m, 1, 0);
	assert_int_equal(seen.events, 40);
	assert_int_equal(seen.damage.disordered, 1);
	assert_true(seen.damage.missing <= 1);
	free(m.data);
}

static void discarded_events_are_summed_over_streams(void **state)
{
	struct made made[2];
	struct seen seen;

	for (unsigned i = 0; i < 2; i++) {
		maker_samples(&made[i], i, 3, 10, 1000, 10);
		for (unsigned p = 1; p < 3; p++)
			store_u64(&made[i],
			          maker_packet(&made[i], p) + offsetof(struct af_packet, discarded),
			          p * 100 + i);
	}
	see(&seen, made, 2, 0);
	assert_int_equal(seen.damage.discarded, 200 + 201);
	assert_string_equal(seen.damage.first, "");
	free(made[0].data);
	free(made[1].data);
}

/* Whatever single bit is wrong, the other packets are read in full. */
static void one_wrong_bit_costs_at_most_its_packet(void **state)
{
	struct made m;
	struct seen seen;

	maker_samples(&m, 1, 3, 4, 1000, 10);
	for (size_t bit = 0; bit < m.size * 8; bit++) {
		unsigned packet = bit / 8 < maker_packet(&m, 1)   ? 0
		                  : bit / 8 < maker_packet(&m, 2) ? 1
		                                                  : 2;
		m.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		see(&seen, &m, 1, 0);
		assert_false(seen.disordered);
		m.data[bit / 8] ^= (uint8_t)(1 << bit % 8);

		uint32_t found = 0;
		for (uint64_t i = 0; i < seen.events; i++)
			if (seen.weights[i] < 12 && seen.weights[i] / 4 != packet)
				found |= 1u << seen.weights[i];
		if (__builtin_popcount(found) != 8)
			fail_msg("bit %zu of byte %zu: %#x", bit % 8, bit / 8, found);
	}
	free(m.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(streams_are_merged_by_time),
	    cmocka_unit_test(ties_go_by_stream),
	    cmocka_unit_test(no_streams_and_empty_streams_have_no_events),
	    cmocka_unit_test(unknown_kind_is_handed_over_and_counted),
	    cmocka_unit_test(unwanted_kinds_are_skipped),
	    cmocka_unit_test(malformed_event_is_counted_and_not_handed_over),
	    cmocka_unit_test(bad_magic_costs_one_packet),
	    cmocka_unit_test(zeroed_packet_costs_only_itself),
	    cmocka_unit_test(resync_ignores_headers_of_other_streams),
	    cmocka_unit_test(truncated_tail_keeps_whole_events),
	    cmocka_unit_test(packet_sizes_that_cannot_be_are_seen_through),
	    cmocka_unit_test(packets_inside_a_packet_are_found),
	    cmocka_unit_test(event_sizes_that_cannot_be_cost_the_rest_of_the_packet),
	    cmocka_unit_test(times_never_go_back),
	    cmocka_unit_test(a_run_ends_where_its_bytes_were_lost),
	    cmocka_unit_test(missing_packets_are_counted),
	    cmocka_unit_test(sequence_number_that_cannot_be_is_no_loss),
	    cmocka_unit_test(discarded_events_are_summed_over_streams),
	    cmocka_unit_test(one_wrong_bit_costs_at_most_its_packet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
