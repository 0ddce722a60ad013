/* report.html as bytes: what is packed can be unpacked, and no input leaves its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "analyse/table/table.h"
#include "analyse/tree/tree.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "render/html/columns.h"
#include "render/html/pack.h"
#include "render/render.h"

static const struct af_tree_weight two_weights[] = {{"time", "ns"}, {"samples", "samples"}};

static uint32_t add_frame(struct af_tree *t, uint32_t parent, const char *text, enum af_frame frame)
{
	return af_tree_child(t, parent, af_tree_name(t, text, strlen(text), frame, 0));
}

/* root → main(0) → { alpha 30 ns 3, beta 50 ns 5 } */
static void small_tree(struct af_tree *t)
{
	af_tree_open(t, two_weights, 2);
	uint32_t top = add_frame(t, 0, "main", AF_FRAME_PYTHON);
	uint32_t beta = add_frame(t, top, "beta", AF_FRAME_KERNEL);
	uint32_t alpha = add_frame(t, top, "alpha", AF_FRAME_NATIVE);
	af_tree_add(t, alpha, 0, 300);
	af_tree_add(t, alpha, 1, 3);
	af_tree_add(t, beta, 0, 500);
	af_tree_add(t, beta, 1, 5);
	af_tree_finish(t);
}

/* The bytes that a blob's text stands for; returns how many. */
static size_t text_bytes(const char *text, size_t len, unsigned char *bytes)
{
	static const unsigned char escaped[] = {0,  5,  7,  8,  11, 12,  13,
	                                        14, 15, 24, 26, 27, '<', 127};
	uint32_t bits = 0;
	unsigned have = 0;
	size_t nr = 0;

	for (size_t i = 1; i < len; i++) {
		unsigned code = (unsigned char)text[i], sevens = 1;
		if (code > 127) {
			code = (code & 31) << 6 | (text[++i] & 63);
			assert_in_range(code, 256, 256 + sizeof escaped * 128 - 1);
			code = (unsigned)escaped[(code >> 7) - 2] << 7 | (code & 127);
			sevens = 2;
		} else {
			assert_null(memchr(escaped, (int)code, sizeof escaped));
		}
		bits = bits << 7 * sevens | code;
		for (have += 7 * sevens; have >= 8; have -= 8)
			bytes[nr++] = (unsigned char)(bits >> (have - 8));
	}
	return nr - (size_t)(text[0] - '0');
}

/* Undo text and deflate; returns the plain size. */
static size_t unpack(const struct af_buf *blob, unsigned char *plain, size_t room)
{
	unsigned char *packed = malloc(blob->len + 4);
	size_t nr = text_bytes(blob->data, blob->len, packed);
	z_stream z = {
	    .next_in = packed, .avail_in = (uInt)nr, .next_out = plain, .avail_out = (uInt)room};

	assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);
	free(packed);
	return room - z.avail_out;
}

/* Every length, with every byte at every place in seven bits, and at the end. */
static void text_stands_for_any_bytes(void **state)
{
	unsigned char data[600], back[700];
	uint32_t random = 1;

	for (size_t len = 0; len < sizeof data; len++) {
		struct af_buf text = {0};
		for (size_t i = 0; i < len; i++) {
			random = random * 1664525 + 1013904223;
			data[i] =
			    len % 3 ? (unsigned char)(random >> 24) : (unsigned char)(len / 3);
		}
		html_text(&text, data, len);
		assert_int_equal(text_bytes(text.data, text.len, back), len);
		assert_memory_equal(back, data, len);
		assert_true(text.len <= 1 + (len * 8 + 6) / 7 + 1);
		af_buf_free(&text);
	}
}

