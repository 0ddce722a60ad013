/*
 * The reader of unwind tables against anything: the input is where .eh_frame_hdr lies (u16), a
 * program counter (u32), and the image itself.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inject/cfi.h"
#include "inject/unwinder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t hdr;
	uint32_t pc;

	if (size < sizeof hdr + sizeof pc)
		return 0;
	memcpy(&hdr, data, sizeof hdr);
	memcpy(&pc, data + sizeof hdr, sizeof pc);
	data += sizeof hdr + sizeof pc;
	size -= sizeof hdr + sizeof pc;

	/* A block of its own, so that a read past the end is seen. */
	uint8_t *bytes = malloc(size + 1);
	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	struct af_cfi_image image = {bytes, size, 0x40000};
	struct af_rule rule, again;
	if (!af_cfi_rule(&image, hdr, pc, &rule)) {
		/* What fits into a packed rule must come out of it as it went in. */
		uint32_t packed = af_rule_pack(&rule);
		if (packed) {
			af_rule_unpack(packed, &again);
			if (again.cfa != rule.cfa || af_rule_pack(&again) != packed)
				abort();
		}
	}
	free(bytes);
	return 0;
}
