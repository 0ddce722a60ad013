/* Folded text of hostile bytes to a trace, which must be whole. */
#include "builder_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_builder d;
	char say[256];

	af_builder_open(&d);
	d.unit = (const char *[]){NULL, "ms", "bytes", "s"}[size & 3];

	af_import_is_collapsed((const char *)data, size);
	af_import_is_other((const char *)data, size, af_import_is_collapsed, say, sizeof say);
	fuzz_import(&d, data, size, af_import_collapsed);
	return 0;
}
