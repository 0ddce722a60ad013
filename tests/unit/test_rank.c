#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/write/rank.h"

/* As in /proc: a NUL behind each, so the literal's own is the last one's. */
#define CHECK(block, want) check(block, sizeof(block), want)

static void check(const char *block, size_t size, const char *want)
{
	char *copy = malloc(size); /* sanitizers see what is read behind it */

	assert_non_null(copy);
	memcpy(copy, block, size);
	const char *rank = af_rank_of(copy, size);
	if (want) {
		assert_non_null(rank);
		assert_string_equal(rank, want);
	} else {
		assert_null(rank);
	}
	free(copy);
}

static void each_launcher_has_its_variable(void **state)
{
	(void)state;
	CHECK("A=1\0OMPI_COMM_WORLD_RANK=3\0B=2", "3");
	CHECK("MV2_COMM_WORLD_RANK=0", "0");
	CHECK("MPI_RANKID=11", "11");
	CHECK("PMI_RANK=1023", "1023");
	CHECK("PMIX_RANK=4", "4");
	CHECK("PALS_RANKID=5", "5");
	CHECK("FLUX_TASK_RANK=6", "6");
	CHECK("HOME=/\0SLURM_PROCID=7", "7");
}

static void who_starts_others_comes_after_them(void **state)
{
	(void)state;
	CHECK("SLURM_PROCID=1\0PMI_RANK=2\0OMPI_COMM_WORLD_RANK=3", "3");
	CHECK("SLURM_PROCID=1\0PMIX_RANK=2", "2");
	CHECK("OMPI_COMM_WORLD_RANK=1\0RANK=9\0WORLD_SIZE=16\0LOCAL_RANK=1", "9");
}

static void a_word_that_anybody_uses_needs_a_second(void **state)
{
	(void)state;
	CHECK("RANK=3", NULL);
	CHECK("RANK=3\0SLURM_PROCID=1", "1");
	CHECK("RANK=3\0LOCAL_RANK=3", "3");
	CHECK("RANK=3\0WORLD_SIZE=4", "3");
	CHECK("LOCAL_RANK=3\0WORLD_SIZE=4", NULL);
}

static void only_numbers_are_ranks(void **state)
{
	(void)state;
	CHECK("PMI_RANK=", NULL);
	CHECK("PMI_RANK=first", NULL);
	CHECK("PMI_RANK=-1", NULL);
	CHECK("PMI_RANK=12345678901", NULL);
	CHECK("PMI_RANK=1 ", NULL);
	CHECK("PMI_RANK=x\0SLURM_PROCID=2", "2");
	CHECK("XPMI_RANK=1\0PMI_RANKS=2\0PMI_RANK", NULL);
	CHECK("", NULL);
	assert_null(af_rank_of("", 0));
	/* Cut: what has no end is not believed. */
	assert_null(af_rank_of("A=1\0PMI_RANK=12", sizeof "A=1\0PMI_RANK=12" - 1));
}

static void ones_own_is_found_too(void **state)
{
	(void)state;
	setenv("PMI_RANK", "42", 1);
	unsetenv("WORLD_SIZE");
	unsetenv("LOCAL_RANK");
	unsetenv("OMPI_COMM_WORLD_RANK");
	assert_string_equal(af_rank_own(), "42");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_launcher_has_its_variable),
	    cmocka_unit_test(who_starts_others_comes_after_them),
	    cmocka_unit_test(a_word_that_anybody_uses_needs_a_second),
	    cmocka_unit_test(only_numbers_are_ranks),
	    cmocka_unit_test(ones_own_is_found_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
