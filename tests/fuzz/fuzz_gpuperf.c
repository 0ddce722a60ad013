/*
 * gpuperf's extended folded text and CUPTI's text of hostile bytes to a trace, which must be whole.
 */
#include "builder_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_builder d;

	af_builder_open(&d);
	d.calls = size & 1;
	fuzz_import(&d, data, size, af_import_folded);
	af_builder_open(&d);
	af_import_is_cupti((const char *)data, size);
	fuzz_import(&d, data, size, af_import_cupti);
	return 0;
}
