#include "inject/core/descriptors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/write/stream.h"

struct fixture {
	struct af_stream s;
	struct af_work_descriptor_memo memo;
	char path[64];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	if (!f)
		return -1;
	strcpy(f->path, "/tmp/af-descriptors-XXXXXX");
	int fd = mkstemp(f->path);
	if (fd < 0)
		return -1;
	close(fd);
	unlink(f->path);
	*state = f;
	return af_stream_open_ring(&f->s, f->path, 1, 1, 1, 1);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	af_stream_close(&f->s);
	unlink(f->path);
	free(f);
	return 0;
}

/* Counts the DESCRIPTOR events of the open packet; *@last is a copy of the last one. */
static unsigned descriptors_written(const struct fixture *f, struct af_ev_descriptor *last)
{
	const char *p = (const char *)(f->s.packet + 1);
	const char *end = (const char *)f->s.packet + f->s.packet->content_bits / 8;
	unsigned nr = 0;

	while (p < end) {
		const struct af_event_header *h = (const void *)p;
		if (h->kind == AF_KIND_DESCRIPTOR) {
			memcpy(last, h + 1, sizeof *last);
			nr++;
		}
		p += h->size;
	}
	return nr;
}

static void repeated_descriptor_is_defined_once(void **state)
{
	struct fixture *f = *state;
	struct af_ev_descriptor a = {.op = AF_OP_KERNEL, .queue = 1, .kernel = 7, .global_x = 1024};
	struct af_ev_descriptor last;

	uint32_t id = af_work_descriptor_id(&f->memo, &f->s, 10, &a);
	a.descriptor = 99; /* must not matter */
	assert_int_not_equal(id, 0);
	assert_int_equal(af_work_descriptor_id(&f->memo, &f->s, 11, &a), id);
	assert_int_equal(descriptors_written(f, &last), 1);
	assert_int_equal(last.descriptor, id);
	assert_int_equal(last.kernel, 7);
	assert_int_equal(last.global_x, 1024);
}

static void every_field_tells_descriptors_apart(void **state)
{
	struct fixture *f = *state;
	struct af_ev_descriptor a = {.op = AF_OP_KERNEL}, last;
	uint32_t ids[16];
	unsigned nr = 0;

	ids[nr++] = af_work_descriptor_id(&f->memo, &f->s, 1, &a);
#define CHANGE(field)                                                                              \
	do {                                                                                       \
		struct af_ev_descriptor b = a;                                                     \
		b.field ^= 3;                                                                      \
		ids[nr++] = af_work_descriptor_id(&f->memo, &f->s, 1, &b);                         \
	} while (0)
	CHANGE(op);
	CHANGE(queue);
	CHANGE(kernel);
	CHANGE(bytes);
	CHANGE(global_x);
	CHANGE(global_y);
	CHANGE(global_z);
	CHANGE(local_x);
	CHANGE(local_y);
	CHANGE(local_z);
	assert_int_equal(descriptors_written(f, &last), nr);
	for (unsigned i = 0; i < nr; i++) {
		for (unsigned k = 0; k < i; k++)
			assert_int_not_equal(ids[i], ids[k]);
	}
}

static void forgotten_descriptor_gets_a_new_id(void **state)
{
	struct fixture *f = *state;
	struct af_ev_descriptor first = {.op = AF_OP_COPY, .bytes = 0}, last;
	uint32_t id = af_work_descriptor_id(&f->memo, &f->s, 1, &first), highest = id;
	unsigned nr = AF_DESCRIPTOR_SETS * AF_DESCRIPTOR_WAYS * 3;

	for (unsigned i = 1; i <= nr; i++) {
		struct af_ev_descriptor s = {.op = AF_OP_COPY, .bytes = i};
		uint32_t other = af_work_descriptor_id(&f->memo, &f->s, 1, &s);
		assert_true(other > highest);
		highest = other;
	}
	uint32_t again = af_work_descriptor_id(&f->memo, &f->s, 2, &first);
	assert_true(again > highest);
	assert_true(descriptors_written(f, &last) > 0);
	assert_int_equal(last.descriptor, again);
	assert_int_equal(last.bytes, 0);
}

static void discarded_definition_is_not_remembered(void **state)
{
	struct fixture *f = *state;
	struct af_ev_descriptor a = {.op = AF_OP_FILL, .bytes = 64};

	/* Nobody drains: fill the ring to its end. */
	while (af_stream_put(&f->s, sample, 1, .callpath = 1))
		;
	assert_int_equal(af_work_descriptor_id(&f->memo, &f->s, 2, &a), 0);
	assert_int_equal(af_work_descriptor_id(&f->memo, &f->s, 3, &a), 0);
	assert_int_equal(f->memo.nr_ids, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(repeated_descriptor_is_defined_once),
	    T(every_field_tells_descriptors_apart),
	    T(forgotten_descriptor_gets_a_new_id),
	    T(discarded_definition_is_not_remembered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
