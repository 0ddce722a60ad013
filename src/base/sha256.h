/*
 * SHA-256 (FIPS 180-4). It names captured objects and digests that are embedded in files. Safe in a
 * target process: no allocation, no global state. af_sha256_init → { af_sha256_add }* →
 * af_sha256_end, or af_sha256() for bytes that lie in one piece.
 */
#ifndef AF_BASE_SHA256_H
#define AF_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AF_SHA256_BYTES = 32, AF_SHA256_HEX = 65 /* with the NUL */ };

struct af_sha256 {
	uint32_t state[8];
	uint64_t nr_bytes;
	uint8_t block[64];
};

/*
 * The digest of bytes that come in pieces. After _end, @s must be initialised again before it is
 * used.
 */
void af_sha256_init(struct af_sha256 *s);
void af_sha256_add(struct af_sha256 *s, const void *data, size_t len);
void af_sha256_end(struct af_sha256 *s, uint8_t digest[AF_SHA256_BYTES]);

/* The digest of @len bytes at @data. */
void af_sha256(const void *data, size_t len, uint8_t digest[AF_SHA256_BYTES]);

/* The digest in lower-case hexadecimal. */
void af_sha256_hex(const void *data, size_t len, char hex[AF_SHA256_HEX]);

/* For tests: without the processor's own instructions from now on. */
void af_sha256_plain(bool on);

#endif
