/* A number in decimal digits and nothing else. */
#ifndef AF_BASE_DIGITS_H
#define AF_BASE_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

/* The number at *@at, past which *@at goes; false, and nothing changes: no digit, or too large. */
static inline bool af_digits_take(const char **at, uint64_t *number)
{
	const char *c = *at;
	uint64_t n = 0;

	if (*c < '0' || *c > '9')
		return false;
	for (; *c >= '0' && *c <= '9'; c++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*c - '0'), &n))
			return false;
	*number = n;
	*at = c;
	return true;
}

/* Is @text such a number as a whole? Only then *@number changes. */
static inline bool af_digits(const char *text, uint64_t *number)
{
	uint64_t n;

	if (!af_digits_take(&text, &n) || *text)
		return false;
	*number = n;
	return true;
}

#endif
