/* Attributes of frames: what a file may say, and what it may not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "render/html/encoding.h"
#include "render/svg/attributes.h"

static struct af_attributes all;

static const struct af_frame_attributes *reported(const char *text, const char *name)
{
	struct af_err err = {0};

	af_attributes_close(&all);
	if (af_attributes_open(&all, text, strlen(text), "file", &err))
		fail_msg("%s", err.msg);
	return af_attributes_get(&all, name, strlen(name), AF_FRAME_NATIVE);
}

static const char *value(const struct af_frame_attributes *f, bool of_link, const char *name)
{
	for (const struct af_attribute *a = f->first; a; a = a->next)
		if (a->of_link == of_link && !strcmp(a->name, name))
			return a->value;
	return NULL;
}

static void each_attribute_has_its_place(void **state)
{
	const struct af_frame_attributes *f = reported(
	    "f\ttitle=a \"b\" <c>\thref=x?a=1&b=2\ttarget=_blank\tclass=k\tstyle=fill:red\tid=i"
	    "\ta_extra=rel=\"n\" type = 't'\tg_extra=data-x=\"y=z\"\n",
	    "f");

	assert_string_equal(f->title, "a \"b\" <c>");
	assert_string_equal(f->href, "x?a=1&b=2");
	assert_string_equal(f->target, "_blank");
	assert_string_equal(value(f, false, "class"), "k");
	assert_string_equal(value(f, false, "style"), "fill:red");
	assert_string_equal(value(f, false, "id"), "i");
	assert_string_equal(value(f, true, "rel"), "n");
	assert_string_equal(value(f, true, "type"), "t");
	assert_string_equal(value(f, false, "data-x"), "y=z");
	assert_null(value(f, true, "class"));
}

static void names_are_those_of_folded_text(void **state)
{
	const char *text =
	    "f_[k]\tid=k\nstd::v(int)\tid=v\n\tid=root\na b\tid=tab\nx<y>\tid=y\r\n\n";

	assert_null(reported(text, "f"));
	assert_string_equal(value(af_attributes_get(&all, "f", 1, AF_FRAME_KERNEL), 0, "id"), "k");
	assert_string_equal(value(reported(text, "std::v<int>"), false, "id"), "v");
	assert_string_equal(value(reported(text, ""), false, "id"), "root");
	assert_string_equal(value(reported(text, "a\tb"), false, "id"), "tab");
	assert_string_equal(value(reported(text, "x(y)"), false, "id"), "y");
	assert_null(reported(text, "unheard of"));
	assert_null(reported("", "f"));
}

static void the_later_one_counts(void **state)
{
	const struct af_frame_attributes *f = reported("f\tid=1\tclass=a\nf\tid=2\tid=3", "f");

	assert_string_equal(value(f, false, "id"), "3");
	assert_null(value(f, false, "class"));
	assert_null(f->first->next);
}

static void nothing_is_no_value(void **state)
{
	const struct af_frame_attributes *f =
	    reported("f\t\ttitle=\thref=\tclass=\tg_extra= \t", "f");

	assert_null(f->title);
	assert_null(f->href);
	assert_null(f->first);
}

static void references_are_understood_once(void **state)
{
	const struct af_frame_attributes *f = reported(
	    "f\ttitle=&lt;&amp;lt;&#x41;&#66;&#10;&eacute;&#x20ac;&#x1f525;&&#0;&#xd800;&#x110000;"
	    "&#99999999999;&lt\tg_extra=id='&quot;&apos;'\n",
	    "f");

	assert_string_equal(f->title,
	                    "<&lt;AB\n&eacute;€🔥&&#0;&#xd800;&#x110000;&#99999999999;&lt");
	assert_string_equal(value(f, false, "id"), "\"'");
}

static void a_bad_line_is_named(void **state)
{
	static const char *const bad[] = {
	    "f",                                 /* no attributes at all */
	    "f\tclass",                          /* no value */
	    "f\t=1",                             /* no name */
	    "f\t1a=1",                           /* not a name */
	    "f\ta b=1",                          /* two */
	    "f\txml:base=http://x",              /* a namespace of its own */
	    "f\txmlns=x",                        /* for all below */
	    "f\tdata-frame=x",                   /* the script's */
	    "f\tonclick=alert(1)",               /* a script */
	    "f\tONload=alert(1)",                /* a script in HTML */
	    "f\tg_extra=onclick=\"x\"",          /* a script */
	    "f\ta_extra=onclick='x'",            /* a script */
	    "f\ta_extra=href='x'",               /* past the check of links */
	    "f\tg_extra=><script",               /* markup */
	    "f\tg_extra=a=\"1",                  /* no end */
	    "f\tg_extra=a=1",                    /* no quotes */
	    "f\thref=javascript:x",              /* a script */
	    "f\thref=  jAvAscript:x",            /* browsers skip spaces */
	    "f\thref=&#106;avascript:x",         /* spelt otherwise */
	    "f\thref=java&#9;script:x",          /* browsers skip tabs */
	    "f\thref=java&#10;script:x",         /* and newlines */
	    "f\thref=&#1;javascript:x",          /* browsers skip controls */
	    "f\thref=data:text/html,x",          /* a page of its own */
	    "f\thref=vbscript:x",                /* a script */
	    "f\tstyle=fill:url(http://x)",       /* loads */
	    "f\tstyle=fill:URL( '//x')",         /* loads */
	    "f\tstyle=fill:u\\72l(//x)",         /* loads, spelt otherwise */
	    "f\tmask=url(x.svg#m)",              /* loads */
	    "f\tstyle=cursor:image-set('x' 1x)", /* loads */
	    "f\tid=\x1b[31m",                    /* for a terminal */
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct af_attributes a;
		struct af_err err = {0};
		char text[128];

		snprintf(text, sizeof text, "g\tid=1\n\n%s\ng\tid=1\n", bad[i]);
		if (af_attributes_open(&a, text, strlen(text), "dir/file", &err) != -EINVAL)
			fail_msg("%s is accepted", bad[i]);
		assert_memory_equal(err.msg, "dir/file:3: ", 12);
		assert_null(strchr(err.msg, 0x1b));
		af_attributes_close(&a);
	}
}

