/* Values of API calls, by their types: as people read them, or as JSON. */
#ifndef AF_CMD_CALLS_VALUES_H
#define AF_CMD_CALLS_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "api/tables/decode.h"
#include "base/buf.h"
#include "cmd/calls/handles.h"

/* A zeroed struct prints text; free the handles in the end. */
struct af_values {
	bool json;
	uint32_t process; /* whose handles are named */
	struct af_handles handles;
};

/* Append the value of type @t at @at, which is unaligned. */
void af_value_put(struct af_values *v, const struct af_api_type *t, const uint8_t *at,
                  struct af_buf *b);

/* Append @nr values that follow each other; people get the first 32 of them. */
void af_values_put(struct af_values *v, const struct af_api_type *t, const uint8_t *at, uint32_t nr,
                   struct af_buf *b);

/* Append a string of @len bytes in quotes; people get the first 256 bytes. */
void af_value_string(const struct af_values *v, const uint8_t *at, size_t len, struct af_buf *b);

/* Append "name: " or "\"name\":", behind a comma unless it is the first. */
void af_value_name(const struct af_values *v, const char *name, bool first, struct af_buf *b);

#endif
