/* Speedscope's files of hostile bytes to a trace, which must be whole. */
#include "draft_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes b = {data, data + size, 1 + size / 3};
	struct af_import_source in = {fuzz_read, &b};
	struct af_draft d;
	char complaint[256] = "";

	af_draft_open(&d);
	af_import_is_speedscope((const char *)data, size);
	af_import_speedscope(&d, &in, 0, complaint, sizeof complaint);
	fuzz_check_draft(&d);
	return 0;
}
