/*
 * Numbers of variable length, 7 bits a byte, least first: LEB128 (DWARF 5, 7.6), which Protocol
 * Buffers call varints.
 */
#ifndef AF_BASE_LEB128_H
#define AF_BASE_LEB128_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AF_LEB128_MAX = 10 }; /* bytes of 64 bits */

/*
 * Read the number at @p, of which @len bytes are there: bits beyond the 64th are lost, and with
 * @is_signed the number's sign is extended. Returns how many bytes it has, 0 when its end is not
 * there.
 */
static inline size_t af_leb128(const uint8_t *p, size_t len, bool is_signed, uint64_t *value)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++) {
		/* So that no number is long enough to come round. */
		unsigned shift = i < 10 ? (unsigned)i * 7 : 70;
		if (shift < 64)
			v |= (uint64_t)(p[i] & 0x7f) << shift;
		if (p[i] & 0x80)
			continue;
		if (is_signed && p[i] & 0x40 && shift + 7 < 64)
			v |= UINT64_MAX << (shift + 7);
		*value = v;
		return i + 1;
	}
	return 0;
}

/* How many bytes @value has, unsigned: one for each 7 bits that are begun. */
static inline size_t af_leb128_size(uint64_t value)
{
	return ((size_t)(63 - __builtin_clzll(value | 1)) * 9 + 73) / 64;
}

/* The byte at @i of @value, which has @size of them; and what a byte at @i adds to its number. */
static inline uint8_t af_leb128_byte(uint64_t value, size_t size, size_t i)
{
	return (uint8_t)((value >> 7 * i & 0x7f) | (i + 1 < size ? 0x80 : 0));
}

static inline uint64_t af_leb128_part(uint8_t byte, size_t i)
{
	return (uint64_t)(byte & 0x7f) << 7 * i;
}

/* Write @value unsigned; returns how many bytes it has. */
static inline size_t af_leb128_put(uint8_t to[AF_LEB128_MAX], uint64_t value)
{
	size_t n = 0;

	for (; value > 0x7f; value >>= 7)
		to[n++] = (uint8_t)(value | 0x80);
	to[n++] = (uint8_t)value;
	return n;
}

#endif
