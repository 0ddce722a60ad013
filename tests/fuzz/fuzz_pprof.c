/* pprof's profiles of hostile bytes to a trace, which must be whole. */
#include "builder_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_builder d;

	af_builder_open(&d);
	af_import_is_pprof((const char *)data, size);
	fuzz_import(&d, data, size, af_import_pprof);
	return 0;
}
