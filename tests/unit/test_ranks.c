/* Ranks that behave alike, odd ones and their causes, of made-up ranks. */
#include "analyse/ranks/ranks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "same_tables.h"

#define MS UINT64_C(1000000)

/* A rank's times while they are made. */
struct made {
	struct af_results r;
	struct af_activity *activity;
};

static uint64_t random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static void made_open(struct made *m)
{
	*m = (struct made){.activity = calloc(1, sizeof(struct af_activity))};
	assert_non_null(m->activity);
	m->activity->wall_ns = 1000 * MS;
	m->r.query.own = m->activity;
	af_tree_open(&m->r.trees[AF_VIEW_CPU], af_weights, AF_WEIGHTS);
	af_tree_open(&m->r.trees[AF_VIEW_GPU], af_weights, AF_WEIGHTS);
}

/* The node of "app;main;work", made when it is new. The first frame is a process, "[…]" a mark. */
static uint32_t node_at(struct af_tree *t, const char *path)
{
	uint32_t node = 0;

	for (const char *at = path; *at;) {
		size_t len = strcspn(at, ";");
		enum af_frame frame = at == path   ? AF_FRAME_PROCESS
		                      : *at == '[' ? AF_FRAME_MARK
		                                   : AF_FRAME_NATIVE;
		node = af_tree_child(t, node, af_tree_name(t, at, len, frame, 0));
		at += len + (at[len] == ';');
	}
	return node;
}

static void cpu_add(struct made *m, const char *path, uint64_t samples)
{
	struct af_tree *t = &m->r.trees[AF_VIEW_CPU];
	uint32_t node = node_at(t, path);

	af_tree_add(t, node, AF_WEIGHT_TIME, samples * 10 * MS);
	af_tree_add(t, node, AF_WEIGHT_SAMPLES, samples);
}

static void wait_add(struct made *m, const char *path, uint64_t ns)
{
	struct af_tree *t = &m->r.trees[AF_VIEW_CPU];

	af_tree_add(t, node_at(t, path), AF_WEIGHT_OFF_CPU, ns);
	m->r.has[AF_VIEW_CPU] |= 1u << AF_WEIGHT_OFF_CPU;
}

static void device_add(struct made *m, const char *path, uint64_t ns)
{
	struct af_tree *t = &m->r.trees[AF_VIEW_GPU];
	uint32_t node = node_at(t, path);

	af_tree_add(t, node, AF_WEIGHT_TIME, ns);
	af_tree_add(t, node, AF_WEIGHT_COUNT, 1);
}

static void mpi_add(struct made *m, const char *function, uint64_t ns)
{
	struct af_activity_call *c = &m->activity->calls[m->activity->nr_calls++];

	snprintf(c->name, sizeof c->name, "%s", function);
	c->ns = ns;
	c->calls = 1;
}

static void made_end(struct made *m, struct af_ranks *all, uint64_t rank)
{
	char path[64], label[64];
	struct af_member who = {.host = "node", .boot_id = "", .rank = rank, .has_rank = true};

	snprintf(path, sizeof path, "set/rank-%04u", (unsigned)rank);
	snprintf(label, sizeof label, "rank %u", (unsigned)rank);
	who.path = path;
	who.name = path + 4;
	who.label = label;
	af_tree_finish(&m->r.trees[AF_VIEW_CPU]);
	af_tree_finish(&m->r.trees[AF_VIEW_GPU]);
	af_ranks_add(all, &who, &m->r);
	af_tree_close(&m->r.trees[AF_VIEW_CPU]);
	af_tree_close(&m->r.trees[AF_VIEW_GPU]);
	free(m->activity);
}

/* About 20 samples of work in each rank, as chance wants it. */
static void usual(struct made *m, uint64_t *chance)
{
	cpu_add(m, "app;main;step;work", 16 + random_next(chance) % 9);
	cpu_add(m, "app;main;step", random_next(chance) % 3);
}

static const char *path_text(struct af_tables *f, const struct af_ranks_result *r, uint32_t rank)
{
	return af_ranks_path(f, r->paths, r->ranks[rank].path, 0);
}

static void test_noise_is_not_odd(void **state)
{
	struct af_ranks *all = af_ranks_open();
	uint64_t chance = 7;

	(void)state;
	for (uint64_t i = 0; i < 64; i++) {
		struct made m;
		made_open(&m);
		usual(&m, &chance);
		made_end(&m, all, i);
	}
	const struct af_ranks_result *r = af_ranks_end(all);
	assert_int_equal(r->nr, 64);
	assert_int_equal(r->nr_odd, 0);
	assert_int_equal(r->nr_groups, 1);
	assert_int_equal(r->groups[0].nr, 64);
	af_ranks_close(all);
}

