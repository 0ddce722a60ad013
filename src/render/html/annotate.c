#include "render/html/annotate.h"

#include <string.h>

#include "analyse/table/table.h"
#include "render/html/pack.h"
#include "render/text/tables.h"

void html_annotated_free(struct html_annotated *h)
{
	for (uint32_t i = 0; i < h->nr; i++)
		af_buf_free(&h->blobs[i]);
	af_buf_free(&h->list);
	*h = (struct html_annotated){0};
}

static bool starts_kernel(const struct af_table *t)
{
	return !strcmp(t->name, "kernel");
}

/* The list's entry for the kernel of @t: the rows of the table. */
static void list_add(struct html_annotated *h, const struct af_table *t)
{
	af_buf_str(&h->list, h->list.len ? ",\n" : "");
	af_table_json_rows(&h->list, t, t->nr_rows);
}

/* The kernel whose tables begin at @t. */
static int kernel_add(struct html_annotated *h, const struct af_table *t)
{
	const struct af_table *kernel = t;
	struct af_buf text = {0};
	int rc = 0;

	if (h->nr == HTML_ANNOTATED_MOST || h->bytes > HTML_ANNOTATED_BYTES) {
		h->nr_left_out++;
		return 0;
	}
	af_buf_str(&text, "{\"tables\":[");
	for (; t && (t == kernel || !starts_kernel(t)); t = t->next) {
		if (t != kernel)
			af_buf_str(&text, ",\n");
		af_table_json(&text, t, 0);
	}
	af_buf_str(&text, "]}");
	struct af_buf *blob = &h->blobs[h->nr];
	rc = html_pack_bytes(&text, blob);
	if (!rc) {
		list_add(h, kernel);
		h->bytes += blob->len;
		h->nr++;
	} else {
		af_buf_free(blob);
	}
	af_buf_free(&text);
	return rc;
}

int html_annotated_add(struct html_annotated *h, const struct af_tables *f)
{
	int rc = 0;

	for (const struct af_table *t = f->first; t && !rc; t = t->next)
		if (starts_kernel(t))
			rc = kernel_add(h, t);
	return rc;
}

void html_annotated_write(const struct html_annotated *h, struct af_buf *page)
{
	for (uint32_t i = 0; i < h->nr; i++) {
		af_buf_fmt(page,
		           "<script type=\"application/octet-stream\" id=\"af-annotated-%u\">", i);
		af_buf_add(page, h->blobs[i].data, h->blobs[i].len);
		af_buf_str(page, "</script>\n");
	}
}
