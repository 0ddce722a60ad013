/*
 * One function, or all functions that match a pattern, with their callers and callees. A stack
 * counts once, by the outermost matching frame. So a recursive function weighs no more than its
 * stacks, and both callers and callees add up to exactly that.
 *
 *	af_hits_find → { af_tree_callers, af_tree_callees, af_hits_weight }* → af_hits_free
 */
#ifndef AF_ANALYSE_TREE_CALLERS_H
#define AF_ANALYSE_TREE_CALLERS_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyse/tree/tree.h"
#include "base/buf.h"

/* How the words were understood. */
enum af_hits_how {
	AF_HITS_NAME, /* a name, letter by letter; "libx.so!NAME", "gpu:NAME", "host:NAME": ids.h */
	AF_HITS_SIDE, /* "python:", "kernel:": all functions of a side */
	AF_HITS_ID,   /* the id of a function */
	AF_HITS_PATTERN, /* an extended regular expression, ignoring case */
	AF_HITS_PART     /* not a valid one: a part of a name */
};

/* The names of a tree that match. */
struct af_hits {
	uint8_t *is; /* by name's id */
	uint32_t nr; /* names */
	enum af_hits_how how;
};

/* Find the names of @t that match @words. Free it with af_hits_free(). */
void af_hits_find(struct af_hits *h, const struct af_tree *t, const char *words);

/* The function of the name of @t, whether it was called or inlined. */
void af_hits_function(struct af_hits *h, const struct af_tree *t, uint32_t name);

/*
 * A name that two libraries have, or a host function as well as a kernel, means several functions:
 * keep the heaviest by @weight, and describe the choice and the others in @reported ("" when there
 * is only one).
 */
void af_hits_choose(struct af_hits *h, const struct af_tree *t, uint32_t weight,
                    struct af_buf *reported);

/* The identity of a function: its text, side (ids.h) and module (module_key.h, "": none). */
struct af_name_key {
	const char *text;
	size_t len;
	enum af_frame frame;
	const char *module;
	bool qualified; /* another module is known to have a function of that name */
};

/* The key of a name of @t; the texts stay those of @t. */
struct af_name_key af_name_key_of(const struct af_tree *t, uint32_t name);

/*
 * Append the words by which af_hits_find() finds this function in the tree @in and no other: its
 * text, with the module when another function of its side has that text, and with the side when
 * another side still has it.
 */
void af_function_words(struct af_buf *b, const struct af_tree *in, const struct af_name_key *f);

/* An extended regular expression, ignoring case; where it is not a valid one, a part of a name. */
struct af_pattern {
	const char *text;
	bool valid;
	regex_t re;
};

/* @text lives until _close. */
void af_pattern_open(struct af_pattern *p, const char *text);

/* Does it match the @len bytes of @name, which may hold NULs and need not end in one? */
bool af_pattern_is(const struct af_pattern *p, const char *name, size_t len);
void af_pattern_close(struct af_pattern *p);

/* Find the names that match @pattern, always taken as a pattern. */
void af_hits_match(struct af_hits *h, const struct af_tree *t, const char *pattern);
void af_hits_free(struct af_hits *h);

/*
 * The weight of all stacks with a matching frame (@total), and of those functions themselves
 * (@self). @t is finished.
 */
void af_hits_weight(const struct af_tree *t, const struct af_hits *h, uint32_t weight,
                    uint64_t *total, uint64_t *self);

/*
 * Open @dst as a finished tree whose root is the matching functions, with their callers below it,
 * and so on. The self weight of a node is that of stacks that begin there. @dst borrows the texts
 * of @src, which is finished and must outlive it.
 */
void af_tree_callers(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);

/*
 * The same with their callees; the root's self weight is the function's own where it is the
 * outermost.
 */
void af_tree_callees(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);

#endif