static void base64_is_that_of_the_rfc(void **state)
{
	static const char *const pairs[][2] = {
	    {"", ""},
	    {"f", "Zg=="},
	    {"fo", "Zm8="},
	    {"foo", "Zm9v"},
	    {"foob", "Zm9vYg=="},
	    {"fooba", "Zm9vYmE="},
	    {"foobar", "Zm9vYmFy"},
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct af_buf b = {0};
		html_base64(&b, pairs[i][0], strlen(pairs[i][0]));
		assert_string_equal(b.data ? b.data : "", pairs[i][1]);
		af_buf_free(&b);
	}
}

static void tree_unpacks_to_its_columns(void **state)
{
	/*
	 * depths: root, +1, +1, after a leaf the same level; ids: alpha 0, beta 1, main 2, of first
	 * children and then 1 after alpha; by none; of the leaves 3 and 5, then 0 and 0; the same
	 */
	static const unsigned char expected[] = {4, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 2, 0, 1, 2,
	                                         0, 0, 0, 0, 0, 4, 0, 0, 0, 3, 5, 0, 0, 0, 0, 0, 0};
	struct af_tree t;
	struct html_pack p = {0};
	struct af_buf blob = {0};
	unsigned char plain[256];

	small_tree(&t);
	struct html_tree *h = html_pack_add(&p, &t, "cpu");
	html_pack_sort(&p);
	assert_int_equal(h->nr_nodes, 4);
	assert_int_equal(h->depth, 2);
	assert_int_equal(html_pack_tree(&p, h, &blob), 0);
	assert_int_equal(unpack(&blob, plain, sizeof plain), sizeof expected);
	assert_memory_equal(plain, expected, sizeof expected);
	af_buf_free(&blob);
	html_pack_free(&p);
	af_tree_close(&t);
}

/* The first is as usual; the second has a weight, a number and an arrow, the third an arrow. */
static void slices_unpack_to_their_columns(void **state)
{
	static const struct html_slice slices[] = {
	    {.start_ns = 1, .length_ns = 300, .weight_ns = 300, .count = 1, .what = 1},
	    {.start_ns = 301, .length_ns = 5, .weight_ns = 200, .count = 2, .flow = 9, .what = 0},
	    {.start_ns = 310, .length_ns = 0, .weight_ns = 0, .count = 1, .flow = 8, .what = 1},
	};
	static const struct html_what whats[] = {{7, 2}, {130, 0}};
	/* 300 is 0xac 2, 200 is 0xc8 1, 130 is 0x82 1: first bytes of all, then second ones */
	static const unsigned char expected[] = {4, 0, 0, 0, 1,    0xac, 9,    2,    /* starts */
	                                         4, 0, 0, 0, 0xac, 5,    0,    2,    /* lengths */
	                                         5, 0, 0, 0, 0x82, 7,    0x82, 1, 1, /* names */
	                                         3, 0, 0, 0, 0,    2,    0,          /* nodes */
	                                         5, 0, 0, 0, 0xac, 0xc8, 0,    2, 1, /* weights */
	                                         3, 0, 0, 0, 1,    2,    1,          /* numbers */
	                                         3, 0, 0, 0, 0,    17,   2};
	struct html_columns c = {0};
	struct af_buf blob = {0};
	unsigned char plain[256];

	for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
		html_columns_add(&c, &slices[i], 0);
	html_columns_end(&c);
	assert_int_equal(html_columns_write(&c, whats, true, &blob), 0);
	assert_int_equal(unpack(&blob, plain, sizeof plain), sizeof expected);
	assert_memory_equal(plain, expected, sizeof expected);
	af_buf_free(&blob);
	html_columns_free(&c);
}

