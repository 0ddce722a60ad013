#include "aflame/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "trace_maker.h"

/* A trace of one stream in memory. */
struct one {
	struct made made;
	struct af_stream stream;
	struct af_trace *trace;
};

static void one_begin(struct one *o)
{
	maker_open(&o->made, &o->stream, 0);
}

static void one_read(struct one *o)
{
	maker_close(&o->made, &o->stream);
	struct af_stream_bytes bytes = {o->made.data, o->made.size};
	af_trace_open_memory(&o->trace, &bytes, 1, 0);
}

static void one_end(struct one *o)
{
	af_trace_close(o->trace);
	free(o->made.data);
}

/* An event of @kind whose fields are all different; its tails have three values, or "text". */
static void put_any(struct af_stream *s, uint16_t kind)
{
	static const uint8_t values[3 * 8] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0xff};
	const struct af_kind_info *info = af_kind_info(kind);
	struct af_tail tails[AF_TAILS_MAX];
	uint8_t fixed[256];

	for (uint32_t i = 0; i < info->fixed_size; i++)
		fixed[i] = (uint8_t)(0xf0 - i);
	for (uint32_t i = 0; i < info->nr_tails; i++) {
		const struct af_field_info *f = &info->fields[info->nr_fields - info->nr_tails + i];
		uint32_t size = af_field_size(f->type);
		tails[i] = size ? (struct af_tail){values, 3 * size, size}
		                : (struct af_tail){"text", 4, 0};
	}
	assert_true(af_stream_put_tail(s, (enum af_kind)kind, 5, fixed, info->fixed_size, tails,
	                               info->nr_tails));
}

static void same_number(const struct af_event *ev, const char *name, uint64_t v)
{
	struct af_field f;

	assert_true(af_event_field(ev, name, &f));
	assert_in_range(f.type, AF_VALUE_NUMBER, AF_VALUE_HEX);
	assert_true(f.number == v && af_event_number(ev, name) == v);
}

static void same_text(const struct af_event *ev, const char *name, const char *text)
{
	assert_string_equal(text, "text");
	assert_ptr_equal(af_event_text(ev, name), text);
}

static void same_seq(const struct af_event *ev, const char *name, const struct af_seq *seq)
{
	struct af_field f;

	assert_true(af_event_field(ev, name, &f));
	assert_int_equal(f.type, AF_VALUE_SEQ);
	assert_true(f.seq.data == seq->data && f.seq.nr == seq->nr && f.seq.size == seq->size);
	assert_int_equal(seq->nr, 3);
	uint64_t first = 0x0807060504030201;
	assert_true(af_seq_at(seq, 0) ==
	            (seq->size == 8 ? first : first & ((1ull << 8 * seq->size) - 1)));
	assert_int_equal(af_seq_at(seq, 3), 0);
}

