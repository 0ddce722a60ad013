/*
 * One function, or all that a pattern means, with what called it and what it calls. A stack counts
 * once, by the outermost of the frames that are meant, so a recursive function weighs no more than
 * the stacks that it is in, and callers as well as callees add up to exactly that.
 *
 *	af_hits_find → { af_tree_callers, af_tree_callees, af_hits_weight }* → af_hits_free
 */
#ifndef AF_ANALYSE_TREE_CALLERS_H
#define AF_ANALYSE_TREE_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/tree/tree.h"
#include "base/buf.h"

/* How words were taken. */
enum af_hits_how {
	AF_HITS_NAME, /* a name, letter by letter; "libx.so!NAME", "gpu:NAME", "host:NAME": ids.h */
	AF_HITS_ID,   /* the id of a function */
	AF_HITS_PATTERN, /* an extended regular expression, in capitals or not */
	AF_HITS_PART     /* no valid one: a part of a name */
};

/* Which names of a tree are meant. */
struct af_hits {
	uint8_t *is; /* by name's id */
	uint32_t nr; /* names */
	enum af_hits_how how;
};

/* What @words mean among the names of @t. The caller's to free. */
void af_hits_find(struct af_hits *h, const struct af_tree *t, const char *words);

/* The function that the name of @t is of, however it came there: called, or inlined. */
void af_hits_function(struct af_hits *h, const struct af_tree *t, uint32_t name);

/*
 * A name that two libraries have, or a host function as well as a kernel, is several functions:
 * keep the heaviest by @weight, and tell in @said which it is and what others there are ("": one).
 */
void af_hits_choose(struct af_hits *h, const struct af_tree *t, uint32_t weight,
                    struct af_buf *said);

/* What makes a function: its text, side (ids.h) and module (module_key.h, "": none). */
struct af_name_key {
	const char *text;
	size_t len;
	enum af_frame frame;
	const char *module;
	bool told_apart; /* another module is known to have one of its name */
};

/* Of a name of @t, whose texts it has. */
struct af_name_key af_name_key_of(const struct af_tree *t, uint32_t name);

/*
 * What af_hits_find() takes in the tree @in for the function and for no other: its text, with the
 * module where another one of its side has that, with the side where another side has it still.
 */
void af_function_words(struct af_buf *b, const struct af_tree *in, const struct af_name_key *f);

/* The same, always as a pattern. */
void af_hits_match(struct af_hits *h, const struct af_tree *t, const char *pattern);
void af_hits_free(struct af_hits *h);

/*
 * What stacks with a frame that is meant weigh in all (@total), and what was in those functions
 * themselves (@self). Of a finished tree.
 */
void af_hits_weight(const struct af_tree *t, const struct af_hits *h, uint32_t weight,
                    uint64_t *total, uint64_t *self);

/*
 * Open @dst as a finished tree whose root is what is meant: below it stand its callers, theirs
 * below them. The self weight of a node is that of stacks that begin there. @dst borrows the texts
 * of @src, which is finished and must outlive it.
 */
void af_tree_callers(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);

/* The same with what it calls; the root's self is the function's own where it is the outermost. */
void af_tree_callees(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);

#endif
