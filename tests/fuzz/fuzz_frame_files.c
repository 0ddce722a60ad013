/*
 * The files that say something of frames, with hostile bytes: attributes and remembered colours.
 * The first byte chooses which, and an encoding. Checked on the way: whatever attributes are
 * accepted, a picture has the elements it has without them, one more for a link; colours that were
 * kept are read back as the same from the file they were added to.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyse/tree/tree.h"
#include "base/err.h"
#include "render/html/encoding.h"
#include "render/render.h"
#include "render/svg/attributes.h"
#include "render/svg/palette_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char stacks[] = "a;b 1\na_[k] 1\n";
static const struct af_tree_weight weight = {"samples", "samples"};

static unsigned occurrences(const char *text, const char *end, const char *part)
{
	unsigned nr = 0;

	while ((text = strstr(text, part)) && text < end) {
		text += strlen(part);
		nr++;
	}
	return nr;
}

static void check_picture(const char *svg)
{
	const char *frames = strstr(svg, "<g class=\"frames\">"), *end = strstr(svg, "<script");

	if (!frames || !end)
		abort();
	unsigned links = occurrences(frames, end, "<a xlink:href=\"");
	/* The group, its end, two texts below; seven for each of the four frames. */
	if (occurrences(frames, end, "<") != 2 + 4 + 4 * 7 + 2 * links)
		abort();
	if (occurrences(svg, svg + strlen(svg), "<script") != 1 ||
	    occurrences(svg, svg + strlen(svg), "]]>") != 1)
		abort();
}

static void draw(struct af_attributes *attributes)
{
	struct af_picture p = {.attributes = attributes};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct af_render r = {.fd = fd, .picture = &p};
	struct af_folded_stats stats = {0};
	struct af_tree t;

	af_tree_open(&t, &weight, 1);
	if (af_folded_read(&t, stacks, strlen(stacks), false, &stats, NULL) ||
	    af_format_for("svg")->tree(&r, &t, NULL))
		abort();
	size_t size = (size_t)lseek(fd, 0, SEEK_END);
	char *svg = calloc(1, size + 1);
	if (!svg || pread(fd, svg, size, 0) != (ssize_t)size)
		abort();
	check_picture(svg);
	free(svg);
	close(fd);
	af_tree_close(&t);
}

static void fuzz_attributes(const char *text, size_t size)
{
	struct af_attributes attributes;
	struct af_err err = {0};

	if (!af_attributes_open(&attributes, text, size, "file", &err))
		draw(&attributes);
	else if (!err.code || !*err.msg)
		abort();
	af_attributes_close(&attributes);
}

static void fuzz_colors(const char *text, size_t size)
{
	struct af_palette_map m;
	struct af_err err = {0};
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (write(fd, text, size) != (ssize_t)size)
		abort();
	if (!af_palette_map_open(&m, path, &err)) {
		uint32_t a = af_palette_map_keep(&m, "a", 1, AF_FRAME_KERNEL, 0x010203);
		uint32_t b = af_palette_map_keep(&m, text, size, AF_FRAME_NATIVE, 0xfdfeff);
		if (a > 0xffffff || b > 0xffffff || af_palette_map_save(&m, &err))
			abort();
		af_palette_map_close(&m);
		if (af_palette_map_open(&m, path, &err) ||
		    af_palette_map_keep(&m, "a", 1, AF_FRAME_KERNEL, 0) != a ||
		    af_palette_map_keep(&m, text, size, AF_FRAME_NATIVE, 0) != b || m.nr_added)
			abort();
	}
	af_palette_map_close(&m);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const encodings[] = {NULL, "latin1", "UTF-16", "SHIFT_JIS"};

	if (!size)
		return 0;
	const char *encoding = encodings[data[0] >> 1 & 3];
	struct af_buf text = {0};
	if (encoding && af_encoding_read(encoding, (const char *)data + 1, size - 1, &text, NULL))
		abort();
	/* Exactly as many bytes as there are, so that reading beyond them is seen. */
	size_t len = encoding ? text.len : size - 1;
	char *bytes = malloc(len ? len : 1);
	memcpy(bytes, encoding && text.data ? text.data : (const char *)data + 1, len);
	af_buf_free(&text);
	if (data[0] & 1)
		fuzz_colors(bytes, len);
	else
		fuzz_attributes(bytes, len);
	free(bytes);
	return 0;
}