/* The blob has differences from what 3, 5, 7, 300 samples let expect. */
static void a_weight_is_reported_by_another(void **state)
{
	static const uint64_t samples[] = {3, 5, 7, 300}, times[] = {300, 510, 690, 30004};
	/*
	 * By pairs of ns 150; 255 less 5 * 150 / 3; 345 less 7 * 367.5 / 7.25; 15002 less
	 * 300 * 620.625 / 12.4375; the root. The 150 is doubled, which takes two bytes.
	 */
	static const unsigned char ends[] = {6, 0, 0, 0, 0xac, 10, 17, 66,   0, 2,
	                                     6, 0, 0, 0, 3,    5,  7,  0xac, 0, 2};
	struct af_tree_weight weights[] = {{"time", "ns", 0}, {"samples", "samples", 0}};
	struct html_pack p = {0};
	struct af_buf blob = {0};
	struct af_tree t;
	unsigned char plain[256];

	af_tree_open(&t, weights, 2);
	for (size_t i = 0; i < 4; i++) {
		const char name[] = {(char)('a' + i), '\0'};
		uint32_t node = add_frame(&t, 0, name, AF_FRAME_NATIVE);
		af_tree_add(&t, node, 0, times[i]);
		af_tree_add(&t, node, 1, samples[i]);
	}
	af_tree_finish(&t);
	struct html_tree *h = html_pack_add(&p, &t, NULL);
	assert_int_equal(h->weights[0].by, 1);
	assert_int_equal(h->weights[1].by, -1);
	html_pack_sort(&p);
	assert_int_equal(html_pack_tree(&p, h, &blob), 0);
	size_t len = unpack(&blob, plain, sizeof plain);
	assert_true(len > sizeof ends);
	assert_memory_equal(plain + len - sizeof ends, ends, sizeof ends);
	af_buf_free(&blob);
	html_pack_free(&p);
	af_tree_close(&t);
}

static void names_unpack_in_order_with_their_kinds(void **state)
{
	static const unsigned char expected[] = "\x0f\0\0\0alpha\nbeta\nmain\x03\0\0\0\0\2\1"
						"\x03\0\0\0\0\0\0\0\0\0\0"
						"\x03\0\0\0\0\0\0\0\0\0\0";
	struct af_tree t;
	struct html_pack p = {0};
	struct af_buf blob = {0};
	unsigned char plain[256];

	small_tree(&t);
	html_pack_add(&p, &t, NULL);
	html_pack_sort(&p);
	assert_int_equal(html_pack_names(&p, &blob), 0);
	assert_int_equal(unpack(&blob, plain, sizeof plain), sizeof expected - 1);
	assert_memory_equal(plain, expected, sizeof expected - 1);
	af_buf_free(&blob);
	html_pack_free(&p);
	af_tree_close(&t);
}

static void names_are_in_their_files(void **state)
{
	static const struct {
		const char *name, *module;
		enum af_frame frame;
	} reported[] = {{"one", "/a/x.so", AF_FRAME_NATIVE},
	                {"two", "/a/x.so", AF_FRAME_NATIVE},
	                {"two", "/a/y.so", AF_FRAME_NATIVE},
	                {"three", NULL, AF_FRAME_PYTHON},
	                {"gpu", "0123abcd", AF_FRAME_GPU}};
	/* gpu, one, three, two and two: files, then modules of those that are told apart. */
	static const char expected[] = "\5\0\0\0\0\2\0\2\3\x0f\0\0\0/a/x.so\n/a/y.so"
				       "\5\0\0\0\0\0\0\1\2\x09\0\0\0x.so\ny.so";
	struct af_tree_weight weights[] = {{"time", "ns", 0}};
	struct html_pack p = {0};
	struct af_buf blob = {0};
	struct af_tree t;
	unsigned char plain[256];

	af_tree_open(&t, weights, 1);
	for (size_t i = 0; i < sizeof reported / sizeof *reported; i++) {
		struct af_location location = {.module = reported[i].module};
		af_tree_add(
		    &t,
		    af_tree_child(&t, 0,
		                  af_tree_name_at(&t, reported[i].name, strlen(reported[i].name),
		                                  reported[i].frame, &location)),
		    0, 1);
	}
	af_tree_finish(&t);
	af_trees_tell_apart(&t, 1);
	html_pack_add(&p, &t, NULL);
	html_pack_sort(&p);
	assert_int_equal(html_pack_names(&p, &blob), 0);
	size_t len = unpack(&blob, plain, sizeof plain), tail = sizeof expected - 1;
	assert_true(len > tail);
	assert_memory_equal(plain + len - tail, expected, tail);
	af_buf_free(&blob);
	html_pack_free(&p);
	af_tree_close(&t);
}

