/*
 * A thread of Firefox's processed profile: the used entries of its tables of strings, functions,
 * frames and stacks, and the samples and markers that refer to them. A table is columns, and a
 * column is text that is written when the profile ends.
 */
#ifndef AF_RENDER_PROFILES_FIREFOX_THREAD_H
#define AF_RENDER_PROFILES_FIREFOX_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/tree/tree.h"
#include "base/buf.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"
#include "render/profiles/out.h"

/* One column of a table: its values with commas between. */
struct firefox_column {
	const char *name;
	struct af_buf text;
};

enum { FIREFOX_COLUMNS = 11 };

struct firefox_table {
	struct firefox_column columns[FIREFOX_COLUMNS]; /* to the first without a name */
	uint32_t nr;
};

struct firefox_sample {
	uint64_t time_ns, weight;
	uint32_t stack, order;
};

struct firefox_thread {
	struct af_buf name, process; /* names */
	uint32_t pid, tid;           /* tid 0: it is none */
	uint32_t number;             /* among the threads */
	const struct af_tree *tree;  /* of its stacks */
	struct af_strtab *libs;      /* of the profile: "path\tbuild-id" */

	struct af_strtab strings;
	struct firefox_table functions, frames, stacks, resources, markers;
	struct af_map by_frame, by_stack, by_lib;
	struct af_keys by_function;
	struct firefox_sample *samples;
	uint32_t nr_samples, cap_samples;
	uint32_t *path; /* scratch */
	uint32_t cap_path;
};

/* A zeroed thread; @tree and @libs outlive it. */
void firefox_thread_open(struct firefox_thread *t, const struct af_tree *tree,
                         struct af_strtab *libs);
void firefox_thread_close(struct firefox_thread *t);

/* The number of a string in its table. */
uint32_t firefox_string(struct firefox_thread *t, const char *text, size_t len);

/* The number of the stack that ends in @node of the tree, which is not its root. */
uint32_t firefox_stack(struct firefox_thread *t, uint32_t node);

/*
 * Add a sample whose stack ends in @node, which is not the root. Samples come in any order of time.
 */
void firefox_sample(struct firefox_thread *t, uint32_t node, uint64_t time_ns, uint64_t weight);

/* Append a value to a column, as JSON. A new row begins with column 0. */
void firefox_put(struct firefox_table *table, int column, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a value that is JSON already. */
void firefox_put_text(struct firefox_table *table, int column, const struct af_buf *text);

/* Append a time in Firefox's unit, milliseconds. */
void firefox_put_ms(struct firefox_table *table, int column, uint64_t ns);

/* Write the thread as JSON; weights are in 1/@scale of @weight_type. */
void firefox_thread_write(struct firefox_thread *t, struct af_out *out, const char *weight_type,
                          uint64_t scale);

#endif