/* A path that is sampled twice on average has no sample in some ranks, by chance. */
static uint64_t chance_of_two(uint64_t *chance)
{
	uint64_t nr = 0;

	for (int i = 0; i < 20; i++)
		nr += random_next(chance) % 10 == 0;
	return nr;
}

static void test_few_samples_are_chance(void **state)
{
	uint64_t chance = 3, apart = 0;

	(void)state;
	for (int job = 0; job < 200; job++) {
		struct af_ranks *all = af_ranks_open();
		for (uint64_t i = 0; i < 8; i++) {
			struct made m;
			made_open(&m);
			m.activity->wall_ns = 150 * MS;
			cpu_add(&m, "app;main;step;work", chance_of_two(&chance));
			cpu_add(&m, "app;main;step;other", chance_of_two(&chance));
			made_end(&m, all, i);
		}
		const struct af_ranks_result *r = af_ranks_end(all);
		apart += r->nr_groups > 1;
		af_ranks_close(all);
	}
	assert_in_range(apart, 0, 2);
}

static void test_each_kind(void **state)
{
	struct af_ranks *all = af_ranks_open();
	struct af_tables f = {0};
	uint64_t chance = 11;

	(void)state;
	for (uint64_t i = 0; i < 64; i++) {
		struct made m;
		made_open(&m);
		usual(&m, &chance);
		device_add(&m, "app;main;step;launch;kernel", i == 20 ? 300 * MS : 10 * MS);
		/* Its thread polls the device meanwhile. */
		cpu_add(&m, "app;main;step;synchronize", i == 20 ? 30 : 1);
		if (i == 10)
			cpu_add(&m, "app;main;step;extra", 40);
		wait_add(&m, "app;main;step;read;io;[uninterruptible wait]",
		         i == 30 ? 250 * MS : 5 * MS);
		wait_add(&m, "app;main;step;barrier;futex;[sleeping]",
		         i == 10 || i == 20 || i == 30 ? 100 * MS : 500 * MS);
		if (i == 40)
			wait_add(&m, "app;main;step;fetch;recv;[sleeping]", 200 * MS);
		made_end(&m, all, i);
	}
	const struct af_ranks_result *r = af_ranks_end(all);
	assert_int_equal(r->nr_odd, 4);
	assert_int_equal(r->groups[0].nr, 60);
	assert_int_equal(r->odd[0], 10);
	assert_int_equal(r->odd[1], 20);
	assert_int_equal(r->odd[2], 30);
	assert_int_equal(r->odd[3], 40);
	assert_int_equal(r->ranks[10].kind, AF_RANK_CPU);
	assert_string_equal(path_text(&f, r, 10), "main > step > extra");
	assert_int_equal(r->ranks[20].kind, AF_RANK_DEVICE);
	assert_string_equal(path_text(&f, r, 20), "main > step > launch > kernel");
	assert_int_equal(r->ranks[20].delay_ns, 290 * MS);
	assert_int_equal(r->ranks[20].explains_ns, 63 * 290 * MS);
	assert_int_equal(r->ranks[30].kind, AF_RANK_DISK);
	assert_string_equal(path_text(&f, r, 30),
	                    "main > step > read > io > [uninterruptible wait]");
	assert_string_equal(af_ranks_path(&f, r->paths, r->ranks[30].path, 2), "… > read > io");
	assert_int_equal(r->ranks[40].kind, AF_RANK_WAIT);
	assert_string_equal(path_text(&f, r, 40), "main > step > fetch > recv > [sleeping]");
	af_tables_free(&f);
	af_ranks_close(all);
}

/* A rank that all wait for has less time inside MPI; one that nobody waits for has not. */
static void test_mpi_is_the_mirror(void **state)
{
	struct af_ranks *all = af_ranks_open();

	(void)state;
	for (uint64_t i = 0; i < 16; i++) {
		struct made m;
		made_open(&m);
		cpu_add(&m, "app;main;work", i == 3 || i == 9 ? 60 : 20);
		mpi_add(&m, "MPI_Allreduce", i == 3 ? 20 * MS : 420 * MS);
		made_end(&m, all, i);
	}
	const struct af_ranks_result *r = af_ranks_end(all);
	assert_int_equal(r->nr_odd, 2);
	assert_int_equal(r->odd[0], 3);
	assert_int_equal(r->ranks[3].delay_ns, 400 * MS);
	assert_int_equal(r->odd[1], 9);
	assert_int_equal(r->ranks[9].delay_ns, 0);
	assert_int_equal(r->ranks[9].kind, AF_RANK_CPU);
	af_ranks_close(all);
}

