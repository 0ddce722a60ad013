/*
 * A code object as aflame reads it: for each function "function NAME SIZE", then a line for each
 * instruction, "OFFSET SIZE<TAB>FUNCTION:FILE:LINE, innermost first<TAB>TEXT". For
 * tests/live/test_zebin.py.
 *	code_insns FILE
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "sym/device/code.h"
#include "sym/device/listing.h"

static void insn_print(struct af_code *code, struct af_listing *listing, uint32_t i, uint64_t at)
{
	struct af_code_frame frames[AF_CODE_FRAMES];
	uint32_t nr = af_code_frames(code, i, at, frames, AF_CODE_FRAMES);
	const char *text = af_listing_text(listing, i, at);

	printf("%" PRIx64 " %" PRIu64 "\t", at, af_code_next(code, i, at) - at);
	for (uint32_t k = 0; k < nr; k++)
		printf("%s%s:%s:%u", k ? " " : "", frames[k].function, frames[k].file,
		       frames[k].line);
	printf("\t%s\n", text ? text : "");
}

int main(int argc, char **argv)
{
	struct af_err err = {0};
	struct af_code *code = NULL;
	struct af_file file;

	if (argc != 2 || af_file_map(&file, argv[1], &err) ||
	    af_code_open(&code, file.data, file.size, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	struct af_listing *listing = af_listing_open(code, NULL);
	printf("%s\n", af_code_arch(code));
	for (uint32_t i = 0; i < af_code_nr_functions(code); i++) {
		const struct af_code_function *f = af_code_function(code, i);
		printf("function %s %" PRIu64 "\n", f->name, f->size);
		for (uint64_t at = 0; at < f->size; at = af_code_next(code, i, at))
			insn_print(code, listing, i, at);
	}
	printf("# %s %s\n", af_listing_source(listing), af_listing_reason(listing));
	af_listing_close(listing);
	af_code_close(code);
	af_file_unmap(&file);
	return 0;
}
