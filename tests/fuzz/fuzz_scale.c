/*
 * The times of ranks that processes send to another one, which adds them up by set and compares
 * the sets: two lots of hostile bytes, split by two bytes in front; a third byte says whether the
 * scaling is weak. What was read is written and read again: it is the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/scale/scale.h"
#include "base/buf.h"
#include "base/err.h"
#include "render/picture/scale_curve.h"
#include "render/text/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same_again(const struct af_scale *s)
{
	struct af_scale *copy = af_scale_open(false);
	struct af_buf first = {0}, second = {0};

	af_scale_begin(copy, "copy");
	af_scale_write(s, &first);
	if (af_scale_read(copy, first.data, first.len, NULL))
		abort();
	af_scale_write(copy, &second);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
	af_scale_close(copy);
	af_buf_free(&first);
	af_buf_free(&second);
}

static void show(struct af_scale *s, bool weak)
{
	const struct af_document document = {.report = "compare-scale"};
	struct af_tables f = {0};
	struct af_buf b = {0};

	af_scale_tables(s, 10, &f);
	af_tables_json(&b, &document, &f, 0);
	for (const struct af_table *t = f.first; t; t = t->next)
		af_table_text(&b, t, 0, false, NULL);
	af_scale_curve_svg(&b, &f, weak);
	af_buf_free(&b);
	af_tables_free(&f);
}

/* Into the last set; false: it has no ranks, and the command ends. */
static bool set_read(struct af_scale *s, const uint8_t *data, size_t size)
{
	if (!af_scale_read(s, data, size, NULL))
		same_again(s);
	return af_scale_ranks(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t split;
	const size_t head = sizeof split + 1;

	if (size <= head)
		return 0;
	memcpy(&split, data, sizeof split);
	bool weak = data[sizeof split] & 1;
	struct af_scale *s = af_scale_open(weak);
	data += head;
	size -= head;
	split = split < size ? split : (uint16_t)size;
	af_scale_begin(s, "first");
	bool all = set_read(s, data, split);
	af_scale_begin(s, "both");
	set_read(s, data, split);
	all = set_read(s, data + split, size - split) && all;
	af_scale_begin(s, "second");
	if (set_read(s, data + split, size - split) && all)
		show(s, weak);
	af_scale_close(s);
	return 0;
}
