/*
 * A trace by the headers of some packets alone: how long it is, and how much was written when.
 * That takes a moment where reading all events takes minutes. Of a large stream a header is read
 * every so many bytes.
 */
#ifndef AF_TRACE_READ_OVERVIEW_H
#define AF_TRACE_READ_OVERVIEW_H

#include <stdint.h>

struct af_err;

enum { AF_OVERVIEW_BINS = 1024 };

struct af_overview {
	uint64_t start_ns;  /* as af_trace_start_ns() */
	uint64_t span_ns;   /* from then to the end of the last packet of a target */
	uint64_t bytes;     /* of all streams */
	uint64_t discarded; /* events that were lost because a ring was full */
	uint32_t nr_streams, nr_processes;
	/* Bytes of targets by time since the start, spread evenly between headers. */
	uint64_t bin_ns;
	uint32_t nr_bins; /* that are in the span */
	uint64_t bins[AF_OVERVIEW_BINS];
};

/*
 * Read the headers of the trace in @dir. 0, or
 * the error of af_trace_open().
 */
int af_overview_read(struct af_overview *o, const char *dir, struct af_err *err);

/* The end of the longest part from the start on that has no more than @bytes; > 0, <= span_ns. */
uint64_t af_overview_first(const struct af_overview *o, uint64_t bytes);

/* How many bytes targets wrote in the time from @from_ns to @to_ns, about. */
uint64_t af_overview_bytes(const struct af_overview *o, uint64_t from_ns, uint64_t to_ns);

#endif
