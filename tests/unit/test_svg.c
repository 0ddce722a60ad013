#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyse/difference/difference.h"
#include "analyse/tree/tree.h"
#include "base/buf.h"
#include "base/err.h"
#include "render/embed/embed.h"
#include "render/render.h"
#include "render/svg/attributes.h"
#include "render/svg/palette.h"
#include "render/svg/palette_map.h"
#include "render/text/label.h"

AF_EMBED(svg_script);

static const struct af_tree_weight weights[] = {{"samples", "samples"}, {"time", "ns"}};
static const struct af_tree_weight columns[] = {{"before", "samples"}, {"after", "samples"}};

/* The picture of folded @text as a string to free(), or NULL with @err. */
static char *draw(const char *text, const struct af_picture *p, struct af_err *err)
{
	struct af_tree t;
	struct af_folded_stats stats;
	FILE *f = tmpfile();
	struct af_render r = {.fd = fileno(f), .picture = p};
	char *svg = NULL;

	af_tree_open(&t, p->differential ? columns : weights, 2);
	assert_int_equal(af_folded_read(&t, text, strlen(text), p->differential, &stats, err), 0);
	if (!af_format_for("out.svg")->tree(&r, &t, err)) {
		off_t size = lseek(r.fd, 0, SEEK_END);
		svg = calloc(1, (size_t)size + 1);
		assert_int_equal(pread(r.fd, svg, (size_t)size, 0), size);
	}
	af_tree_close(&t);
	fclose(f);
	return svg;
}

static void assert_has(const char *text, const struct af_picture *p, const char *part)
{
	struct af_err err = {0};
	char *svg = draw(text, p, &err);

	assert_non_null(svg);
	if (!strstr(svg, part))
		fail_msg("no %s in\n%s", part, svg);
	free(svg);
}

static void assert_lacks(const char *text, const struct af_picture *p, const char *part)
{
	struct af_err err = {0};
	char *svg = draw(text, p, &err);

	assert_non_null(svg);
	assert_null(strstr(svg, part));
	free(svg);
}

static const struct af_picture plain;

static void the_order_of_lines_does_not_show(void **state)
{
	struct af_err err = {0};
	char *a = draw("a;b;c 1\na;d 2\ne 3\na;b 4\n", &plain, &err);
	char *b = draw("a;b 4\ne 3\na;d 2\na;b;c 1\n", &plain, &err);

	assert_string_equal(a, b);
	free(a);
	free(b);
}

static void labels_say_name_weight_and_share(void **state)
{
	assert_has("a;b 1234\na;c 3766\n", &plain, "<title>b (1,234 samples, 24.68%)</title>");
	assert_has("a;b 1234\na;c 3766\n", &plain, "<title>all (5,000 samples, 100%)</title>");
	const struct af_picture named = {.count_name = "<bytes>", .factor = 2.5};
	assert_has("a 3\n", &named, "<title>a (7.5 &lt;bytes&gt;, 100.00%)</title>");
}

static void frames_below_the_minimum_width_are_left_out(void **state)
{
	const struct af_picture percent = {.min_width = 10, .min_width_percent = true};
	const struct af_picture pixels = {.min_width = 200};
	const struct af_picture all = {.all_frames = true};
	const char *text = "wide 89\nthin;sub 11\nhair 100000\n";

	assert_lacks(text, &percent, "<title>wide (");
	assert_lacks(text, &pixels, "<title>wide (");
	assert_has(text, &all, "<title>wide (");
	assert_has("wide 89\nthin;sub 11\n", &percent, "<title>sub (");
	assert_has("a 20000000\nb 1\n", &all, "<title>b (");
	assert_lacks("a 20000000\nb 1\n", &plain, "<title>b (");
}