#define SAME_FIX(name) same_number(ev, #name, (uint64_t)e.name);
#define SAME_STR(name) same_text(ev, #name, e.name);
#define SAME_SEQ(name) same_seq(ev, #name, &e.name);
#define SAME(class, type, name, meaning) SAME_##class(name)
#define AF_K(number, NAME, name, meaning)                                                          \
	static void same_##name(const struct af_event *ev)                                         \
	{                                                                                          \
		struct af_event_##name e;                                                          \
		assert_true(af_event_as_##name(ev, &e));                                           \
		assert_false(af_event_as(ev, number, &e, sizeof e + 1));                           \
		assert_false(af_event_as(ev, number + 1, &e, sizeof e));                           \
		assert_string_equal(af_kind_name(number), #name);                                  \
		assert_int_equal(af_kind_find(#name), number);                                     \
		AF_##NAME##_FIELDS(SAME)                                                           \
	}
AF_KINDS(AF_K)
#undef AF_K

static void struct_and_names_give_the_same_fields(void **state)
{
	static void (*const same[AF_KIND_MAX])(const struct af_event *) = {
#define AF_K(number, NAME, name, meaning) [number] = same_##name,
	    AF_KINDS(AF_K)
#undef AF_K
	};
	struct af_field f;
	struct af_event ev;
	struct one o;

	for (uint16_t kind = 1; kind < AF_KIND_END; kind++) {
		one_begin(&o);
		put_any(&o.stream, kind);
		one_read(&o);
		assert_true(af_trace_next(o.trace, &ev));
		same[kind](&ev);
		assert_false(af_event_field_at(&ev, af_kind_info(kind)->nr_fields, &f));
		assert_false(af_event_field(&ev, "no_such_field", &f));
		one_end(&o);
	}
}

static void malformed_and_unknown_events_have_no_fields(void **state)
{
	struct af_event ev = {
	    .kind = AF_KIND_SAMPLE, .payload = (const uint8_t *)"short", .payload_size = 5};
	struct af_event_sample sample;
	struct af_field f;

	assert_false(af_event_as_sample(&ev, &sample));
	assert_false(af_event_field(&ev, "callpath", &f));
	assert_int_equal(af_event_number(&ev, "callpath"), 0);
	ev.kind = AF_KIND_MAX - 1;
	assert_false(af_event_field_at(&ev, 0, &f));
	assert_null(af_event_text(&ev, "name"));
	assert_null(af_kind_name(AF_KIND_MAX - 1));
	assert_int_equal(af_kind_find("no_such_kind"), 0);
}

static void signed_numbers_and_values_have_their_form(void **state)
{
	struct af_event ev;
	struct af_field f;
	struct one o;

	one_begin(&o);
	af_stream_put(&o.stream, process_end, 5, .status = -1, .source = AF_USAGE_WAIT);
	one_read(&o);
	assert_true(af_trace_next(o.trace, &ev));
	assert_true(af_event_field(&ev, "status", &f));
	assert_int_equal(f.type, AF_VALUE_SIGNED);
	assert_true((int64_t)f.number == -1);
	assert_null(af_field_value_name(&f));
	assert_true(af_event_field(&ev, "source", &f));
	assert_string_equal(af_field_value_name(&f), "WAIT");
	one_end(&o);
}

static void put_text(struct af_stream *s, enum af_kind kind, uint64_t time_ns, uint32_t id,
                     uint32_t program, const char *text)
{
	uint32_t fixed[] = {id, program};
	struct af_tail tail = {text, (uint32_t)strlen(text), 0};

	af_stream_put_tail(s, kind, time_ns, fixed, af_kind_info(kind)->fixed_size, &tail, 1);
}

static void a_definition_holds_until_the_next_one(void **state)
{
	struct af_event ev, found;
	struct one o;
	int nr = 0;

	one_begin(&o);
	af_stream_put(&o.stream, launch, 1, .correlation = 1);
	put_text(&o.stream, AF_KIND_KERNEL, 2, 7, 0, "first");
	af_stream_put(&o.stream, launch, 2, .correlation = 2);
	put_text(&o.stream, AF_KIND_KERNEL, 3, 7, 0, "second");
	af_stream_put(&o.stream, launch, 4, .correlation = 3);
	one_read(&o);
	while (af_trace_next(o.trace, &ev)) {
		if (ev.kind != AF_KIND_LAUNCH)
			continue;
		bool has = af_trace_definition(o.trace, &ev, AF_KIND_KERNEL, 7, &found);
		assert_int_equal(has, ++nr > 1);
		if (has)
			assert_string_equal(af_event_text(&found, "name"),
			                    nr == 2 ? "first" : "second");
		assert_false(af_trace_definition(o.trace, &ev, AF_KIND_KERNEL, 8, &found));
		assert_false(af_trace_definition(o.trace, &ev, AF_KIND_STRING, 7, &found));
		assert_false(af_trace_definition(o.trace, &ev, AF_KIND_SAMPLE, 7, &found));
		assert_false(af_trace_definition(o.trace, &ev, 1000, 7, &found));
		ev.process++;
		assert_false(af_trace_definition(o.trace, &ev, AF_KIND_KERNEL, 7, &found));
	}
	assert_int_equal(nr, 3);
	one_end(&o);
}

static void put_symbol(struct af_stream *s, uint32_t epoch, const uint32_t *frames, uint32_t nr)
{
	struct af_ev_symbol fixed = {.process = 3,
	                             .address = 0x1000,
	                             .epoch = epoch,
	                             .module = 1,
	                             .offset = 0x10,
	                             .source = nr ? AF_SYMBOL_SYMTAB : AF_SYMBOL_NO_SYMBOL};
	struct af_tail tail = {frames, nr * 4, 4};

	af_stream_put_tail(s, AF_KIND_SYMBOL, 9, &fixed, sizeof fixed, &tail, 1);
}

static void an_address_has_the_names_of_its_epoch(void **state)
{
	struct af_symbol_frame f[2] = {{0}};
	struct one o;

	one_begin(&o);
	put_text(&o.stream, AF_KIND_STRING, 9, 1, 0, "lib.so");
	put_text(&o.stream, AF_KIND_STRING, 9, 2, 0, "inlined");
	put_text(&o.stream, AF_KIND_STRING, 9, 3, 0, "outer");
	put_text(&o.stream, AF_KIND_STRING, 9, 4, 0, "file.c");
	put_symbol(&o.stream, 2, (const uint32_t[]){2, 4, 12, 3, 0, 0}, 6);
	put_symbol(&o.stream, 5, (const uint32_t[]){0}, 0);
	one_read(&o);

	assert_int_equal(af_trace_symbol(o.trace, 3, 0x1000, 2, f, 2), 2);
	assert_string_equal(f[0].function, "inlined");
	assert_string_equal(f[0].file, "file.c");
	assert_int_equal(f[0].line, 12);
	assert_string_equal(f[1].function, "outer");
	assert_null(f[1].file);
	assert_string_equal(f[1].module, "lib.so");
	assert_int_equal(f[1].offset, 0x10);
	assert_int_equal(f[1].source, AF_SYMBOL_SYMTAB);

	f[1].function = NULL;
	assert_int_equal(af_trace_symbol(o.trace, 3, 0x1000, 4, f, 1), 2);
	assert_null(f[1].function);
	assert_int_equal(af_trace_symbol(o.trace, 3, 0x1000, 7, f, 2), 1);
	assert_null(f[0].function);
	assert_int_equal(f[0].source, AF_SYMBOL_NO_SYMBOL);
	/* None is of that epoch or before. */
	assert_int_equal(af_trace_symbol(o.trace, 3, 0x1000, 1, f, 2), 1);
	assert_int_equal(af_trace_symbol(o.trace, 3, 0x1001, 2, f, 2), 0);
	assert_int_equal(af_trace_symbol(o.trace, 4, 0x1000, 2, f, 2), 0);
	one_end(&o);
}

static void a_device_time_becomes_one_of_the_trace(void **state)
{
	uint64_t ns = 0, uncertainty_ns = 0;
	struct one o;

	one_begin(&o);
	af_stream_put(&o.stream, clock, 2000, .clock = AF_CLOCK_DEVICE, .device = 1,
	              .mono_ns = 1000, .foreign = 500000, .uncertainty_ns = 10);
	one_read(&o);
	assert_true(af_trace_device_time(o.trace, 1, 1, 500300, &ns, &uncertainty_ns));
	assert_int_equal(ns, 1300);
	assert_int_equal(uncertainty_ns, 10);
	assert_true(af_trace_device_time(o.trace, 1, 1, 500300, &ns, NULL));
	assert_false(af_trace_device_time(o.trace, 1, 2, 500300, &ns, NULL));
	one_end(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(struct_and_names_give_the_same_fields),
	    cmocka_unit_test(malformed_and_unknown_events_have_no_fields),
	    cmocka_unit_test(signed_numbers_and_values_have_their_form),
	    cmocka_unit_test(a_definition_holds_until_the_next_one),
	    cmocka_unit_test(an_address_has_the_names_of_its_epoch),
	    cmocka_unit_test(a_device_time_becomes_one_of_the_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
