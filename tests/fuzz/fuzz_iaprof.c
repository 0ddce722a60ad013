/*
 * iaprof's profiles and records of hostile bytes to a trace, which must be whole; and the listing
 * of the code of it, as code objects are read.
 */
#include "builder_check.h"
#include "sym/device/code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes themselves as a listing: a trace's objects are no safer than the rest of it. */
static void read_listing(const uint8_t *data, size_t size)
{
	size_t head = strlen(AF_CODE_LISTING);
	char *text = malloc(head + size);
	struct af_code_frame frames[4];
	struct af_code *code;
	struct af_err err = {0};

	memcpy(text, AF_CODE_LISTING, head);
	memcpy(text + head, data, size);
	if (af_code_open(&code, text, head + size, &err))
		abort();
	for (uint32_t i = 0; i < af_code_nr_functions(code); i++) {
		const struct af_code_function *f = af_code_function(code, i);
		if (af_code_find(code, f->name, f->symbol) < 0)
			abort();
		for (uint64_t at = 0; at < f->size && at < 64; at++) {
			af_code_frames(code, i, at, frames, 4);
			af_code_text(code, i, at);
		}
	}
	af_code_close(code);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_builder d;

	read_listing(data, size);
	af_builder_open(&d);
	af_import_is_iaprof((const char *)data, size);
	fuzz_import(&d, data, size, af_import_iaprof);
	af_builder_open(&d);
	af_import_is_iaprof_records((const char *)data, size);
	fuzz_import(&d, data, size, af_import_iaprof_records);
	return 0;
}
