/*
 * Functions that the program itself describes, of code that was made at run time: those that it
 * names when it makes them, and those that its symbolizer knows. They go into the trace as lines of
 * a perf map, with the time from which they hold.
 */
#ifndef AF_PROF_SYMBOLS_H
#define AF_PROF_SYMBOLS_H

#include <pthread.h>
#include <stdint.h>

#include "base/map.h"

struct af_err;
struct af_prof;
struct af_prof_symbol;

/* One that was described, and is not in the trace yet. */
struct prof_symbol_line {
	uint64_t from_ns;
	char *text;
};

struct prof_symbols {
	pthread_mutex_t lock; /* of the lines */
	struct prof_symbol_line *lines;
	uint32_t nr, cap;
	uint64_t written_ns; /* the time of the last lines in the trace */
	struct af_map asked; /* addresses that the symbolizer was asked for */
};

/* Without symbols at first. Closing it frees everything. */
void prof_symbols_open(struct prof_symbols *s);
void prof_symbols_close(struct prof_symbols *s);

/* @symbol holds from now on. 0 or -EINVAL. Any thread. */
int prof_symbols_add(struct prof_symbols *s, const struct af_prof_symbol *symbol,
                     struct af_err *err);

/* Write into the trace of @p all that is known of its addresses. In the worker. 0 or -errno. */
int prof_symbols_write(struct prof_symbols *s, struct af_prof *p, struct af_err *err);

#endif
