/*
 * Output of a disassembler, with hostile bytes; the first says which. Its lines are read again,
 * and so are the bytes themselves, as if they were in the cache. And they are decoded as
 * instructions, of an architecture that the second byte says.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sym/device/listing_parse.h"
#include "sym/device/sass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A written listing is read back: as many lines as there are. */
static void check_lines(const char *lines, size_t size, bool ours)
{
	struct af_listing_line line;
	size_t nr = 0, newlines = 0;

	for (size_t i = 0; i < size; i++)
		newlines += lines[i] == '\n';
	while (af_listing_next(&lines, &size, &line)) {
		if (!line.len || memchr(line.text, '\n', line.len))
			abort();
		nr++;
	}
	if (size || nr > newlines + 1 || (ours && newlines && !nr))
		abort();
}

static void check_code(uint32_t sm, const uint8_t *code, size_t size)
{
	uint32_t out[8];

	for (uint32_t at = 0; at + AF_SASS_BYTES <= size && at < 8 * AF_SASS_BYTES;
	     at += AF_SASS_BYTES) {
		char text[AF_SASS_TEXT_MAX];
		struct af_sass insn;

		af_sass_decode(sm, code + at, &insn);
		if (strlen(af_sass_text(&insn, text)) >= sizeof text - 1)
			abort();
		uint32_t nr = af_sass_producers(sm, code, size, at, out, 8);
		for (uint32_t i = 0; i < nr; i++)
			if (nr > 8 || out[i] >= size || out[i] % AF_SASS_BYTES)
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t archs[] = {70, 75, 80, 86, 89, 90, 100, 120};
	struct af_buf lines = {0};

	if (size < 2)
		return 0;
	const char *text = (const char *)data + 2;
	if (data[0] & 1)
		af_listing_nvdisasm(&lines, text, size - 2);
	else if (data[0] & 2)
		af_listing_iga64(&lines, data[1], text, size - 2);
	else
		af_listing_objdump(&lines, text, size - 2);
	check_lines(lines.data, lines.len, true);
	check_lines(text, size - 2, false);
	check_code(archs[data[1] % 8], data + 2, size - 2);
	af_buf_free(&lines);
	return 0;
}