/* Rows become low, then the deepest ones are left out, and the picture says how much they hold. */
static void a_picture_fits_one_screen(void **state)
{
	const struct af_picture screen = {.one_screen = true, .hidden = "Hidden: a <thing>."};
	struct af_buf deep = {0};

	for (int rows = 0; rows < 99; rows++)
		af_buf_fmt(&deep, "f%d;", rows);
	af_buf_str(&deep, "f99 1\nf0;f1 3\n");
	assert_has(deep.data, &plain, "height=\"1686\"");
	assert_has(deep.data, &plain, "<title>f99 (1 samples");
	assert_lacks(deep.data, &plain, "left-out\">");
	assert_has(deep.data, &screen, "height=\"11\"");
	assert_has(deep.data, &screen, "left-out\">Hidden: a &lt;thing&gt;.</text>");
	assert_has(deep.data, &screen, "Cut off: the 41 deepest rows, which hold 25.00%;");
	assert_has(deep.data, &screen, "<title>f58 (1 samples");
	assert_lacks(deep.data, &screen, "<title>f59 (");
	assert_has("a;b 1\n", &screen, "height=\"15\"");
	assert_lacks("a;b 1\n", &screen, "Cut off");
	af_buf_free(&deep);
}

static void a_name_cannot_leave_its_place(void **state)
{
	const char *text = "</script><script>alert(1)</script>;]]>;\"x\" onload='y'&;\x01\xff 1\n";
	struct af_err err = {0};
	char *svg = draw(text, &plain, &err);

	assert_null(strstr(svg, "<script>alert"));
	/* One script, one CDATA section. */
	assert_ptr_equal(strstr(svg, "]]>"), strstr(svg, "]]></script>"));
	assert_null(strstr(strstr(svg, "]]></script>") + 3, "]]>"));
	assert_non_null(strstr(svg, "&quot;x&quot; onload=&#39;y&#39;&amp; ("));
	assert_non_null(strstr(svg, "\xef\xbf\xbd\xef\xbf\xbd ("));
	free(svg);
	const struct af_picture hostile = {.title = "</text><script>",
	                                   .notes = "--><script>",
	                                   .font_type = "\"><script>",
	                                   .name_type = "]]></script>",
	                                   .search_color = "</script>",
	                                   .count_name = "]]><script>"};
	svg = draw("a;b 1\n", &hostile, &err);
	assert_null(strstr(svg, "<script>"));
	assert_ptr_equal(strstr(svg, "]]>"), strstr(svg, "]]></script>"));
	free(svg);
}

static void what_is_reported_of_a_frame_cannot_leave_its_place(void **state)
{
	const char *reported = "a\ttitle=</title><script>]]>\thref=\"><script>\tclass=\"><script>\t"
			       "a_extra=rel='\"><script>]]>'\tid=\xff\xef\xbf\xbe\tdata-x=]]>\n";
	struct af_attributes attributes;
	const struct af_picture p = {.attributes = &attributes};
	struct af_err err = {0};

	assert_int_equal(af_attributes_open(&attributes, reported, strlen(reported), "f", &err), 0);
	char *svg = draw("a;b 1\n", &p, &err);
	assert_null(strstr(svg, "<script>"));
	assert_ptr_equal(strstr(svg, "]]>"), strstr(svg, "]]></script>"));
	assert_non_null(strstr(svg, "<g data-frame=\"a (1 samples, 100.00%)\" "
	                            "class=\"&quot;&gt;&lt;script&gt;\" "
	                            "id=\"\xef\xbf\xbd\xef\xbf\xbd\" "
	                            "data-x=\"]]&gt;\"><title>&lt;/title&gt;"));
	assert_non_null(strstr(svg, "<a xlink:href=\"&quot;&gt;&lt;script&gt;\" target=\"_top\" "
	                            "rel=\"&quot;&gt;&lt;script&gt;]]&gt;\"><rect "));
	assert_non_null(strstr(svg, " xmlns:xlink=\"http://www.w3.org/1999/xlink\""));
	free(svg);
	af_attributes_close(&attributes);
}