static void time_that_is_samples_times_a_period_is_stored_once(void **state)
{
	struct af_tree t;
	struct html_pack p = {0};

	small_tree(&t);
	struct html_tree *h = html_pack_add(&p, &t, NULL);
	assert_int_equal(h->weights[0].scale, 100);
	assert_int_equal(h->weights[0].same, -1);
	assert_int_equal(h->weights[1].scale, 1);
	assert_int_equal(h->weights[1].same, 0);
	assert_int_equal(h->weights[1].column.len, 0);
	af_tree_add(&t, 1, 1, 1);
	h = html_pack_add(&p, &t, NULL);
	assert_int_equal(h->weights[1].same, -1);
	html_pack_free(&p);
	af_tree_close(&t);
}

static void two_trees_share_names_and_kinds_keep_them_apart(void **state)
{
	struct af_tree a, b;
	struct html_pack p = {0};

	small_tree(&a);
	small_tree(&b);
	add_frame(&b, 0, "main", AF_FRAME_NATIVE);
	af_tree_finish(&b);
	html_pack_add(&p, &a, "a");
	assert_int_equal(html_pack_nr_names(&p), 3);
	html_pack_add(&p, &b, "b");
	assert_int_equal(html_pack_nr_names(&p), 4);
	html_pack_free(&p);
	af_tree_close(&a);
	af_tree_close(&b);
}

/* The page for @t and one table, whose texts are all @text. NUL-terminated, for free(). */
static char *render_tree(const struct af_tree *t, const char *text)
{
	static const struct af_column column[] = {{"text", AF_CELL_TEXT, .key = "text"}};
	struct af_picture picture = {.title = text, .subtitle = text, .notes = text};
	struct af_render r = {
	    .fd = memfd_create("page", MFD_CLOEXEC), .picture = &picture, .label = text};
	const struct af_format *html = af_format_for("report.html");
	struct af_tables tables = {0};
	struct af_err err = {0};

	struct af_table *table = af_tables_table(&tables, text, text, column, 1);
	((struct af_cell *)af_table_row(&tables, table))->text = text;
	table->note = text;
	assert_int_equal(html->begin(&r, &err), 0);
	assert_int_equal(html->tree(&r, t, &err), 0);
	assert_int_equal(html->tables(&r, &tables, &err), 0);
	assert_int_equal(html->end(&r, &err), 0);
	assert_null(r.state);
	af_tables_free(&tables);

	off_t size = lseek(r.fd, 0, SEEK_END);
	char *page = calloc(1, (size_t)size + 1);
	assert_int_equal(pread(r.fd, page, (size_t)size, 0), size);
	close(r.fd);
	return page;
}

static char *render_page(const char *text)
{
	struct af_tree t;

	small_tree(&t);
	add_frame(&t, 0, text, AF_FRAME_NATIVE);
	af_tree_finish(&t);
	char *page = render_tree(&t, text);
	af_tree_close(&t);
	return page;
}

static void same_descriptors_give_the_same_bytes(void **state)
{
	char *once = render_page("x"), *again = render_page("x");

	assert_string_equal(once, again);
	free(once);
	free(again);
}

static unsigned count(const char *page, const char *needle)
{
	unsigned nr = 0;

	for (; (page = strstr(page, needle)); page++)
		nr++;
	return nr;
}

