/* Tables that compare keys, against keys that were made to have one hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

#include "base/hash.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"
#include "emulated.h"

/* A step of af_hash() for one word of the text. */
static uint64_t step(uint64_t state, uint64_t word)
{
	state = (state ^ word) * 0xff51afd7ed558ccdull;
	return state ^ state >> 29;
}

/* Another pair of words with the hash of @text, which has two: the second undoes the first. */
static void collide(uint64_t text[2], const uint64_t from[2], uint64_t first)
{
	uint64_t start = 16 * 0x9e3779b97f4a7c15ull;

	text[0] = first;
	text[1] = step(start, first) ^ step(start, from[0]) ^ from[1];
}

static void keys_of_one_hash_are_reported_apart(void **state)
{
	const uint64_t from[2] = {7, 11};
	struct af_keys keys = {0};
	struct af_strtab strings = {0};
	bool fresh;
	(void)state;

	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t text[2];
		collide(text, from, i);
		assert_true(af_hash(text, sizeof text) == af_hash(from, sizeof from));
		*af_keys_at(&keys, text, sizeof text, &fresh) = i;
		assert_true(fresh);
		assert_int_equal(af_strtab_id(&strings, (const char *)text, sizeof text), i + 1);
	}
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t text[2];
		collide(text, from, i);
		assert_int_equal(*af_keys_get(&keys, text, sizeof text), i);
	}
	assert_null(af_keys_get(&keys, from, 8));
	assert_int_equal(keys.nr, 100000);
	af_keys_free(&keys);
	af_strtab_free(&strings);
}

/* Every length, so that each way to read a tail counts all of its bytes. */
static void every_byte_counts(void **state)
{
	struct af_keys keys = {0};
	uint32_t nr = 0;
	bool fresh;
	(void)state;

	for (size_t len = 0; len < 70; len++) {
		unsigned char key[70] = {0};
		uint64_t of_zeros = af_scatter_bytes(key, len);
		*af_keys_at(&keys, key, len, &fresh) = nr++;
		assert_true(fresh);
		for (size_t i = 0; i < len; i++) {
			key[i] = 1;
			assert_true(af_scatter_bytes(key, len) != of_zeros);
			*af_keys_at(&keys, key, len, &fresh) = nr++;
			assert_true(fresh);
			key[i] = 0;
		}
		af_keys_at(&keys, key, len, &fresh);
		assert_false(fresh);
	}
	assert_int_equal(keys.nr, nr);
	af_keys_free(&keys);
}

/* The secret of the next process, as it prints it. */
static void seed_of_another(char text[64])
{
	FILE *f = popen("exec /proc/$PPID/exe seed", "r");

	assert_non_null(f);
	assert_non_null(fgets(text, 64, f));
	assert_int_equal(pclose(f), 0);
}

static void each_process_has_a_seed_of_its_own(void **state)
{
	SKIP_EMULATED("/proc/PID/exe is the emulator");
	char first[64], second[64];
	(void)state;

	seed_of_another(first);
	seed_of_another(second);
	assert_string_not_equal(first, second);
}

/* Numbers that follow one another, or differ in their upper half only, must not crowd. */
static void numbers_spread(void **state)
{
	enum { NR = 1 << 14 };
	static uint8_t met[4 * NR];
	(void)state;

	for (unsigned shift = 0; shift < 64 - 14; shift += 8) {
		uint32_t places = 0;
		memset(met, 0, sizeof met);
		for (uint64_t i = 0; i < NR; i++) {
			uint8_t *at = &met[af_scatter(i << shift) % sizeof met];
			places += !*at;
			*at = 1;
		}
		/* At random: 88.5 % of NR, give or take 0.2 %. */
		assert_true(places > NR * 3 / 4);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keys_of_one_hash_are_reported_apart),
	    cmocka_unit_test(every_byte_counts),
	    cmocka_unit_test(each_process_has_a_seed_of_its_own),
	    cmocka_unit_test(numbers_spread),
	};

	if (argc > 1 && !strcmp(argv[1], "seed")) {
		printf("%016llx %016llx\n", (unsigned long long)af_hash_seed[0],
		       (unsigned long long)af_hash_seed[1]);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
