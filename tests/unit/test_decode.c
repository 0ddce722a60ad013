#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace_maker.h"

#define for_each_kind(info)                                                                        \
	for (uint16_t kind_ = 0; kind_ < AF_KIND_MAX; kind_++)                                     \
		if ((info = af_kind_info(kind_)))

/* An event of @info with random fields, written and read back. */
struct sample_event {
	uint8_t fixed[256];
	uint8_t tail_bytes[AF_TAILS_MAX][64];
	struct af_tail tails[AF_TAILS_MAX];
	struct made made;
	struct af_trace *trace;
	struct af_event ev;
};

static void event_make(struct sample_event *e, const struct af_kind_info *info)
{
	const struct af_field_info *tail = info->fields + info->nr_fields - info->nr_tails;
	struct af_stream s;

	assert_in_range(info->fixed_size, 0, sizeof e->fixed);
	for (uint32_t i = 0; i < info->fixed_size; i++)
		e->fixed[i] = (uint8_t)rand();
	for (uint32_t i = 0; i < info->nr_tails; i++) {
		uint32_t element = af_field_size(tail[i].type), n = (uint32_t)rand() % 8;
		for (int k = 0; k < 64; k++)
			e->tail_bytes[i][k] = (uint8_t)(1 + rand() % 255);
		e->tails[i] =
		    (struct af_tail){e->tail_bytes[i], n * (element ? element : 1), element};
	}
	maker_open(&e->made, &s, 1);
	assert_true(af_stream_put_tail(&s, info->kind, 5, e->fixed, info->fixed_size, e->tails,
	                               info->nr_tails));
	maker_close(&e->made, &s);
	struct af_stream_bytes bytes = {e->made.data, e->made.size};
	af_trace_open_memory(&e->trace, &bytes, 1, 0);
}

static void event_free(struct sample_event *e)
{
	af_trace_close(e->trace);
	free(e->made.data);
}

static void every_kind_is_read_as_it_was_written(void **state)
{
	const struct af_kind_info *info;
	struct sample_event e;

	srand(1);
	for (int round = 0; round < 20; round++) {
		for_each_kind(info)
		{
			struct af_tail_view views[AF_TAILS_MAX];
			uint8_t fixed[256];

			event_make(&e, info);
			assert_true(af_trace_next(e.trace, &e.ev));
			assert_int_equal(e.ev.kind, info->kind);
			assert_true(af_event_decode(&e.ev, fixed, info->fixed_size, views));
			assert_memory_equal(fixed, e.fixed, info->fixed_size);
			for (uint32_t i = 0; i < info->nr_tails; i++) {
				const struct af_tail *t = &e.tails[i];
				assert_int_equal(views[i].len,
				                 t->element ? t->len / t->element : t->len);
				assert_memory_equal(views[i].data, t->data, t->len);
				if (!t->element)
					assert_int_equal(views[i].data[views[i].len], 0);
			}
			assert_false(af_event_decode(&e.ev, fixed, info->fixed_size + 1u, views));
			event_free(&e);
		}
	}
}

static void payload_of_another_length_is_refused(void **state)
{
	const struct af_kind_info *info;
	struct sample_event e;

	for_each_kind(info)
	{
		event_make(&e, info);
		assert_true(af_trace_next(e.trace, &e.ev));
		assert_true(af_payload_split(info, e.ev.payload, e.ev.payload_size, NULL, NULL));

		/* In memory of just that size, so that a sanitizer sees a byte too many. */
		for (uint32_t size = 0; size < e.ev.payload_size; size++) {
			uint8_t *cut = malloc(size + !size);
			memcpy(cut, e.ev.payload, size);
			assert_false(af_payload_split(info, cut, size, NULL, NULL));
			free(cut);
		}
		uint8_t *longer = calloc(1, e.ev.payload_size + 1);
		memcpy(longer, e.ev.payload, e.ev.payload_size);
		assert_false(af_payload_split(info, longer, e.ev.payload_size + 1, NULL, NULL));
		free(longer);
		event_free(&e);
	}
}