static void fractions_of_a_count_are_reported_to_the_viewer(void **state)
{
	static const struct af_tree_weight millionths = {"samples", "samples", 1000000};
	struct af_tree t;

	af_tree_open(&t, &millionths, 1);
	af_tree_add(&t, add_frame(&t, 0, "a", AF_FRAME_NATIVE), 0, 1500000);
	af_tree_add(&t, add_frame(&t, 0, "b", AF_FRAME_NATIVE), 0, 2250000);
	af_tree_finish(&t);
	char *page = render_tree(&t, "x");
	assert_int_equal(count(page, "\"scale\":0.75}"), 1);
	free(page);
	af_tree_close(&t);
}

static void no_text_becomes_markup(void **state)
{
	char *plain = render_page("x");
	char *hostile = render_page("</script></noscript></title><script>evil\n<!--\"&");
	static const char *const markup[] = {"<script", "</script", "</noscript", "</title",
	                                     "<!--"};

	for (size_t i = 0; i < sizeof markup / sizeof *markup; i++)
		assert_int_equal(count(hostile, markup[i]), count(plain, markup[i]));
	assert_true(count(hostile, "evil") > 0);
	free(plain);
	free(hostile);
}

/* The text between the last @open and the first @close after it. */
static const char *between(const char *page, const char *open, const char *close, size_t *len)
{
	const char *start = NULL;

	for (const char *at = page; (at = strstr(at, open)); at++)
		start = at + strlen(open);
	assert_non_null(start);
	const char *end = strstr(start, close);
	assert_non_null(end);
	*len = (size_t)(end - start);
	return start;
}

static void policy_names_the_digests_of_script_and_style(void **state)
{
	static const char *const parts[][3] = {
	    {"\n<script>", "</script>", "script-src 'sha256-"},
	    {"<style>", "</style>", "style-src 'sha256-"},
	};
	char *page = render_page("x");

	for (size_t i = 0; i < 2; i++) {
		size_t len;
		const char *text = between(page, parts[i][0], parts[i][1], &len);
		uint8_t digest[AF_SHA256_BYTES];
		struct af_buf expected = {0};
		af_sha256(text, len, digest);
		af_buf_str(&expected, parts[i][2]);
		html_base64(&expected, digest, sizeof digest);
		assert_int_equal(count(page, expected.data), 1);
		af_buf_free(&expected);
	}
	assert_int_equal(count(page, "default-src 'none'"), 1);
	free(page);
}

static void unknown_weight_is_refused(void **state)
{
	struct af_picture picture = {.weight = "tons"};
	struct af_render r = {.fd = -1, .picture = &picture};
	const struct af_format *html = af_format_for("html");
	struct af_err err = {0};
	struct af_tree t;

	small_tree(&t);
	r.fd = memfd_create("page", MFD_CLOEXEC);
	assert_int_equal(html->begin(&r, &err), 0);
	assert_true(html->tree(&r, &t, &err) < 0);
	assert_non_null(strstr(err.msg, "tons"));
	html->end(&r, NULL);
	close(r.fd);
	af_tree_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(base64_is_that_of_the_rfc),
	    cmocka_unit_test(text_stands_for_any_bytes),
	    cmocka_unit_test(tree_unpacks_to_its_columns),
	    cmocka_unit_test(slices_unpack_to_their_columns),
	    cmocka_unit_test(a_weight_is_reported_by_another),
	    cmocka_unit_test(names_unpack_in_order_with_their_kinds),
	    cmocka_unit_test(names_are_in_their_files),
	    cmocka_unit_test(time_that_is_samples_times_a_period_is_stored_once),
	    cmocka_unit_test(two_trees_share_names_and_kinds_keep_them_apart),
	    cmocka_unit_test(same_descriptors_give_the_same_bytes),
	    cmocka_unit_test(fractions_of_a_count_are_reported_to_the_viewer),
	    cmocka_unit_test(no_text_becomes_markup),
	    cmocka_unit_test(policy_names_the_digests_of_script_and_style),
	    cmocka_unit_test(unknown_weight_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
