/*
 * Binaries of Intel's drivers, as a target meets them. The first byte is the length of the kernel's
 * name, which follows; the rest is the object. A kernel that is found lies in the object.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inject/intel/zebin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_zebin_kernel k;
	char name[256];

	if (!size || size <= data[0])
		return 0;
	size_t len = data[0];
	memcpy(name, data + 1, len);
	name[len] = 0;
	data += len + 1;
	size -= len + 1;
	af_zebin_has_lines(data, size);
	if (af_tokens_kernel(data, size, name, &k) && (!k.size || k.size > size || k.symbol))
		abort();
	if (!af_zebin_kernel(data, size, name, &k))
		return 0;
	if (!af_zebin_is(data, size) || !k.size || k.size > size || k.symbol > size)
		abort();
	return 0;
}