/* Halves that do different work are two groups, and none of their ranks is odd. */
static void test_halves(void **state)
{
	struct af_ranks *all = af_ranks_open();

	(void)state;
	for (uint64_t i = 0; i < 32; i++) {
		struct made m;
		made_open(&m);
		cpu_add(&m, i % 2 ? "app;main;serve" : "app;main;compute", 50);
		made_end(&m, all, i);
	}
	const struct af_ranks_result *r = af_ranks_end(all);
	assert_int_equal(r->nr_groups, 2);
	assert_int_equal(r->nr_odd, 0);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(r->ranks[i].group, i % 2);
	assert_true(r->ranks[r->groups[1].typical].has_cause);
	af_ranks_close(all);
}

static void test_few_ranks(void **state)
{
	for (uint64_t nr = 0; nr < 4; nr++) {
		struct af_ranks *all = af_ranks_open();
		struct af_set set = {.path = "set"};
		struct af_tables f = {0};
		struct af_ranks_heat heat;
		(void)state;
		for (uint64_t i = 0; i < nr; i++) {
			struct made m;
			made_open(&m);
			if (i)
				cpu_add(&m, "app;main;work", 100 * i * i);
			made_end(&m, all, i);
		}
		const struct af_ranks_result *r = af_ranks_end(all);
		assert_int_equal(r->nr, nr);
		assert_true(nr > 2 || !r->nr_odd);
		af_ranks_tables(all, &set, &f);
		af_ranks_heat(all, NULL, &heat);
		assert_int_equal(heat.nr_bins, 0);
		af_ranks_heat_table(all, &heat, &f);
		af_ranks_heat_close(&heat);
		af_tables_free(&f);
		af_ranks_close(all);
	}
}

/* Thousands of ranks with many paths each: profiles are bounded, the outcome is the same. */
static uint32_t crowd(uint32_t *groups)
{
	struct af_ranks *all = af_ranks_open();
	uint64_t chance = 5;
	char path[64];

	for (uint64_t i = 0; i < 2000; i++) {
		struct made m;
		made_open(&m);
		usual(&m, &chance);
		for (uint32_t k = 0; k < 300; k++) {
			snprintf(path, sizeof path, "app;main;step;small_%u", k);
			cpu_add(&m, path, random_next(&chance) % 50 == 0);
		}
		if (i % 1000 == 777)
			cpu_add(&m, "app;main;step;extra", 60);
		made_end(&m, all, i);
	}
	const struct af_ranks_result *r = af_ranks_end(all);
	uint32_t odd = r->nr_odd;
	assert_true(odd >= 2);
	assert_int_equal(r->odd[0] % 1000, 777);
	assert_int_equal(r->odd[1] % 1000, 777);
	*groups = r->nr_groups;
	af_ranks_close(all);
	return odd;
}

static void test_thousands(void **state)
{
	uint32_t groups[2];

	(void)state;
	uint32_t odd = crowd(&groups[0]);
	assert_int_equal(crowd(&groups[1]), odd);
	assert_int_equal(groups[0], groups[1]);
	assert_true(odd < 20);
}

/* Ranks of two hosts: the bins of the second are moved to the clock of the first. */
static void test_heat_aligns(void **state)
{
	struct af_ranks *all = af_ranks_open();
	struct af_ranks_heat heat;

	(void)state;
	for (uint64_t i = 0; i < 2; i++) {
		struct made m;
		made_open(&m);
		m.activity->start_ns = i ? 700 * MS : 5000 * MS;
		m.activity->each_ns = 100 * MS;
		m.activity->nr = 10;
		m.activity->ns[AF_RANK_CPU][4] = 50 * MS;
		struct af_member who = {.path = i ? "b" : "a",
		                        .name = i ? "b" : "a",
		                        .label = i ? "b" : "a",
		                        .host = i ? "b" : "a",
		                        .boot_id = i ? "2" : "1",
		                        .rank = i};
		af_tree_finish(&m.r.trees[AF_VIEW_CPU]);
		af_tree_finish(&m.r.trees[AF_VIEW_GPU]);
		af_ranks_add(all, &who, &m.r);
		af_tree_close(&m.r.trees[AF_VIEW_CPU]);
		af_tree_close(&m.r.trees[AF_VIEW_GPU]);
		free(m.activity);
	}
	af_ranks_end(all);
	const int64_t shifts[2] = {0, 4300 * (int64_t)MS};
	assert_int_equal(af_ranks_start_ns(all, 1), 700 * MS);
	af_ranks_heat(all, shifts, &heat);
	assert_int_equal(heat.start_ns, 5000 * MS);
	assert_true(heat.nr_bins <= AF_RANKS_BINS);
	assert_int_equal(heat.each_ns * heat.nr_bins, 1000 * MS);
	for (uint32_t b = 0; b < heat.nr_bins; b++) {
		uint64_t at_ns = b * heat.each_ns;
		uint32_t wanted = at_ns >= 400 * MS && at_ns < 500 * MS ? 5000 : 0;
		assert_int_equal(af_ranks_heat_at(&heat, 0, b)[AF_RANK_CPU], wanted);
		assert_int_equal(af_ranks_heat_at(&heat, 1, b)[AF_RANK_CPU], wanted);
	}
	af_ranks_heat_close(&heat);
	af_ranks_close(all);
}