static void remembered_colors_are_drawn_and_new_ones_remembered(void **state)
{
	struct af_palette_map map;
	const struct af_picture p = {.colors = &map}, diff = {.colors = &map, .differential = true};
	struct af_err err = {0};

	assert_int_equal(af_palette_map_open(&map, "/nowhere/map", &err), 0);
	af_palette_map_keep(&map, "a", 1, AF_FRAME_KERNEL, 0x123456);
	af_palette_map_keep(&map, "", 0, AF_FRAME_NATIVE, 0x654321);
	free(draw("x 1 2\n", &diff, &err));
	assert_int_equal(map.nr_added, 2);
	char *svg = draw("a_[k];-;b 1\nhair 1\na_[k];wide 1000000\n", &p, &err);
	assert_non_null(strstr(svg, "fill=\"#123456\""));
	assert_non_null(strstr(svg, "fill=\"#654321\""));
	/* Kinds may have any colour now. */
	assert_null(strstr(svg, "class=\"legend\""));
	free(svg);
	assert_int_equal(map.nr_added, 3); /* "wide", nothing that is too narrow to be seen */
	af_palette_map_close(&map);
}

static void the_script_ends_no_section_early(void **state)
{
	assert_null(strstr((const char *)af_embed_svg_script, "]]>"));
	assert_null(strstr((const char *)af_embed_svg_script, "</script"));
}

static void a_difference_counts_whole_subtrees(void **state)
{
	const struct af_picture diff = {.differential = true};
	const char *text = "r;a 1 5\nr;b 9 1\nr;gone;deep 10 0\n";

	assert_has(text, &diff, "<title>r (6 samples, 100.00%; change -233.33%, own +0.00%)");
	assert_has(text, &diff, "<title>a (5 samples, 83.33%; change +66.67%, own +66.67%)");
	assert_has(text, &diff, "<title>r;gone (10 samples)\n</title>");
	assert_has(text, &diff, "Vanished: 1 stack, 10 samples");
}

/* The colour of the frame called @name in the difference of both columns of @text. */
static unsigned look_color(const char *text, const char *name, bool by_self,
                           enum af_normalize normalize)
{
	struct af_folded_stats stats;
	struct af_difference d;
	struct af_tree t;
	struct af_err err = {0};
	FILE *f = tmpfile();
	char svg[1 << 16] = "", title[64];
	unsigned color = 0;

	af_tree_open(&t, columns, 2);
	assert_int_equal(af_folded_read(&t, text, strlen(text), true, &stats, &err), 0);
	const struct af_difference_side x = {&t, 0, 0, -1, 0}, y = {&t, 1, 1, -1, 0};
	af_difference_open(&d, &x, &y, false);
	d.look.by_self = by_self;
	d.look.normalize = normalize;
	const struct af_picture p = {.differential = true, .look = &d.look};
	struct af_render r = {.fd = fileno(f), .picture = &p};
	assert_int_equal(af_format_for("svg")->tree(&r, &d.tree, &err), 0);
	assert_true(pread(r.fd, svg, sizeof svg - 1, 0) > 0);
	snprintf(title, sizeof title, "<title>%s (", name);
	const char *at = strstr(svg, title);
	assert_non_null(at);
	assert_int_equal(sscanf(strstr(at, "fill=\"#"), "fill=\"#%6x", &color), 1);
	af_difference_close(&d);
	af_tree_close(&t);
	fclose(f);
	return color;
}

static void noise_is_grey_and_changes_are_by_self_or_all(void **state)
{
	const char *text = "r;up 100 400\nr;down 500 100\nr;noise 50 60\nr;same 70 70\n";

	assert_true((look_color(text, "up", false, AF_NORMALIZE_NONE) & 0xffff) < 0xee00);
	assert_int_equal(look_color(text, "up", false, AF_NORMALIZE_NONE) >> 16, 0xff);
	assert_int_equal(look_color(text, "down", true, AF_NORMALIZE_NONE) & 0xff, 0xff);
	assert_int_equal(look_color(text, "noise", false, AF_NORMALIZE_NONE), 0xdadada);
	assert_int_equal(look_color(text, "same", true, AF_NORMALIZE_NONE), 0xeeeeee);
	/* Its children's change is none of its own. */
	text = "r 10 10\nr;up 100 400\n";
	assert_int_equal(look_color(text, "r", false, AF_NORMALIZE_NONE) >> 16, 0xff);
	assert_int_equal(look_color(text, "r", true, AF_NORMALIZE_NONE), 0xeeeeee);
	/* By shares half is less, where the other half is not. */
	text = "a 1000 1000\nb 1000 3000\n";
	assert_int_equal(look_color(text, "a", false, AF_NORMALIZE_NONE), 0xeeeeee);
	assert_int_equal(look_color(text, "a", false, AF_NORMALIZE_TOTAL) & 0xff, 0xff);
}

