/*
 * One call of an API as a line of text or of JSON: arguments by name, decoded. Also calls of which
 * less is known: of functions that no table has (API_CALL), those of CUPTI (CALL), and those that
 * had not returned (CALL_OPEN).
 */
#ifndef AF_CMD_CALLS_LINE_H
#define AF_CMD_CALLS_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/tables/decode.h"
#include "base/buf.h"
#include "cmd/calls/values.h"
#include "trace/read/reader.h"

struct af_world;

/* The kinds of events that are calls, for masks. */
#define AF_CALL_KINDS                                                                              \
	(1ull << AF_KIND_API_BIT | 1ull << AF_KIND_API_CALL | 1ull << AF_KIND_CALL_OPEN |          \
	 1ull << AF_KIND_CALL | 1ull << AF_KIND_CALL_LONG)

/* How lines are made. */
struct af_line_style {
	const char *of;    /* of which rank: a column, or members of JSON; NULL: of none */
	uint64_t start_ns; /* text shows times relative to it */
	bool colour;       /* calls that failed are red */
};

/* A call as far as its order needs it. */
struct af_line {
	struct af_event ev;
	uint64_t begin_ns, duration_ns;
	uint32_t tid; /* the calling thread, which need not have written the event */
	uint8_t depth, flags;
	bool is_open; /* it had not returned when recording ended */
};

/* False when @ev is no call, or malformed. */
bool af_line_read(const struct af_event *ev, struct af_line *line);

/*
 * Append the line, with its time (of the call's begin), thread, and indented by its depth. @w has
 * the functions of the trace. JSON is the form of the other events (docs/format.md).
 */
void af_line_put(const struct af_line *line, const struct af_line_style *style,
                 const struct af_world *w, struct af_values *v, struct af_buf *b);

/* Append only the call itself: "name(args) = result  12.3 us". */
void af_line_call(const struct af_line *line, const struct af_world *w, struct af_values *v,
                  struct af_buf *b);

#endif
