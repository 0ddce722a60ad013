/*
 * Results of plug-ins as bytes: what is read is what was written, anything less is refused, and
 * slices are handed over in the order that sinks rely on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/time/slices.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "plugin/results.h"

static const struct af_column columns[] = {
    {.key = "name", .title = "Name", .unit = AF_CELL_TEXT, .merge = AF_MERGE_KEY},
    {.key = "time_ns", .title = "Time", .unit = AF_CELL_NS}};

static uint32_t track_add(struct af_plugin_results *r, const char *name, const char *unit)
{
	AF_GROW(r->tracks, r->nr_tracks, r->cap_tracks);
	r->tracks[r->nr_tracks++] =
	    (struct af_plugin_track){.group = af_strtab_id_z(&r->names, "group"),
	                             .name = af_strtab_id_z(&r->names, name),
	                             .unit = af_strtab_id_z(&r->names, unit ? unit : ""),
	                             .counter = unit != NULL};
	return r->nr_tracks;
}

static void slice_add(struct af_plugin_results *r, uint32_t track, uint64_t from, uint64_t to)
{
	AF_GROW(r->slices, r->nr_slices, r->cap_slices);
	r->slices[r->nr_slices++] =
	    (struct af_plugin_slice){track, af_strtab_id_z(&r->names, "work"), from, to};
}

/* A table, a tree, and slices of which two cross and two nest, out of order. */
static void make(struct af_plugin_results *r)
{
	static const struct af_tree_weight weights[] = {{"time", "ns"}, {"count", "gaps"}};
	struct af_table *t = af_tables_table(&r->tables, "times", "Times", columns, 2);
	struct af_cell *row = af_table_row(&r->tables, t);

	row[0].text = "a";
	row[1].value = 17;
	r->name = "made";
	r->start_ns = 1000;
	struct af_tree *tree = &af_plugin_tree_add(r, "gaps", "Gaps", weights, 2)->tree;
	uint32_t node = af_tree_child(tree, 0, af_tree_name(tree, "main", 4, AF_FRAME_NATIVE, 0));
	af_tree_add(tree, node, 1, 3);
	uint32_t track = track_add(r, "row", NULL), counter = track_add(r, "bytes in use", "bytes");
	slice_add(r, track, 5000, 6000);
	slice_add(r, track, 2000, 4000);
	slice_add(r, track, 2000, 3000);
	slice_add(r, track, 3500, 4500);
	AF_GROW(r->points, r->nr_points, r->cap_points);
	r->points[r->nr_points++] = (struct af_plugin_point){counter, 2500, 4096};
}

static void write_made(struct af_buf *b)
{
	struct af_plugin_results r = {0};

	make(&r);
	af_plugin_results_write(&r, b);
	af_plugin_results_free(&r);
}

static int read_bytes(struct af_plugin_results *r, const struct af_buf *b, size_t len,
                      struct af_err *err)
{
	struct af_cursor c = af_buf_cursor(b);

	c.end = c.at + len;
	return af_plugin_results_read(r, &c, err);
}

static void results_are_the_same_again(void **state)
{
	struct af_plugin_results r = {0};
	struct af_buf first = {0}, second = {0};

	(void)state;
	write_made(&first);
	assert_int_equal(read_bytes(&r, &first, first.len, NULL), 0);
	assert_string_equal(r.name, "made");
	assert_int_equal(r.tables.first->cells[1].value, 17);
	assert_int_equal(r.trees[0].tree.total[1][0], 3);
	assert_string_equal(r.trees[0].tree.weights[1].unit, "gaps");
	assert_non_null(af_plugin_tree_find(&r, "gaps"));
	assert_null(af_plugin_tree_find(&r, "times"));
	af_plugin_results_write(&r, &second);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	af_plugin_results_free(&r);
	af_buf_free(&first);
	af_buf_free(&second);
}

static void less_or_more_is_refused(void **state)
{
	struct af_buf b = {0};

	(void)state;
	write_made(&b);
	size_t whole = b.len;
	af_buf_char(&b, 'x');
	for (size_t len = 0; len <= b.len; len++) {
		struct af_plugin_results r = {0};
		struct af_err err = {0};
		if (len != whole) {
			assert_int_not_equal(read_bytes(&r, &b, len, &err), 0);
			assert_non_null(strstr(err.msg, "damaged"));
		}
		af_plugin_results_free(&r);
	}
	af_buf_free(&b);
}

static void a_failure_has_its_reason_and_no_escapes(void **state)
{
	struct af_plugin_results r = {0};
	struct af_err err = {0};
	struct af_buf b = {0};

	(void)state;
	af_plugin_failure_write("no \033[31mkernel", &b);
	assert_int_not_equal(read_bytes(&r, &b, b.len, &err), 0);
	assert_string_equal(err.msg, "no ?[31mkernel");
	af_plugin_results_free(&r);
	af_buf_free(&b);
}

struct seen {
	struct af_track tracks[8];
	struct af_slice slices[8];
	struct af_point points[8];
	uint32_t nr_tracks, nr_slices, nr_points;
};

static int take_track(void *arg, const struct af_track *t)
{
	struct seen *s = arg;

	s->tracks[s->nr_tracks++] = *t;
	return 0;
}

static int take_slice(void *arg, const struct af_slice *slice)
{
	struct seen *s = arg;

	s->slices[s->nr_slices++] = *slice;
	return 0;
}

static int take_point(void *arg, const struct af_point *p)
{
	struct seen *s = arg;

	s->points[s->nr_points++] = *p;
	return 0;
}

static void slices_come_in_order_and_do_not_cross(void **state)
{
	static const uint64_t starts[] = {2000, 2000, 3500, 5000},
			      ends[] = {4000, 3000, 4500, 6000};
	struct af_plugin_results r = {0};
	struct af_slices all = {.damage = NULL};
	struct seen seen = {.nr_tracks = 0};
	const struct af_slices_sink sink = {&seen, take_track, take_slice, take_point, NULL};

	(void)state;
	make(&r);
	assert_int_equal(af_plugin_slices(&r, 0, &all, &sink), 0);
	assert_int_equal(seen.nr_slices, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(seen.slices[i].start_ns, starts[i]);
		assert_int_equal(seen.slices[i].end_ns, ends[i]);
		assert_string_equal(af_strtab_get(all.names, seen.slices[i].name), "work");
	}
	/* The third crosses the first, so it is on a lane of its own. */
	assert_int_equal(seen.slices[0].track, seen.slices[1].track);
	assert_int_not_equal(seen.slices[2].track, seen.slices[0].track);
	assert_int_equal(seen.tracks[0].kind, AF_TRACK_PROCESS);
	assert_string_equal(seen.tracks[0].name, "group");
	assert_int_equal(seen.tracks[seen.points[0].track - 1].kind, AF_TRACK_COUNTER);
	assert_int_equal(seen.tracks[seen.points[0].track - 1].unit, AF_CELL_BYTES);
	assert_int_equal(seen.points[0].value, 4096);
	assert_int_equal(all.start_ns, 1000);
	af_plugin_results_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(results_are_the_same_again),
	    cmocka_unit_test(less_or_more_is_refused),
	    cmocka_unit_test(a_failure_has_its_reason_and_no_escapes),
	    cmocka_unit_test(slices_come_in_order_and_do_not_cross),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