static void a_difference_needs_two_columns(void **state)
{
	const struct af_picture diff = {.differential = true};
	struct af_tree t;
	struct af_err err = {0};
	struct af_render r = {.fd = -1, .picture = &diff};

	af_tree_open(&t, weights, 1);
	af_tree_finish(&t);
	assert_int_not_equal(af_format_for("svg")->tree(&r, &t, &err), 0);
	assert_non_null(strstr(err.msg, "two columns"));
	af_tree_close(&t);
}

static void wrong_choices_are_named(void **state)
{
	const struct af_picture palette = {.palette = "beige"};
	const struct af_picture back = {.bgcolors = "#12345"};
	const struct af_picture weight = {.weight = "bytes"};
	struct af_err err = {0};

	assert_null(draw("a 1\n", &palette, &err));
	assert_non_null(strstr(err.msg, "beige"));
	assert_null(draw("a 1\n", &back, &err));
	assert_non_null(strstr(err.msg, "#12345"));
	assert_null(draw("a 1\n", &weight, &err));
	assert_non_null(strstr(err.msg, "samples, time"));
}

static void nothing_and_too_much_are_still_pictures(void **state)
{
	assert_has("", &plain, "<title>all (0 samples, 100%)</title>");
	assert_has("a 0\n", &plain, "</svg>");
	assert_has("a 18446744073709551615\nb 18446744073709551615\n", &plain, "</svg>");
	const struct af_picture total = {.total = 200};
	assert_has("a 100\n", &total, "<title>a (100 samples, 50.00%)</title>");
	const struct af_picture fraction = {.total = 2.5};
	assert_has("a 0.5\n", &fraction, "<title>a (0.5 samples, 20.00%)</title>");
}

static void every_palette_has_a_color_for_every_kind(void **state)
{
	struct af_tree t;

	af_tree_open(&t, weights, 1);
	for (const char *const *name = af_palette_names; *name; name++) {
		const struct af_picture p = {.palette = *name},
					hash = {.palette = *name, .hash = true};
		struct af_palette pal;
		assert_int_equal(af_palette_open(&pal, &p, &t, NULL), 0);
		for (enum af_frame f = 0; f < AF_FRAME_END; f++) {
			uint32_t rgb = af_palette_color(&pal, "a::b", 4, f);
			assert_int_equal(rgb, af_palette_color(&pal, "a::b", 4, f));
			assert_true(rgb > 0 && rgb <= 0xffffff);
		}
		assert_int_equal(af_palette_open(&pal, &hash, &t, NULL), 0);
		af_palette_color(&pal, "", 0, AF_FRAME_NATIVE);
	}
	af_tree_close(&t);
}

/* Which channel leads tells the hue. */
static void the_gpu_palette_tells_layers_apart(void **state)
{
	const struct af_picture p = {.palette = "gpu"};
	struct af_palette pal;
	struct af_tree t;

	af_tree_open(&t, weights, 1);
	assert_int_equal(af_palette_open(&pal, &p, &t, NULL), 0);
	uint32_t green = af_palette_color(&pal, "send", 4, AF_FRAME_GPU_INSN);
	uint32_t aqua = af_palette_color(&pal, "kernel", 6, AF_FRAME_GPU);
	uint32_t neo = af_palette_color(&pal, "NEOxx", 5, AF_FRAME_NATIVE);
	uint32_t pink = af_palette_color(&pal, "f (a.py:1)", 10, AF_FRAME_PYTHON);
	uint32_t yellow = af_palette_color(&pal, "a::b", 4, AF_FRAME_NATIVE);
	uint32_t red = af_palette_color(&pal, "main", 4, AF_FRAME_NATIVE);
	uint32_t perf_map = af_palette_color(&pal, "py::f", 5, AF_FRAME_NATIVE);
	assert_true((green >> 8 & 255) > (green >> 16) && (green >> 8 & 255) > (green & 255));
	assert_true((aqua & 255) > (aqua >> 16) && (aqua >> 8 & 255) > (aqua >> 16));
	assert_true((neo & 255) > (neo >> 16) && (neo >> 8 & 255) > (neo >> 16));
	assert_true((pink >> 16) > (pink >> 8 & 255) && (pink & 255) > (pink >> 8 & 255));
	assert_true((perf_map >> 16) > (perf_map >> 8 & 255) &&
	            (perf_map & 255) > (perf_map >> 8 & 255));
	assert_true((yellow >> 8 & 255) > (yellow & 255) && (yellow >> 16) > (yellow & 255));
	assert_true((red >> 16) > (red >> 8 & 255) + 60 && (red >> 16) > (red & 255) + 60);
	assert_int_equal(af_palette_color(&pal, "-", 1, AF_FRAME_MARK), 0xc8c8c8);
	af_tree_close(&t);
}

