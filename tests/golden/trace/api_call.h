/* Calls of traced APIs as mktrace's text has them. */
#ifndef TEST_GOLDEN_API_CALL_H
#define TEST_GOLDEN_API_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Append to @b the payload of a call of the function whose name is the first @len bytes of @s.
 * Fields after it are NAME=NUMBER, in any order: of the head (callpath, correlation, duration_ns,
 * depth, flags), `result`, `bytes` where they are computed, and parameters as they were passed.
 * Those that are missing are 0. Parameters point to the bytes of `tail`, hexadecimal digits in the
 * order of decode.h; without it to nothing. *@kind is the event's. Returns the rest of @s. NULL: no
 * function is called so (*@wrong is NULL), or it lacks the field at *@wrong.
 */
const char *api_call(const char *s, size_t len, struct af_buf *b, uint64_t *kind,
                     const char **wrong);

#endif
