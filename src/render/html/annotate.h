/*
 * Annotated kernels in report.html. Each kernel has a blob (pack.h) of one section of JSON:
 *
 *	{"tables":[kernel, reasons, lines, insns]}
 *
 * The tables are as af_annotate() makes them and af_table_json() writes them. The page's own JSON
 * has the list of kernels.
 */
#ifndef AF_RENDER_HTML_ANNOTATE_H
#define AF_RENDER_HTML_ANNOTATE_H

#include <stdint.h>

#include "base/buf.h"

struct af_tables;

enum { HTML_ANNOTATED_MOST = 64, HTML_ANNOTATED_BYTES = 3 << 20 };

struct html_annotated {
	struct af_buf blobs[HTML_ANNOTATED_MOST];
	struct af_buf list; /* JSON of each, with commas between */
	uint32_t nr;
	uint32_t nr_left_out; /* beyond the limits above */
	size_t bytes;
};

/* A zeroed struct is empty. */
void html_annotated_free(struct html_annotated *h);

/* Take the kernels of @f: 0, or -ENOMEM when zlib has none. */
int html_annotated_add(struct html_annotated *h, const struct af_tables *f);

/* The scripts of all blobs, af-annotated-0 and on. */
void html_annotated_write(const struct html_annotated *h, struct af_buf *page);

#endif
