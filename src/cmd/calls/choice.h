/* Functions of APIs that were chosen by name or pattern. */
#ifndef AF_CMD_CALLS_CHOICE_H
#define AF_CMD_CALLS_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

struct af_nearest;

/* A zeroed struct has none. */
struct af_call_choice {
	bool all;
	uint8_t chosen[(0x10000 - 0x1000) / 8]; /* bits of kinds from AF_KIND_API on */
};

/* Choose the functions whose names match @pattern (fnmatch); returns how many these are. */
uint32_t af_call_choice_add(struct af_call_choice *c, const char *pattern);

/* Offer the names of all functions as what may have been meant. */
void af_call_choice_offer(struct af_nearest *near);

/* Is the function of @kind, from AF_KIND_API on, chosen? */
bool af_call_choice_has(const struct af_call_choice *c, uint16_t kind);

#endif