static void changes_are_red_and_blue(void **state)
{
	assert_int_equal(af_palette_delta(0, 10, false), 0xeeeeee);
	assert_int_equal(af_palette_delta(10, 10, false) >> 16, 0xff);
	assert_int_equal(af_palette_delta(-10, 10, false) & 0xff, 0xff);
	assert_int_equal(af_palette_delta(10, 10, false), af_palette_delta(-10, 10, true));
	assert_int_equal(af_palette_delta(INT64_MIN, 1, false) & 0xff, 0xff);
}

static void assert_label(void (*write)(struct af_buf *b, uint64_t v), uint64_t v, const char *text)
{
	struct af_buf b = {0};

	write(&b, v);
	assert_string_equal(b.data, text);
	af_buf_free(&b);
}

static void label_ns(struct af_buf *b, uint64_t v)
{
	af_label_weight(b, &weights[1], v, &plain);
}

static void numbers_are_written_for_people(void **state)
{
	assert_label(af_label_commas, 0, "0");
	assert_label(af_label_commas, 999, "999");
	assert_label(af_label_commas, 1000, "1,000");
	assert_label(af_label_commas, UINT64_MAX, "18,446,744,073,709,551,615");
	assert_label(label_ns, 0, "0 ns");
	assert_label(label_ns, 999, "999 ns");
	assert_label(label_ns, 1500, "1.50 us");
	assert_label(label_ns, 123456789, "123.5 ms");
	assert_label(label_ns, 61000000000, "61.00 s");
	struct af_buf b = {0};
	af_label_fixed(&b, -1.005, 2);
	af_buf_char(&b, ' ');
	af_label_fixed(&b, 0.0 / 0.0, 2);
	af_buf_char(&b, ' ');
	af_label_fixed(&b, 12, 0);
	assert_string_equal(b.data, "-1.00 0 12");
	af_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_order_of_lines_does_not_show),
	    cmocka_unit_test(labels_say_name_weight_and_share),
	    cmocka_unit_test(frames_below_the_minimum_width_are_left_out),
	    cmocka_unit_test(a_picture_fits_one_screen),
	    cmocka_unit_test(a_name_cannot_leave_its_place),
	    cmocka_unit_test(what_is_reported_of_a_frame_cannot_leave_its_place),
	    cmocka_unit_test(remembered_colors_are_drawn_and_new_ones_remembered),
	    cmocka_unit_test(the_script_ends_no_section_early),
	    cmocka_unit_test(a_difference_counts_whole_subtrees),
	    cmocka_unit_test(noise_is_grey_and_changes_are_by_self_or_all),
	    cmocka_unit_test(a_difference_needs_two_columns),
	    cmocka_unit_test(wrong_choices_are_named),
	    cmocka_unit_test(nothing_and_too_much_are_still_pictures),
	    cmocka_unit_test(every_palette_has_a_color_for_every_kind),
	    cmocka_unit_test(the_gpu_palette_tells_layers_apart),
	    cmocka_unit_test(changes_are_red_and_blue),
	    cmocka_unit_test(numbers_are_written_for_people),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
