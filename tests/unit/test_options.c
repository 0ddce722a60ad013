#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "cmd/options/command.h"

struct values {
	bool flag, other;
	const char *text, *choice, *maybe;
	uint64_t number, size, time_ns;
	double ratio;
	struct af_strings list;
};

#define AT(field) offsetof(struct values, field)

static const struct af_option table[] = {
    {AF_OPT_FLAG, "flag", 'f', NULL, "a flag", AT(flag)},
    {AF_OPT_FLAG, "other", 'x', NULL, "another", AT(other)},
    {AF_OPT_STRING, "output", 'o', "FILE", "text", AT(text)},
    {AF_OPT_GROUP, NULL, 0, NULL, "A heading", 0},
    {AF_OPT_CHOICE, "view", 0, "VIEW", "one of some", AT(choice), "cpu|gpu|all"},
    {AF_OPT_OPTIONAL, "off", 0, "WHAT", "with or without", AT(maybe), "some|more"},
    {AF_OPT_U64, "number", 'n', "N", "a number", AT(number)},
    {AF_OPT_SIZE, "size", 0, "SIZE", "bytes", AT(size)},
    {AF_OPT_TIME, "time", 0, "TIME", "a time", AT(time_ns)},
    {AF_OPT_DOUBLE, "ratio", 0, "X", "a ratio", AT(ratio)},
    {AF_OPT_LIST, "also", 0, "WHAT", "again and again", AT(list)},
    {AF_OPT_END},
};

static const struct af_command plain = {.name = "plain", .options = table};
static const struct af_command exec_like = {
    .name = "exec", .options = table, .flags = AF_CMD_STOP_AT_WORD};

static struct values v;
static struct af_err err;
static char *args[16];
static bool help;

/* Parse a line of words separated by blanks. */
static int parse(const struct af_command *cmd, const char *line)
{
	static char copy[256];
	int argc = 0;

	free(v.list.items);
	memset(&v, 0, sizeof v);
	memset(&err, 0, sizeof err);
	help = false;
	strcpy(copy, line);
	for (char *p = strtok(copy, " "); p; p = strtok(NULL, " "))
		args[argc++] = p;
	args[argc] = NULL;
	return af_options_parse(cmd, &v, argc, args, &help, &err);
}

static void forms_of_an_option_mean_the_same(void **state)
{
	static const char *const lines[] = {"--output a.svg", "--output=a.svg", "-o a.svg",
	                                    "-oa.svg", "-fo a.svg"};

	(void)state;
	for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
		assert_int_equal(parse(&plain, lines[i]), 0);
		assert_string_equal(v.text, "a.svg");
	}
	assert_true(v.flag);
	assert_int_equal(parse(&plain, "-fx"), 0);
	assert_true(v.flag && v.other);
}

static void words_come_first_and_end_in_null(void **state)
{
	(void)state;
	assert_int_equal(parse(&plain, "one --flag two -n 3 -"), 3);
	assert_string_equal(args[0], "one");
	assert_string_equal(args[1], "two");
	assert_string_equal(args[2], "-");
	assert_null(args[3]);
	assert_int_equal(v.number, 3);
}

static void a_program_keeps_its_options(void **state)
{
	(void)state;
	assert_int_equal(parse(&exec_like, "-n 9 prog --flag -o x"), 4);
	assert_int_equal(v.number, 9);
	assert_false(v.flag);
	assert_string_equal(args[1], "--flag");
	assert_null(args[4]);
	assert_int_equal(parse(&exec_like, "-f -- -n 9"), 2);
	assert_string_equal(args[0], "-n");
	assert_null(args[2]);
}

