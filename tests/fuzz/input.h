/* The input of a fuzzer, taken from its front: zeros when there is no more. */
#ifndef AF_FUZZ_INPUT_H
#define AF_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct input {
	const uint8_t *data;
	size_t left;
};

static inline uint8_t take_byte(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->data++;
}

#endif
