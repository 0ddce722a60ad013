#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/disk/job.h"
#include "collect/ranks/groups.h"
#include "collect/ranks/launch.h"
#include "collect/ranks/select.h"
#include "collect/session/bounds.h"

static void environment(const char *const *pairs)
{
	const char *output = getenv("CMOCKA_MESSAGE_OUTPUT");
	char kept[32] = "";

	if (output)
		snprintf(kept, sizeof kept, "%s", output);
	clearenv();
	/* cmocka reads it for each test. */
	if (*kept)
		setenv("CMOCKA_MESSAGE_OUTPUT", kept, 1);
	for (; pairs[0]; pairs += 2)
		setenv(pairs[0], pairs[1], 1);
}
#define ENVIRONMENT(...) environment((const char *const[]){__VA_ARGS__, NULL})

static struct af_launch launched(struct af_job_rank *job)
{
	struct af_launch l;

	af_job_find(job);
	af_launch_find(&l, job);
	return l;
}

static void check(uint64_t rank, int64_t size, int64_t local, int64_t node)
{
	struct af_job_rank job;
	struct af_launch l = launched(&job);

	assert_int_equal(l.rank, rank);
	assert_int_equal(l.has_size ? (int64_t)l.size : -1, size);
	assert_int_equal(l.has_local ? (int64_t)l.local : -1, local);
	assert_int_equal(l.has_node ? (int64_t)l.node : -1, node);
}

static void launchers_tell_size_and_place(void **state)
{
	(void)state;
	ENVIRONMENT("OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_SIZE", "8",
	            "OMPI_COMM_WORLD_LOCAL_RANK", "1");
	check(5, 8, 1, -1);
	ENVIRONMENT("RANK", "9", "WORLD_SIZE", "16", "LOCAL_RANK", "1", "GROUP_RANK", "1");
	check(9, 16, 1, 1);
	ENVIRONMENT("PMI_RANK", "3", "PMI_SIZE", "4", "MPI_LOCALRANKID", "3");
	check(3, 4, 3, -1);
	ENVIRONMENT("PALS_RANKID", "3", "PALS_NODEID", "1", "PALS_LOCAL_RANKID", "0");
	check(3, -1, 0, 1);
	ENVIRONMENT("FLUX_TASK_RANK", "3", "FLUX_JOB_SIZE", "9", "FLUX_TASK_LOCAL_ID", "2");
	check(3, 9, 2, -1);
	ENVIRONMENT("SLURM_PROCID", "6", "SLURM_JOB_ID", "1", "SLURM_STEP_ID", "0", "SLURM_NTASKS",
	            "64", "SLURM_STEP_NUM_TASKS", "8", "SLURM_LOCALID", "2", "SLURM_NODEID", "1");
	check(6, 8, 2, 1);
}

static void inner_launchers_count(void **state)
{
	(void)state;
	/* srun with PMIx: Slurm's numbers are the rank's own. */
	ENVIRONMENT("PMIX_RANK", "6", "SLURM_PROCID", "6", "SLURM_STEP_NUM_TASKS", "8",
	            "SLURM_NODEID", "1", "SLURM_LOCALID", "2");
	check(6, 8, 2, 1);
	/* mpirun in a batch script: they are the script's. */
	ENVIRONMENT("PMI_RANK", "6", "PMI_SIZE", "7", "SLURM_PROCID", "0", "SLURM_NTASKS", "64",
	            "SLURM_NODEID", "0");
	check(6, 7, -1, -1);
	/* Not numbers, or sizes that cannot be. */
	ENVIRONMENT("PMI_RANK", "6", "PMI_SIZE", "2", "MPI_LOCALRANKID", "x");
	check(6, -1, -1, -1);
	ENVIRONMENT("PMI_RANK", "6", "PMI_SIZE", "99999999999999999999", "MPI_LOCALRANKID", "-1");
	check(6, -1, -1, -1);
	ENVIRONMENT("HOME", "/");
	check(0, -1, -1, -1);
}

static int selected(const char *ranks, const char *hosts, uint64_t every)
{
	const struct af_rank_selection s = {ranks, hosts, every};
	struct af_job_rank job;
	struct af_launch l = launched(&job);

	return af_rank_select(&s, &job, &l, NULL);
}

