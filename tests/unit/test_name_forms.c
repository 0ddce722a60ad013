/* Names cut to fit: name_forms.txt, which the page's own rules are tested with too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/names/name_forms.h"

/* The forms of @name as a case has them: each on a line, all but the first indented. */
static void forms_text(struct af_buf *out, const char *name)
{
	struct af_buf forms = {0};
	size_t nr = af_name_forms(&forms, name, strlen(name));
	const char *form = forms.data;

	for (size_t i = 0; i < nr; i++, form += strlen(form) + 1)
		af_buf_fmt(out, i ? "  %s\n" : "%s\n", form);
	af_buf_free(&forms);
}

static void test_cases(void **state)
{
	(void)state;
	char path[4096];
	snprintf(path, sizeof path, "%s/tests/unit/name_forms.txt", getenv("AF_SOURCE_ROOT"));
	FILE *file = fopen(path, "r");
	char line[1024], name[1024] = "";
	struct af_buf wanted = {0}, got = {0};
	int nr = 0;

	assert_non_null(file);
	for (bool more = true; more;) {
		more = fgets(line, sizeof line, file) != NULL;
		if (more && (*line == ' ' || (*line != '\n' && *line != '#'))) {
			if (*line != ' ')
				snprintf(name, sizeof name, "%.*s", (int)strcspn(line, "\n"), line);
			af_buf_str(&wanted, line);
			continue;
		}
		if (*name) {
			got.len = 0;
			forms_text(&got, name);
			assert_string_equal(got.data, wanted.data);
			nr++;
		}
		wanted.len = *name = 0;
	}
	assert_true(nr > 50);
	af_buf_free(&wanted);
	af_buf_free(&got);
	fclose(file);
}

static void fits(const char *name, size_t room, const char *wanted)
{
	struct af_buf b = {0};

	af_buf_str(&b, "");
	af_name_fit(&b, name, strlen(name), room);
	assert_string_equal(b.data, wanted);
	af_buf_free(&b);
}

static void test_fit(void **state)
{
	(void)state;
	const char *map = "std::collections::HashMap<K,V>::insert";

	fits(map, 38, map);
	fits(map, 37, "std::collections::HashMap<…>::insert");
	fits(map, 20, "…HashMap<…>::insert");
	fits(map, 18, "HashMap::insert");
	fits(map, 14, "insert");
	fits(map, 5, "inse…");
	fits(map, 1, "…");
	fits(map, 0, "");
	fits("größer", 6, "größer");
	fits("größer", 4, "grö…");
	fits("plain words that say something", 10, "plain wor…");
}

/* A name of many parts does not make many long forms; one without an end is no trouble. */
static void test_hostile(void **state)
{
	(void)state;
	static const char *const parts[] = {"a::", "<",        "(", "a<b>::", "{(",
	                                    " ",   "operator", "!", "@"};
	struct af_buf name = {0}, forms = {0};

	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
		for (int size = 1; size <= 4096; size *= 16) {
			name.len = forms.len = 0;
			while (name.len + strlen(parts[p]) <= (size_t)size)
				af_buf_str(&name, parts[p]);
			af_buf_str(&name, "");
			assert_true(af_name_forms(&forms, name.data ? name.data : "", name.len) <=
			            16);
		}
	}
	af_buf_free(&name);
	af_buf_free(&forms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cases),
	    cmocka_unit_test(test_fit),
	    cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
