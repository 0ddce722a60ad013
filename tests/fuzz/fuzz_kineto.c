/*
 * JSON of hostile bytes, as it is and as events of a trace, through the reader and the importer to
 * a trace, which must be whole. Tokens must not depend on how the bytes come in pieces.
 */
#include "builder_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A hash of all tokens, and how it ended. */
static uint64_t tokens(const uint8_t *data, size_t size, size_t piece)
{
	struct fuzz_bytes b = {data, data + size, piece};
	uint64_t hash = 0;
	struct af_json j;
	enum af_json_token token;

	af_json_open(&j, fuzz_read, &b);
	while ((token = af_json_next(&j)) > AF_JSON_END) {
		hash = af_mix(hash ^ (uint64_t)token);
		if (j.depth > AF_JSON_DEPTH)
			abort();
		if (token < AF_JSON_KEY || token > AF_JSON_NUMBER)
			continue;
		if (j.len > AF_JSON_TEXT_MAX)
			abort();
		hash = af_mix(hash ^ af_hash(j.text, j.len) ^ j.cut);
		int64_t v;
		af_json_fixed(j.text, j.len, (int)(hash % 19) - 9, &v);
	}
	hash = af_mix(hash ^ (uint64_t)token ^ j.truncated);
	af_json_close(&j);
	return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes b = {data, data + size, SIZE_MAX};
	struct af_import_source in = {fuzz_read, &b};
	struct af_builder d;
	char complaint[256] = "";

	if (tokens(data, size, SIZE_MAX) != tokens(data, size, 1))
		abort();
	af_builder_open(&d);
	af_import_json(&d, &in, 0, complaint, sizeof complaint);
	fuzz_check_builder(&d);
	return 0;
}
