#include "collect/bpf/probe_place.h"

#include <stdbool.h>
#include <string.h>

/* Intel SDM volume 2: endbr64, Jcc, and CMP with an immediate and an operand at a place(%rip). */
static bool is_branch(const uint8_t *at)
{
	return (at[0] & 0xf0) == 0x70 || (at[0] == 0x0f && (at[1] & 0xf0) == 0x80);
}

static uint32_t compare_size(const uint8_t *at)
{
	if (at[1] != 0x3d)
		return 0;
	return at[0] == 0x81 ? 10 : at[0] == 0x80 || at[0] == 0x83 ? 7 : 0;
}

uint32_t af_probe_place(const uint8_t *code, uint32_t size)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint32_t at = size >= 4 && !memcmp(code, endbr64, 4) ? 4 : 0;

	if (at + 2 > size)
		return at;
	/* NVIDIA's driver begins with a comparison of a variable, and a jump that depends on it. */
	uint32_t compare = compare_size(code + at);
	return compare && at + compare + 2 <= size && is_branch(code + at + compare) ? at + compare
	                                                                             : at;
}
