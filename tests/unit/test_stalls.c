#include "sym/device/stalls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(const char *driver)
{
	static char out[AF_STALL_NAME];

	return af_stall_name(driver, out);
}

/* CUPTI's of CUDA 13.0: each has a twin for samples in which nothing was issued. */
static void cupti_names_are_known(void **state)
{
	static const char *const keys[] = {
	    "barrier",  "branch_resolving", "dispatch_stall",     "drain",
	    "gmma",     "imc_miss",         "lg_throttle",        "long_scoreboard",
	    "membar",   "mio_throttle",     "math_pipe_throttle", "misc",
	    "selected", "not_selected",     "no_instructions",    "short_scoreboard",
	    "sleeping", "tex_throttle",     "warpgroup_arrive",   "wait",
	};
	char name[128];

	for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
		snprintf(name, sizeof name, "smsp__pcsamp_warps_issue_stalled_%s", keys[i]);
		const struct af_stall *s = af_stall_find(name);
		assert_non_null(s);
		assert_string_equal(s->key, keys[i]);
		strcat(name, "_not_issued");
		assert_ptr_equal(af_stall_find(name), s);
		snprintf(name, sizeof name, "smsp__pcsamp_warp_stall_%s", keys[i]);
		assert_ptr_equal(af_stall_find(name), s);
	}
	assert_string_equal(name_of("smsp__pcsamp_warps_issue_stalled_long_scoreboard"),
	                    "long scoreboard");
}

static void intel_names_are_known(void **state)
{
	static const char *const names[][2] = {
	    {"Active", "active"},       {"PSDepStall", "tdr"}, {"ControlStall", "control"},
	    {"PipeStall", "pipestall"}, {"SendStall", "send"}, {"DistStall", "dist_acc"},
	    {"SbidStall", "sbid"},      {"SyncStall", "sync"}, {"InstrFetchStall", "inst_fetch"},
	    {"OtherStall", "other"},
	};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		const struct af_stall *s = af_stall_find(names[i][0]);
		assert_non_null(s);
		assert_string_equal(s->key, names[i][1]);
		assert_ptr_equal(af_stall_find(names[i][1]), s);
	}
}

static void unknown_names_are_shown_shorter(void **state)
{
	char name[200];

	assert_null(af_stall_find(""));
	assert_null(af_stall_find("smsp__pcsamp_sample_count"));
	assert_null(af_stall_find("_not_issued"));
	assert_null(af_stall_find("wai"));
	assert_string_equal(name_of(""), "unknown reason");
	assert_string_equal(name_of("smsp__pcsamp_"), "unknown reason");
	assert_string_equal(name_of("smsp__pcsamp_warps_issue_stalled_new_thing_not_issued"),
	                    "new thing");
	memset(name, 'x', sizeof name);
	name[sizeof name - 1] = 0;
	assert_int_equal(strlen(name_of(name)), AF_STALL_NAME - 1);
	strcpy(name + AF_STALL_NAME - 2, "\xc3\xa4 and on");
	assert_int_equal(strlen(name_of(name)), AF_STALL_NAME - 2);
}

/* From one vendor: its reasons are in the same bar. */
static void letters_tell_reasons_apart(void **state)
{
	bool seen[256] = {false};

	for (const struct af_stall *s = af_stalls; s->key; s++) {
		if (!strcmp(s->key, "active"))
			memset(seen, 0, sizeof seen);
		assert_false(seen[(unsigned char)s->letter]);
		seen[(unsigned char)s->letter] = true;
		assert_true(s->sort < AF_STALL_SORTS);
		assert_true(strlen(s->name) < 20);
		assert_int_equal(s->meaning[strlen(s->meaning) - 1], '.');
		if (s->advice)
			assert_int_equal(s->advice[strlen(s->advice) - 1], '.');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cupti_names_are_known),
	    cmocka_unit_test(intel_names_are_known),
	    cmocka_unit_test(unknown_names_are_shown_shorter),
	    cmocka_unit_test(letters_tell_reasons_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
