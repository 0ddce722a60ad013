/* Reading what parameters point to: shared by put.c and native.c. */
#ifndef AF_INJECT_API_READ_H
#define AF_INJECT_API_READ_H

#include "inject/api/api.h"

/* Smaller ones are no addresses. */
enum { AF_API_SOMEWHERE = 4096 };

/* False, and the call is flagged: @from cannot be read. */
bool af_api_read(struct af_api_hook *c, void *to, const void *from, size_t size);

/* How many of @nr elements are recorded; the call is flagged where they are not all. */
uint16_t af_api_array_begin(struct af_api_hook *c, uint64_t nr, uint32_t size);

#endif