static void all_that_is_given_must_fit(void **state)
{
	char host[256] = "", both[300];

	(void)state;
	gethostname(host, sizeof host - 1);
	ENVIRONMENT("OMPI_COMM_WORLD_RANK", "6", "OMPI_COMM_WORLD_LOCAL_RANK", "2");
	assert_int_equal(selected(NULL, NULL, 0), 1);
	assert_int_equal(selected("6", NULL, 0), 1);
	assert_int_equal(selected("0-3,5-7", NULL, 0), 1);
	assert_int_equal(selected("0-5,7", NULL, 0), 0);
	assert_int_equal(selected("6", NULL, 4), 0);
	assert_int_equal(selected("6", NULL, 3), 1);
	assert_int_equal(selected(NULL, "one", 0), 0);
	snprintf(both, sizeof both, "nowhere,%s", host);
	assert_int_equal(selected(NULL, both, 0), 1);
	assert_int_equal(selected(NULL, "nowhere", 0), 0);
	static const char *const bad[] = {"",     "x",  "1-",  "-1",  "3-2",
	                                  "1,,2", "1,", "1 2", "0x1", "99999999999999999999"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(selected(bad[i], NULL, 0), -EINVAL);
	assert_int_equal(selected(NULL, "", 0), -EINVAL);
	ENVIRONMENT("HOME", "/");
	assert_int_equal(selected("0", NULL, 0), -ENOENT);
	assert_int_equal(selected(NULL, NULL, 0), 1);
}

static void the_first_host_is_found(void **state)
{
	(void)state;
	ENVIRONMENT("OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_LOCAL_RANK", "2");
	assert_int_equal(selected(NULL, "one", 0), 1);
	ENVIRONMENT("RANK", "9", "WORLD_SIZE", "16", "LOCAL_RANK", "9", "GROUP_RANK", "1");
	assert_int_equal(selected(NULL, "one", 0), 0);
	ENVIRONMENT("MV2_COMM_WORLD_RANK", "0");
	assert_int_equal(selected(NULL, "one", 0), 1);
	ENVIRONMENT("MV2_COMM_WORLD_RANK", "1");
	assert_int_equal(selected(NULL, "one", 0), 0);
}

static struct af_rank_groups groups;
static struct af_err why;

static int grouped(const char *given)
{
	struct af_job_rank job;
	struct af_launch l = launched(&job);

	why.msg[0] = 0;
	return af_rank_groups_find(&groups, given, &job, &l, &why);
}

static const char *group(const char *key)
{
	for (uint32_t i = 0; i < groups.nr; i++)
		if (!strcmp(groups.all[i].key, key))
			return groups.all[i].value;
	return "";
}

static void groups_come_from_the_environment(void **state)
{
	(void)state;
	ENVIRONMENT("RANK", "9", "WORLD_SIZE", "16", "LOCAL_RANK", "1", "GROUP_RANK", "1",
	            "ROLE_NAME", "trainer", "TP_RANK", "1", "DP_RANK", "x", "VLLM_DP_RANK", "4",
	            "SLURM_TOPOLOGY_ADDR", "s0.s3.node17", "SLURM_TOPOLOGY_ADDR_PATTERN",
	            "switch.switch.node");
	assert_int_equal(grouped(NULL), 0);
	assert_string_equal(group("node"), "1");
	assert_string_equal(group("local"), "1");
	assert_string_equal(group("role"), "trainer");
	assert_string_equal(group("tp"), "1");
	assert_string_equal(group("dp"), "4");
	assert_string_equal(group("switch"), "s3");
	assert_int_equal(groups.nr, 6);
	/* The user's groups count more. */
	assert_int_equal(grouped("tp=7,pp=a-b"), 0);
	assert_string_equal(group("tp"), "7");
	assert_string_equal(group("pp"), "a-b");
	assert_int_equal(groups.nr, 7);
	static const char *const bad[] = {
	    "=",     "a=",    "=b",  "a=b,c",
	    "a b=c", "a=b c", "ä=1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(grouped(bad[i]), -EINVAL);
		assert_int_equal(groups.nr, 6); /* the environment's are kept */
	}
}

static int grouped_by_file(const char *text, size_t len)
{
	char name[] = "/tmp/aflame-groups.XXXXXX";
	int fd = mkstemp(name);

	assert_int_equal(write(fd, text, len), len);
	close(fd);
	int rc = grouped(name);
	unlink(name);
	return rc;
}
#define FILE_OF(text) grouped_by_file(text, sizeof(text) - 1)

static void groups_come_from_a_file(void **state)
{
	char line[400], host[256] = "";

	(void)state;
	gethostname(host, sizeof host - 1);
	ENVIRONMENT("PMI_RANK", "6");
	assert_int_equal(FILE_OF("# all\n\n0-3 dp=0\n4-7 dp=1 tp=2 # odd\r\n6\ttp=3\nnode9 sw=1"),
	                 0);
	assert_string_equal(group("dp"), "1");
	assert_string_equal(group("tp"), "3");
	assert_string_equal(group("sw"), "");
	snprintf(line, sizeof line, "%s switch=s3\n", host);
	assert_int_equal(grouped_by_file(line, strlen(line)), 0);
	assert_string_equal(group("switch"), "s3");
	assert_int_equal(FILE_OF(""), 0);
	assert_int_equal(FILE_OF("6 dp=1\n0 dp\n"), -EINVAL);
	assert_non_null(strstr(why.msg, ":2:"));
	assert_int_equal(groups.nr, 0);
	assert_int_equal(FILE_OF("6 dp=1\0\n"), -EINVAL);
	assert_int_equal(grouped("/nowhere/groups"), -ENOENT);
	assert_int_equal(grouped("/dev/zero"), -EINVAL);
}

static void steps_are_parsed(void **state)
{
	struct af_steps_wanted w;

	(void)state;
	assert_int_equal(af_steps_parse(&w, "100:110", NULL), 0);
	assert_true(w.first == 100 && w.last == 110 && !*w.name);
	assert_int_equal(af_steps_parse(&w, "7", NULL), 0);
	assert_true(w.first == 7 && w.last == 7);
	assert_int_equal(af_steps_parse(&w, "7@train:step@2", NULL), 0);
	assert_string_equal(w.name, "train:step@2");
	static const char *const bad[] = {
	    "", "0", "0:3", "3:2", "3:", ":3", "3@", "a", "3:4x", "-1", "99999999999999999999"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(af_steps_parse(&w, bad[i], NULL), -EINVAL);
		assert_int_equal(w.first, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(launchers_tell_size_and_place),
	    cmocka_unit_test(inner_launchers_count),
	    cmocka_unit_test(all_that_is_given_must_fit),
	    cmocka_unit_test(the_first_host_is_found),
	    cmocka_unit_test(groups_come_from_the_environment),
	    cmocka_unit_test(groups_come_from_a_file),
	    cmocka_unit_test(steps_are_parsed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
