#include "exchange/text/lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/builder.h"
#include "exchange/source/source.h"

ssize_t import_lines(const struct af_import_source *in, size_t most,
                     void (*take)(void *arg, char *line, size_t len, bool cut), void *arg)
{
	char *buffer = af_xrealloc(NULL, most + 1);
	size_t len = 0;
	bool skipping = false;
	ssize_t n;

	while ((n = in->read(in->arg, buffer + len, most - len)) > 0) {
		size_t from = 0, end = len + (size_t)n;
		for (char *nl; (nl = memchr(buffer + from, '\n', end - from));) {
			*nl = 0;
			if (!skipping)
				take(arg, buffer + from, (size_t)(nl - buffer) - from, false);
			skipping = false;
			from = (size_t)(nl - buffer) + 1;
		}
		if (skipping)
			from = end;
		len = end - from;
		memmove(buffer, buffer + from, len);
		if (len == most) {
			buffer[len] = 0;
			take(arg, buffer, len, true);
			len = 0;
			skipping = true;
		}
	}
	buffer[len] = 0;
	if (len)
		take(arg, buffer, len, false);
	free(buffer);
	return n;
}

void import_line_bad(struct import_line_count *count, struct af_builder *d)
{
	if (!count->bad++)
		count->first_bad = count->line;
	d->unused[AF_BUILDER_LINES_UNUSED]++;
}

void import_lines_complain(const struct import_line_count *count, ssize_t rc, const char *are,
                           struct af_builder *d, char *complaint, size_t size)
{
	/* A few wrong lines do not condemn the others. */
	d->unparsed = count->bad * 2 > count->line;
	if (rc < 0) {
		d->damaged++;
		snprintf(complaint, size, "line %" PRIu64 ": the file cannot be read further",
		         count->line);
	} else if (count->bad) {
		snprintf(complaint, size,
		         "%" PRIu64 " of %" PRIu64 " lines %s, the first: line %" PRIu64,
		         count->bad, count->line, are, count->first_bad);
	}
}