static void what_harms_nothing_is_accepted(void **state)
{
	const struct af_frame_attributes *f =
	    reported("f\tstyle=fill:url(#x);stroke:rgb(1,2,3)\tdata-"
	             "u=url(http://x)\thref=vscode://file/a.c:7"
	             "\ttarget=javascript:\tdata-frames=1",
	             "f");

	assert_string_equal(f->href, "vscode://file/a.c:7");
	assert_string_equal(value(f, false, "style"), "fill:url(#x);stroke:rgb(1,2,3)");
	assert_string_equal(value(f, false, "data-u"), "url(http://x)");
	assert_non_null(reported("f\thref=javascript.html?javascript:", "f")->href);
}

static void more_than_a_frame_can_have_is_refused(void **state)
{
	struct af_buf text = {0};
	struct af_err err = {0};

	af_buf_str(&text, "f");
	for (int i = 0; i < 100000; i++)
		af_buf_fmt(&text, "\ta%d=1", i);
	af_attributes_close(&all);
	assert_int_equal(af_attributes_open(&all, text.data, text.len, "file", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "too many"));
	af_buf_free(&text);
}

static void assert_recoded(const char *encoding, const char *bytes, size_t len, const char *text)
{
	struct af_buf out = {0};
	struct af_err err = {0};

	assert_int_equal(af_encoding_read(encoding, bytes, len, &out, &err), 0);
	assert_string_equal(out.data ? out.data : "", text);
	af_buf_free(&out);
}

static void other_encodings_become_utf8(void **state)
{
	struct af_buf out = {0};
	struct af_err err = {0};

	assert_true(af_encoding_is_utf8(NULL) && af_encoding_is_utf8("utf-8"));
	assert_false(af_encoding_is_utf8("latin1"));
	assert_recoded("latin1", "", 0, "");
	assert_recoded("latin1", "z\xfcrich", 6, "zürich");
	assert_recoded("UTF-16",
	               "\xff\xfe"
	               "a\0\n\0\xac\x20",
	               8, "a\n€");
	/* An invalid byte costs itself, not the bytes after it. */
	assert_recoded("UTF-16LE",
	               "a\0\0\xd8"
	               "b\0c",
	               7,
	               "a\xef\xbf\xbd"
	               "b\xef\xbf\xbd");
	assert_recoded("ASCII", "a\x80\nb", 4, "a\xef\xbf\xbd\nb");
	assert_int_equal(af_encoding_read("klingon", "a", 1, &out, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "klingon"));
}

static void a_long_text_is_recoded_in_pieces(void **state)
{
	enum { LEN = 300000 };
	char *bytes = malloc(LEN);
	struct af_buf out = {0};

	memset(bytes, 0xe9, LEN);
	assert_int_equal(af_encoding_read("latin1", bytes, LEN, &out, NULL), 0);
	assert_int_equal(out.len, 2 * LEN);
	for (size_t i = 0; i < out.len; i += 2)
		assert_memory_equal(out.data + i, "é", 2);
	af_buf_free(&out);
	free(bytes);
}

static int forget(void **state)
{
	af_attributes_close(&all);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_attribute_has_its_place),
	    cmocka_unit_test(names_are_those_of_folded_text),
	    cmocka_unit_test(the_later_one_counts),
	    cmocka_unit_test(nothing_is_no_value),
	    cmocka_unit_test(references_are_understood_once),
	    cmocka_unit_test(a_bad_line_is_named),
	    cmocka_unit_test(what_harms_nothing_is_accepted),
	    cmocka_unit_test(more_than_a_frame_can_have_is_refused),
	    cmocka_unit_test(other_encodings_become_utf8),
	    cmocka_unit_test(a_long_text_is_recoded_in_pieces),
	};
	return cmocka_run_group_tests(tests, NULL, forget);
}
