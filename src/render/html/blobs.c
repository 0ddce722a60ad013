#include "render/html/blobs.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/system/threads.h"

void html_blobs_add(struct html_blobs *b, const struct html_blob *blob)
{
	AF_GROW(b->all, b->nr, b->cap);
	b->all[b->nr++] = *blob;
}

static int larger_first(const void *a, const void *b, void *arg)
{
	const struct html_blobs *of = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t size_x = of->all[x].size, size_y = of->all[y].size;

	if (size_x != size_y)
		return size_x > size_y ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void blob_make(void *arg, uint32_t i)
{
	struct html_blobs *b = arg;
	struct html_blob *blob = &b->all[b->order[i]];

	blob->rc = blob->make(blob->of, blob->with, &blob->text);
}

int html_blobs_make(struct html_blobs *b, uint32_t threads)
{
	int rc = 0;

	b->order = af_xcalloc((size_t)b->nr + 1, sizeof *b->order);
	for (uint32_t i = 0; i < b->nr; i++)
		b->order[i] = i;
	qsort_r(b->order, b->nr, sizeof *b->order, larger_first, b);
	af_threads_each(threads, b->nr, blob_make, b);
	for (uint32_t i = 0; i < b->nr && !rc; i++)
		rc = b->all[i].rc;
	return rc;
}

void html_blobs_put(const struct html_blobs *b, uint32_t from, uint32_t to, struct af_buf *out)
{
	for (uint32_t i = from; i < to; i++) {
		const struct html_blob *blob = &b->all[i];
		af_buf_fmt(out, "<script type=\"application/octet-stream\" id=\"%s\">", blob->id);
		if (blob->text.len)
			af_buf_add(out, blob->text.data, blob->text.len);
		af_buf_str(out, "</script>\n");
	}
}

void html_blobs_free(struct html_blobs *b)
{
	for (uint32_t i = 0; i < b->nr; i++)
		af_buf_free(&b->all[i].text);
	free(b->all);
	free(b->order);
	*b = (struct html_blobs){0};
}
