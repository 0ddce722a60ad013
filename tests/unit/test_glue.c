/* Glue between the functions of people: glue.txt, which the page's rules are tested with too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/names/glue.h"

static enum af_frame frame_called(const char *word)
{
	for (enum af_frame f = 0; f < AF_FRAME_END; f++)
		if (!strcmp(af_frame_name(f), word))
			return f;
	fail_msg("no kind of frames is called %s", word);
	return AF_FRAME_END;
}

static void test_cases(void **state)
{
	(void)state;
	char path[4096], line[512], kind[16], verdict[8];
	int nr = 0, at;

	snprintf(path, sizeof path, "%s/tests/unit/glue.txt", getenv("AF_SOURCE_ROOT"));
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = 0;
		if (*line == '#')
			continue;
		assert_int_equal(sscanf(line, "%15s %7s %n", kind, verdict, &at), 2);
		char *module = strchr(line + at, '\t');
		if (module)
			*module++ = 0;
		bool is = af_glue_is(line + at, strlen(line + at), frame_called(kind), module);
		if (is != !strcmp(verdict, "glue"))
			fail_msg("%s is %s", line, is ? "glue" : "kept");
		nr++;
	}
	assert_true(nr > 40);
	fclose(file);
}

static uint32_t add(struct af_tree *t, uint32_t above, const char *text, uint64_t weight)
{
	uint32_t name = af_tree_name(t, text, strlen(text), AF_FRAME_NATIVE, 0);
	uint32_t node = af_tree_child(t, above, name);

	af_tree_add(t, node, 0, weight);
	return node;
}

/* Two callers' glue becomes one function below them, and no weight is lost. */
static void test_hide(void **state)
{
	(void)state;
	static const struct af_tree_weight samples[] = {{"samples", "samples", 1}};
	struct af_tree t, without;
	size_t len;

	af_tree_open(&t, samples, 1);
	uint32_t app = add(&t, 0, "app", 1);
	add(&t, add(&t, app, "_PyEval_Vector", 2), "work", 4);
	add(&t, add(&t, app, "cfunction_call", 8), "work", 16);
	af_tree_finish(&t);
	assert_int_equal(af_glue_hide(&without, &t), 2);
	assert_int_equal(without.nr, 3);
	assert_int_equal(without.total[0][0], 31);
	assert_int_equal(without.self[0][1], 11);
	assert_int_equal(without.self[0][2], 20);
	assert_memory_equal(af_tree_text(&without, without.nodes[2].name, &len), "work", 4);
	assert_int_equal(af_glue_hide(&t, &without), 0);
	af_tree_close(&without);
	af_tree_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cases),
	    cmocka_unit_test(test_hide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