static void count_beyond_the_event_is_refused(void **state)
{
	static const uint32_t counts[] = {2, 0x20000000, 0x20000001, 0x7fffffff, UINT32_MAX};
	const struct af_kind_info *stack = af_kind_info(AF_KIND_STACK);
	uint8_t payload[sizeof(struct af_ev_stack) + 4 + 8] = {0};
	uint32_t count = 1;

	memcpy(payload + stack->fixed_size, &count, 4);
	assert_true(af_payload_split(stack, payload, sizeof payload, NULL, NULL));
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		memcpy(payload + stack->fixed_size, &counts[i], 4);
		assert_false(af_payload_split(stack, payload, sizeof payload, NULL, NULL));
	}
}

static void string_without_its_end_is_refused(void **state)
{
	const struct af_kind_info *note = af_kind_info(AF_KIND_NOTE);

	assert_true(af_payload_split(note, (const uint8_t *)"key\0value", 10, NULL, NULL));
	assert_false(af_payload_split(note, (const uint8_t *)"key\0value", 9, NULL, NULL));
	assert_false(af_payload_split(note, (const uint8_t *)"key", 4, NULL, NULL));
}

static void unknown_kind_does_not_decode(void **state)
{
	struct af_event ev = {
	    .kind = AF_KIND_MAX - 1, .payload = (const uint8_t *)"", .payload_size = 0};

	assert_false(af_event_decode(&ev, NULL, 0, NULL));
	assert_null(af_kind_info(0));
	assert_null(af_kind_info(AF_KIND_MAX - 1));
	assert_null(af_kind_info(65535));
}

/* The facts that af_payload_split, the metadata and the struct definitions rest on. */
static void table_is_sound(void **state)
{
	const struct af_kind_info *info, *other;

	for_each_kind(info)
	{
		uint32_t fixed = 0, tails = 0;
		for (uint32_t i = 0; i < info->nr_fields; i++) {
			const struct af_field_info *f = &info->fields[i];
			if (f->class == AF_FIELD_FIX) {
				assert_int_equal(tails, 0);
				fixed += af_field_size(f->type);
			} else {
				tails++;
			}
			assert_int_equal(f->class == AF_FIELD_STR, f->type == AF_TYPE_str);
			bool named = !strncmp(f->meaning, "enum ", 5);
			if (named && !af_field_enum(f))
				fail_msg("%s.%s: no such enum", info->name, f->name);
		}
		assert_int_equal(fixed, info->fixed_size);
		assert_int_equal(tails, info->nr_tails);
		for (uint16_t k = 0; k < info->kind; k++)
			if ((other = af_kind_info(k)))
				assert_string_not_equal(info->name, other->name);
	}
}

static void values_have_names(void **state)
{
	const struct af_kind_info *stack = af_kind_info(AF_KIND_STACK);
	const struct af_enum_info *stops = af_field_enum(&stack->fields[1]);

	assert_string_equal(stops->name, "af_stop");
	assert_false(stops->flags);
	assert_string_equal(af_enum_name(stops, AF_STOP_TOO_DEEP), "TOO_DEEP");
	assert_null(af_enum_name(stops, 77));
	assert_null(af_field_enum(&stack->fields[0]));
	assert_string_equal(af_stop_text(AF_STOP_TOO_DEEP), "deeper than the limit");
	assert_string_equal(af_op_text(AF_OP_KERNEL), "kernel");
	assert_string_equal(af_lost_text(AF_LOST_BUSY), "a sample hit while a sample was pending");
	assert_string_equal(af_lost_text(77), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_kind_is_read_as_it_was_written),
	    cmocka_unit_test(payload_of_another_length_is_refused),
	    cmocka_unit_test(count_beyond_the_event_is_refused),
	    cmocka_unit_test(string_without_its_end_is_refused),
	    cmocka_unit_test(unknown_kind_does_not_decode),
	    cmocka_unit_test(table_is_sound),
	    cmocka_unit_test(values_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
