/* SHA-256 by FIPS 180-4's own examples, and the two ways of computing it against each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/sha256.h"

static void digest_is(const void *data, size_t len, const char *want)
{
	char hex[AF_SHA256_HEX];

	for (int plain = 0; plain < 2; plain++) {
		af_sha256_plain(plain);
		af_sha256_hex(data, len, hex);
		assert_string_equal(hex, want);
	}
	af_sha256_plain(false);
}

static void the_examples_of_the_standard(void **state)
{
	static char million[1000000];
	(void)state;

	memset(million, 'a', sizeof million);
	digest_is("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	digest_is("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	digest_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
	          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	digest_is(million, sizeof million,
	          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* In pieces of every size around a block's, at every place in it. */
static void pieces_make_the_same_digest(void **state)
{
	uint8_t data[520], whole[AF_SHA256_BYTES], pieces[AF_SHA256_BYTES];
	(void)state;

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 167 + (i >> 3));
	af_sha256_plain(true);
	af_sha256(data, sizeof data, whole);
	af_sha256_plain(false);
	for (size_t size = 1; size <= 130; size++) {
		struct af_sha256 s;
		af_sha256_init(&s);
		for (size_t at = 0; at < sizeof data; at += size)
			af_sha256_add(&s, data + at,
			              sizeof data - at < size ? sizeof data - at : size);
		af_sha256_end(&s, pieces);
		assert_memory_equal(pieces, whole, sizeof whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_examples_of_the_standard),
	    cmocka_unit_test(pieces_make_the_same_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
