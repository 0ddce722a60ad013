/*
 * One event as a line of text or of JSON, by the table of kinds: docs/format.md describes the form.
 */
#ifndef AF_CMD_PRINT_EVENT_H
#define AF_CMD_PRINT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "trace/read/reader.h"

enum { AF_PRINT_FIELDS = 16 };

struct af_work;

struct af_event_printer {
	bool json;
	bool raw;          /* stamps of device work as on disk, on the device's clock */
	const char *of;    /* of which rank: a column, or members of JSON; NULL: of none */
	uint64_t start_ns; /* text shows times relative to it */
	const struct af_enum_info *enums[AF_KIND_MAX][AF_PRINT_FIELDS]; /* by kind and field */
};

/* Print as text or as JSON lines; times are shown relative to @start_ns, on the trace's clock. */
void af_event_printer_init(struct af_event_printer *p, bool json, uint64_t start_ns);

/* Append only what stands before the kind in a line of text: time, stream, process and thread. */
void af_event_head(const struct af_event_printer *p, const struct af_event *ev, struct af_buf *b);

/*
 * Append @ev and a newline to @b. For device work @work has the stamps on the trace's clock; when
 * it is NULL they are printed as not known. Other kinds, and a raw printer, ignore it.
 */
void af_event_print(const struct af_event_printer *p, const struct af_event *ev,
                    const struct af_work *work, struct af_buf *b);

#endif
