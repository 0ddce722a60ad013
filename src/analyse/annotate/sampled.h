/*
 * Where devices were when they were sampled, added up by function, instruction and reason, over all
 * processes, devices and call paths: what annotated kernels and the table of stall reasons are made
 * of.
 *
 *	{ af_sampled_add }* → af_sampled_finish → read → af_sampled_free
 */
#ifndef AF_ANALYSE_ANNOTATE_SAMPLED_H
#define AF_ANALYSE_ANNOTATE_SAMPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/table/table.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"

struct af_buf;
struct af_code_store;
struct af_cursor;

struct af_sampled_at {
	uint32_t offset; /* bytes from the function's first */
	uint32_t reason; /* of af_sampled.reasons, 0: the device gives none */
	double samples;
	double idle; /* of these: nothing was issued in that cycle */
	double time_ns;
};

/* A function of an object, which may be a kernel with all that it has within it. */
struct af_sampled_function {
	const char *name;   /* as the object has it */
	const char *shown;  /* for people */
	const char *object; /* its name in objects/, "" when the trace does not have it */
	const char *device; /* what it ran on, "" when not known */
	const char *source; /* the name in objects/ of its program's text, "" when there is none */
	const char *trace;  /* in a set: the directory of a trace that has the object; else "" */
	uint32_t symbol;    /* number in the object's symbol table, 0 not known */
	double samples, exact, time_ns;
	struct af_sampled_at *at; /* in order of offsets, then of reasons */
	uint32_t nr, cap;
};

struct af_sampled {
	struct af_strtab strings;
	struct af_keys by_function;
	struct af_sampled_function *functions; /* the one of most time first, when finished */
	uint32_t nr_functions, cap_functions;
	uint32_t
	    *reasons; /* strings: drivers' names, without what tells of no issue; [0] is none */
	uint32_t nr_reasons, cap_reasons;
	struct af_map by_reason;
};

/* A zeroed struct is empty. */
void af_sampled_free(struct af_sampled *s);
void af_sampled_close(struct af_sampled *s); /* of the heap; NULL is fine */

/*
 * Add all of @from, of the trace in directory @trace, or of many where that is NULL. Kernels of one
 * name whose code differs are two. Memory grows with instructions, not with traces.
 */
void af_sampled_join(struct af_sampled *to, const struct af_sampled *from, const char *trace);

/* The samples as bytes, and back: a reader trusts no byte, and marks the cursor as bad. */
void af_sampled_write(const struct af_sampled *s, struct af_buf *to);
void af_sampled_read(struct af_sampled *s, struct af_cursor *from);

/* The index of the function of these names, which are copied. */
uint32_t af_sampled_function(struct af_sampled *s, const struct af_sampled_function *names);

/* The index of the reason that the driver calls @name; 0 for NULL and "". */
uint32_t af_sampled_reason(struct af_sampled *s, const char *name);

/* Samples of a function, of which the share @exact (0 to 1) is of one call path for sure. */
void af_sampled_add(struct af_sampled *s, uint32_t function, const struct af_sampled_at *at,
                    double exact);

/* Put the instructions of @f in order, and add up those at one place. */
void af_sampled_function_finish(struct af_sampled_function *f);

/* Put all in order: functions by time and samples, their instructions by offset. */
void af_sampled_finish(struct af_sampled *s);

/* The name that @reason has in tables. Lives as long as @s and @f. */
const char *af_sampled_reason_name(const struct af_sampled *s, uint32_t reason,
                                   struct af_tables *f);

/* A column for @reason behind the @nr @columns; its key is "stall_" and its name. */
void af_sampled_reason_column(const struct af_sampled *s, uint32_t reason, enum af_cell_unit unit,
                              struct af_column *columns, uint32_t *nr, struct af_tables *f);

/*
 * The tables of all functions: "stalls", a row a kernel with its shares by reason and the place of
 * its hottest instruction (a line where @codes, which may be NULL, has one), and "reasons", what
 * each means. None where there are no samples.
 */
void af_sampled_tables(const struct af_sampled *s, struct af_code_store *codes,
                       struct af_tables *f);

/*
 * The table "reasons" of one function: @order[i] gets the reason of its row i, *@nr,
 * at first how many there may be, how many rows there are.
 */
void af_sampled_reasons(const struct af_sampled *s, uint32_t function, uint32_t *order,
                        uint32_t *nr, struct af_tables *f);

/*
 * Functions that @name may mean, NULL for the first: those that are called exactly that (as the
 * object has it, as people know it, or without its parameters), else those whose name has it
 * within. "NAME@1f3c" is the function of that name whose object's name begins so. Returns how many;
 * @out gets indices of at most @most.
 */
uint32_t af_sampled_match(const struct af_sampled *s, const char *name, uint32_t *out,
                          uint32_t most);

#endif