/* Ranks @from to @to of 60; rank 41 has a path of its own, which it takes longer in. */
static struct af_ranks *some_ranks(uint64_t from, uint64_t to)
{
	struct af_ranks *all = af_ranks_open();
	char path[64];

	for (uint64_t i = from; i < to; i++) {
		uint64_t chance = i;
		struct made m;
		made_open(&m);
		usual(&m, &chance);
		snprintf(path, sizeof path, "app;main;small_%u", (unsigned)(59 - i) / 7);
		cpu_add(&m, path, 2);
		if (i == 41)
			cpu_add(&m, "app;main;step;extra", 60);
		if (i % 2)
			wait_add(&m, "app;main;read;[disk]", MS);
		mpi_add(&m, "MPI_Allreduce", (i == 41 ? 1 : 300) * MS);
		m.activity->start_ns = 1000 + i;
		m.activity->each_ns = MS;
		m.activity->nr = 3;
		m.activity->ns[AF_RANK_CPU][2] = MS / 2;
		made_end(&m, all, i);
	}
	return all;
}

static void tables_of(struct af_ranks *all, struct af_tables *f)
{
	struct af_ranks_heat heat;
	struct af_set set = {.path = "set"};

	assert_int_equal(af_ranks_end(all)->nr, 60);
	af_ranks_tables(all, &set, f);
	af_ranks_heat(all, NULL, &heat);
	af_ranks_heat_table(all, &heat, f);
	af_ranks_heat_close(&heat);
}

/* The outcome does not depend on who reads which ranks; bytes that end early add nothing. */
static void test_processes(void **state)
{
	struct af_ranks *one = some_ranks(0, 60), *first = some_ranks(0, 13);
	struct af_ranks *second = some_ranks(13, 50), *last = some_ranks(50, 60);
	struct af_tables a = {0}, b = {0};
	struct af_buf bytes = {0};
	struct af_err err;

	(void)state;
	af_ranks_write(last, &bytes);
	assert_int_equal(af_ranks_read(second, bytes.data, bytes.len, &err), 0);
	bytes.len = 0;
	af_ranks_write(second, &bytes);
	for (size_t len = 0; len < bytes.len; len += len < 4000 ? 1 : 97) {
		char *part = malloc(len + 1);
		assert_non_null(part);
		memcpy(part, bytes.data, len);
		assert_int_equal(af_ranks_read(first, part, len, &err), -EBADMSG);
		free(part);
	}
	assert_int_equal(af_ranks_read(first, bytes.data, bytes.len, &err), 0);
	tables_of(one, &a);
	tables_of(first, &b);
	assert_same_tables(&a, &b);
	const struct af_odd_rank_row *odd =
	    AF_ROW_AT(struct af_odd_rank_row, af_tables_find(&b, "odd_ranks"), 0);
	assert_string_equal(odd->rank.text, "rank 41");
	af_buf_free(&bytes);
	af_tables_free(&a);
	af_tables_free(&b);
	af_ranks_close(one);
	af_ranks_close(first);
	af_ranks_close(second);
	af_ranks_close(last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_noise_is_not_odd), cmocka_unit_test(test_few_samples_are_chance),
	    cmocka_unit_test(test_each_kind),        cmocka_unit_test(test_mpi_is_the_mirror),
	    cmocka_unit_test(test_halves),           cmocka_unit_test(test_few_ranks),
	    cmocka_unit_test(test_thousands),        cmocka_unit_test(test_heat_aligns),
	    cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
