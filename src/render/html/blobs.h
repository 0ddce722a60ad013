/*
 * The blobs of report.html, each in a script of its own. To compress them takes most of the time of
 * a page, so they are made beside one another, the largest first, and put into the page in the
 * order in which they were added.
 *
 *	html_blobs_add* → html_blobs_make → html_blobs_put → html_blobs_free
 */
#ifndef AF_RENDER_HTML_BLOBS_H
#define AF_RENDER_HTML_BLOBS_H

#include <stdint.h>

#include "base/buf.h"

struct html_blob {
	char id[24]; /* "af-names" */
	/* Appends the blob that is made of both: 0, or -ENOMEM. In any thread. */
	int (*make)(const void *of, const void *with, struct af_buf *out);
	const void *of, *with;
	uint64_t size; /* about as large as this, in a unit of the caller's */

	/* private */
	struct af_buf text;
	int rc;
};

/* Zeroed: none. */
struct html_blobs {
	struct html_blob *all;
	uint32_t nr, cap;
	uint32_t *order; /* the largest first */
};

/* Add a copy of @blob. */
void html_blobs_add(struct html_blobs *b, const struct html_blob *blob);

/* Make all, by @threads threads at most: 0, or the first error. */
int html_blobs_make(struct html_blobs *b, uint32_t threads);

/* Append the blobs from number @from up to @to. */
void html_blobs_put(const struct html_blobs *b, uint32_t from, uint32_t to, struct af_buf *out);

/* Free what @b holds. A zeroed struct is fine. */
void html_blobs_free(struct html_blobs *b);

#endif
