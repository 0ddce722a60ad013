#include "base/sha256.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

/* FIPS 180-4, 4.2.2: the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void sha256_block(uint32_t state[8], const uint8_t *p)
{
	uint32_t w[64], s[8];

	for (int i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}

	memcpy(s, state, sizeof s);
	for (int i = 0; i < 64; i++) {
		uint32_t e = s[4], a = s[0];
		uint32_t t1 = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
		              ((e & s[5]) ^ (~e & s[6])) + round_constants[i] + w[i];
		uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
		              ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

static bool plain;

void af_sha256_plain(bool on)
{
	plain = on;
}

#if defined(__x86_64__)
/* CPUID leaf 7: bit 29 of EBX is SHA; leaf 1: bit 19 of ECX is SSE4.1. */
static bool has_sha(void)
{
	/* 0: not asked, else 1 or -1; several threads may ask, and find the same. */
	static int8_t cached;
	int8_t known = __atomic_load_n(&cached, __ATOMIC_RELAXED);
	unsigned a, b, c, d;

	if (!known) {
		bool sse = __get_cpuid(1, &a, &b, &c, &d) && c & 1u << 19;
		bool sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1u << 29;
		known = sse && sha ? 1 : -1;
		__atomic_store_n(&cached, known, __ATOMIC_RELAXED);
	}
	return known > 0;
}

/*
 * The same with the processor's own instructions (Intel, "SHA Extensions"), which take the state as
 * the words ABEF and CDGH, and do two rounds at a time: ten times faster.
 */
__attribute__((target("sha,sse4.1"))) static void sha256_blocks_sha(uint32_t state[8],
                                                                    const uint8_t *p, size_t nr)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	const __m128i *k = (const __m128i *)round_constants;
	__m128i m[4], badc = _mm_shuffle_epi32(_mm_loadu_si128((__m128i *)state), 0xb1);
	__m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((__m128i *)(state + 4)), 0x1b);
	__m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);

	for (; nr; nr--, p += 64) {
		__m128i abef_was = abef, cdgh_was = cdgh;
		for (int i = 0; i < 16; i++) {
			__m128i *w = &m[i % 4];
			if (i < 4)
				*w =
				    _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)p + i), swap);
			else
				*w = _mm_sha256msg2_epu32(
				    _mm_add_epi32(
					_mm_sha256msg1_epu32(*w, m[(i + 1) % 4]),
					_mm_alignr_epi8(m[(i + 3) % 4], m[(i + 2) % 4], 4)),
				    m[(i + 3) % 4]);
			__m128i wk = _mm_add_epi32(*w, k[i]);
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0e));
		}
		abef = _mm_add_epi32(abef, abef_was);
		cdgh = _mm_add_epi32(cdgh, cdgh_was);
	}

	__m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

static void sha256_blocks(uint32_t state[8], const uint8_t *p, size_t nr)
{
#if defined(__x86_64__)
	if (!plain && has_sha()) {
		sha256_blocks_sha(state, p, nr);
		return;
	}
#endif
	for (; nr; nr--, p += 64)
		sha256_block(state, p);
}

void af_sha256_init(struct af_sha256 *s)
{
	*s = (struct af_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void af_sha256_add(struct af_sha256 *s, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t held = s->nr_bytes % 64;

	s->nr_bytes += len;
	if (held && len) {
		size_t n = 64 - held < len ? 64 - held : len;
		memcpy(s->block + held, p, n);
		p += n;
		len -= n;
		if (held + n < 64)
			return;
		sha256_blocks(s->state, s->block, 1);
	}
	if (len >= 64)
		sha256_blocks(s->state, p, len / 64);
	if (len % 64)
		memcpy(s->block, p + len / 64 * 64, len % 64);
}

void af_sha256_end(struct af_sha256 *s, uint8_t digest[AF_SHA256_BYTES])
{
	static const uint8_t padding[64] = {0x80};
	uint64_t nr_bits = s->nr_bytes * 8;
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(nr_bits >> (56 - 8 * i));
	af_sha256_add(s, padding, 1 + (119 - s->nr_bytes % 64) % 64);
	af_sha256_add(s, length, 8);
	for (int i = 0; i < AF_SHA256_BYTES; i++)
		digest[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void af_sha256(const void *data, size_t len, uint8_t digest[AF_SHA256_BYTES])
{
	struct af_sha256 s;

	af_sha256_init(&s);
	af_sha256_add(&s, data, len);
	af_sha256_end(&s, digest);
}

void af_sha256_hex(const void *data, size_t len, char hex[AF_SHA256_HEX])
{
	uint8_t digest[AF_SHA256_BYTES];

	af_sha256(data, len, digest);
	for (int i = 0; i < AF_SHA256_BYTES; i++) {
		hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	hex[AF_SHA256_HEX - 1] = 0;
}
