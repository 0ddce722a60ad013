/* Blocks by address, and call paths by what they are, as src/inject/alloc keeps them. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/pages.h"
#include "inject/alloc/book.h"
#include "inject/alloc/sites.h"

enum { BLOCKS = 50000, THREADS = 4 };

static struct af_book book;

static const void *address_of(uint64_t n)
{
	return (const void *)(uintptr_t)(0x7f0000000000 + n * 16);
}

static void add(uint64_t n, uint64_t bytes, uint32_t site)
{
	struct af_alloc_block old, block = {bytes, site};

	assert_true(af_book_add(&book, address_of(n), &block, &old));
	assert_int_equal(old.site, 0);
}

static void blocks_are_found_once(void **unused)
{
	struct af_alloc_block block;

	(void)unused;
	for (uint64_t i = 0; i < BLOCKS; i++)
		add(i, i + 1, (uint32_t)(i % 1000 + 1));
	/* In another order than they came, so that rows of slots move up. */
	for (uint64_t i = 0; i < BLOCKS; i++) {
		uint64_t n = i * 7919 % BLOCKS;
		af_book_remove(&book, address_of(n), &block);
		assert_int_equal(block.site, n % 1000 + 1);
		assert_int_equal(block.bytes, n + 1);
		af_book_remove(&book, address_of(n), &block);
		assert_int_equal(block.site, 0);
	}
	for (uint32_t i = 0; i < AF_BOOK_SHARDS; i++)
		assert_int_equal(book.shards[i].used, 0);
}

static void a_block_replaces_the_one_before(void **unused)
{
	struct af_alloc_block old, block = {20, 2};

	(void)unused;
	add(1, 10, 1);
	assert_true(af_book_add(&book, address_of(1), &block, &old));
	assert_int_equal(old.site, 1);
	assert_int_equal(old.bytes, 10);
	af_book_remove(&book, address_of(1), &block);
	assert_int_equal(block.bytes, 20);
	assert_int_equal(block.site, 2);
}

static void *churns(void *arg)
{
	uint64_t first = (uint64_t)(uintptr_t)arg * BLOCKS, wrong = 0;
	struct af_alloc_block block;

	for (int round = 0; round < 3; round++) {
		for (uint64_t i = first; i < first + BLOCKS; i++) {
			struct af_alloc_block old, new = {i, 7};
			wrong += !af_book_add(&book, address_of(i), &new, &old) || old.site;
		}
		for (uint64_t i = first; i < first + BLOCKS; i++) {
			af_book_remove(&book, address_of(i), &block);
			wrong += block.site != 7 || block.bytes != i;
		}
	}
	return (void *)(uintptr_t)wrong;
}

static void threads_do_not_disturb_each_other(void **unused)
{
	pthread_t threads[THREADS];

	(void)unused;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churns, (void *)i), 0);
	for (int i = 0; i < THREADS; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

/* Where there is no more room, that is an answer, and the blocks that are there stay. */
static void a_full_book_answers(void **unused)
{
	struct af_alloc_block old, block = {1, 1};
	uint64_t n = 0, nr = 0;
	bool room = true;

	(void)unused;
	for (; room && n < 20000000; n++) {
		/* One shard takes them all. */
		if (af_mix((uint64_t)address_of(n)) % AF_BOOK_SHARDS)
			continue;
		room = af_book_add(&book, address_of(n), &block, &old);
		nr += room;
	}
	assert_false(room);
	assert_in_range(nr, 190000, 200000);
	assert_int_equal(book.shards[0].used, nr);
	for (uint64_t i = 0; i < n; i++) {
		if (af_mix((uint64_t)address_of(i)) % AF_BOOK_SHARDS)
			continue;
		af_book_remove(&book, address_of(i), &block);
		assert_int_equal(block.site, i < n - 1);
	}
	assert_int_equal(book.shards[0].used, 0);
}

static void equal_stacks_are_one_site(void **unused)
{
	struct af_sites *s = af_pages(sizeof *s, MAP_NORESERVE);
	uint64_t words[3] = {1, 2, 3}, swapped[3] = {2, 1, 3};

	(void)unused;
	assert_non_null(s);
	uint32_t a = af_sites_stack(s, words, 3, AF_STOP_COMPLETE, 1);
	assert_int_equal(a, 1);
	assert_int_equal(af_sites_stack(s, words, 3, AF_STOP_COMPLETE, 1), a);
	uint32_t b = af_sites_stack(s, swapped, 3, AF_STOP_COMPLETE, 1);
	assert_int_not_equal(b, a);
	/* The same addresses after modules were unloaded may be other code. */
	assert_int_not_equal(af_sites_stack(s, words, 3, AF_STOP_COMPLETE, 2), a);
	assert_int_not_equal(af_sites_stack(s, words, 2, AF_STOP_COMPLETE, 1), a);
	uint32_t plain = af_sites_site(s, a, 0), python = af_sites_site(s, a, b);
	assert_true(plain > AF_SITE_UNKNOWN && python > AF_SITE_UNKNOWN && plain != python);
	assert_int_equal(af_sites_site(s, a, 0), plain);
	assert_int_equal(af_sites_site(s, a, b), python);
	assert_int_equal(af_sites_site(s, 0, 0), AF_SITE_UNKNOWN);
	munmap(s, sizeof *s);
}

static void a_site_has_its_stacks(void **unused)
{
	struct af_sites *s = af_pages(sizeof *s, MAP_NORESERVE);
	static struct af_capture c;
	uint64_t words[3] = {1, 2, 3}, py[2] = {9, 8};

	(void)unused;
	assert_non_null(s);
	uint32_t stack = af_sites_stack(s, words, 3, AF_STOP_TOO_DEEP, 5);
	uint32_t site =
	    af_sites_site(s, stack, af_sites_stack(s, py, 2, AF_STOP_COMPLETE, UINT32_MAX));
	assert_true(af_sites_capture(s, &s->sites[site], &c));
	assert_int_equal(c.nr, 3);
	assert_memory_equal(c.pcs, words, sizeof words);
	assert_int_equal(c.stop, AF_STOP_TOO_DEEP);
	assert_int_equal(c.epoch, 5);
	assert_int_equal(c.nr_py, 2);
	assert_memory_equal(c.py, py, sizeof py);
	assert_false(af_sites_capture(s, &s->sites[AF_SITE_UNKNOWN], &c));
	munmap(s, sizeof *s);
}

static void full_sites_give_the_unknown_one(void **unused)
{
	struct af_sites *s = af_pages(sizeof *s, MAP_NORESERVE);

	(void)unused;
	assert_non_null(s);
	for (uint64_t i = 0; i < AF_SITES + 10; i++) {
		uint32_t stack = af_sites_stack(s, &i, 1, AF_STOP_COMPLETE, 1);
		uint32_t site = af_sites_site(s, stack, 0);
		assert_true(i < AF_SITES - 2 ? site > AF_SITE_UNKNOWN : site == AF_SITE_UNKNOWN);
	}
	uint64_t first = 0;
	assert_int_equal(af_sites_stack(s, &first, 1, AF_STOP_COMPLETE, 1), 1);
	munmap(s, sizeof *s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(blocks_are_found_once),
	    cmocka_unit_test(a_block_replaces_the_one_before),
	    cmocka_unit_test(threads_do_not_disturb_each_other),
	    cmocka_unit_test(a_full_book_answers),
	    cmocka_unit_test(equal_stacks_are_one_site),
	    cmocka_unit_test(a_site_has_its_stacks),
	    cmocka_unit_test(full_sites_give_the_unknown_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