static void units_are_understood(void **state)
{
	static const struct {
		const char *line;
		uint64_t want;
	} times[] = {{"--time 2", 2000000000},
	             {"--time 1.5s", 1500000000},
	             {"--time 20ms", 20000000},
	             {"--time 5us", 5000},
	             {"--time 7ns", 7},
	             {"--time 2min", 120000000000},
	             {"--time 5m", 300000000000},
	             {"--time 1h", 3600000000000},
	             {"--time 1d", 86400000000000}},
	  sizes[] = {{"--size 12", 12},           {"--size 64k", 65536},
	             {"--size 10M", 10485760},    {"--size 2G", 2147483648},
	             {"--size 1KB", 1024},        {"--size 1.5GiB", 1610612736},
	             {"--size 1T", 1099511627776}};

	(void)state;
	for (unsigned i = 0; i < sizeof times / sizeof *times; i++) {
		assert_int_equal(parse(&plain, times[i].line), 0);
		assert_int_equal(v.time_ns, times[i].want);
	}
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		assert_int_equal(parse(&plain, sizes[i].line), 0);
		assert_int_equal(v.size, sizes[i].want);
	}
	assert_int_equal(parse(&plain, "--number 0x10 --ratio 0.5"), 0);
	assert_int_equal(v.number, 16);
	assert_true(v.ratio == 0.5);
}

static void nonsense_is_refused_by_name(void **state)
{
	static const struct {
		const char *line, *says;
	} bad[] = {{"--outptu x", "did you mean --output?"},
	           {"--zzzzzz", "see `aflame plain --help`"},
	           {"-q", "no option -q"},
	           {"--output", "needs a value"},
	           {"-o", "needs a value"},
	           {"--flag=1", "takes no value"},
	           {"--view tree", "cpu|gpu|all"},
	           {"--view cp", "cpu|gpu|all"},
	           {"--view cpu|gpu", "cpu|gpu|all"},
	           {"--number -1", "\"-1\""},
	           {"--number 12x", "\"12x\""},
	           {"--number 99999999999999999999", "invalid value"},
	           {"--time fast", "\"fast\""},
	           {"--time 5parsec", "\"5parsec\""},
	           {"--time -5s", "\"-5s\""},
	           {"--size 1e300", "\"1e300\""},
	           {"--size nan", "\"nan\""},
	           {"--size 10X", "10M"},
	           {"--time 10x", "200ms"},
	           {"--ratio 1.5x", "\"1.5x\""}};

	(void)state;
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (parse(&plain, bad[i].line) != -EINVAL)
			fail_msg("%s is taken", bad[i].line);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("%s: %s", bad[i].line, err.msg);
	}
}

static void help_wins(void **state)
{
	(void)state;
	assert_int_equal(parse(&plain, "--flag --help --nonsense"), 0);
	assert_true(help);
	assert_int_equal(parse(&exec_like, "prog --help"), 2);
	assert_false(help);
}

static void lists_collect(void **state)
{
	(void)state;
	assert_int_equal(parse(&plain, "--also a --also=b"), 0);
	assert_int_equal(v.list.nr, 2);
	assert_string_equal(v.list.items[1], "b");
}

static void an_optional_value_follows_an_equals_sign_or_is_the_first_choice(void **state)
{
	(void)state;
	assert_int_equal(parse(&plain, "--off more"), 1);
	assert_string_equal(v.maybe, "some");
	assert_string_equal(args[0], "more");
	free((char *)v.maybe);
	assert_int_equal(parse(&plain, "--off=more"), 0);
	assert_string_equal(v.maybe, "more");
	assert_int_equal(parse(&plain, "--off=none"), -EINVAL);
	assert_int_equal(parse(&plain, ""), 0);
	assert_null(v.maybe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_optional_value_follows_an_equals_sign_or_is_the_first_choice),
	    cmocka_unit_test(forms_of_an_option_mean_the_same),
	    cmocka_unit_test(words_come_first_and_end_in_null),
	    cmocka_unit_test(a_program_keeps_its_options),
	    cmocka_unit_test(units_are_understood),
	    cmocka_unit_test(nonsense_is_refused_by_name),
	    cmocka_unit_test(help_wins),
	    cmocka_unit_test(lists_collect),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
