/*
 * The tree shape: weighted stacks. A node is a frame under its parent; it carries self weights in
 * one or more columns (time, samples, count, bytes). Totals, child order and depth exist after
 * af_tree_finish(). Everything that draws or lists a flame graph reads this and nothing else.
 *
 *	af_tree_open → { af_tree_name, af_tree_child, af_tree_add }* → af_tree_finish → read →
 *af_tree_close
 */
#ifndef AF_ANALYSE_TREE_H
#define AF_ANALYSE_TREE_H

#include <stddef.h>
#include <stdint.h>

/* What a frame is: decides its colour and its suffix in folded text. Order is in report.html. */
#define AF_FRAMES(F)                                                                               \
	F(NATIVE, "native", "")       /* machine code of the program and its libraries */          \
	F(PYTHON, "python", "")       /* function (file.py:line) */                                \
	F(KERNEL, "kernel", "_[k]")   /* operating system kernel */                                \
	F(INLINED, "inlined", "_[i]") /* inlined into the frame below it */                        \
	F(JIT, "jit", "_[j]")         /* code made at run time */                                  \
	F(GPU, "gpu", "_[G]")         /* device: kernel, copy, queue, file of the device code */   \
	F(GPU_INSN, "gpu instruction", "_[g]") /* device: instruction, stall reason */             \
	F(PROCESS, "process", "")              /* process or thread, at the root */                \
	F(MARK, "mark", "") /* "-", "--", [truncated: …], [unknown] and the like */

enum af_frame {
#define AF_F(NAME, text, suffix) AF_FRAME_##NAME,
	AF_FRAMES(AF_F)
#undef AF_F
	    AF_FRAME_END
};

enum { AF_TREE_WEIGHTS = 4 };

/* One column of weights. */
struct af_tree_weight {
	const char *name; /* "time", "samples", "count", "bytes": what --weight takes */
	const char *unit; /* "ns", "samples", "launches", "bytes" */
};

struct af_tree_node {
	uint32_t parent; /* node 0 is the root and its own parent */
	uint32_t name;   /* id for af_tree_text() */
	/* Children as a list while building; in order of name bytes after finish. */
	uint32_t first_child, next_sibling; /* 0: none */
};

struct af_tree {
	struct af_tree_node *nodes; /* nr, node 0 the root; parents precede children */
	uint32_t nr, cap;
	uint32_t nr_weights;
	struct af_tree_weight weights[AF_TREE_WEIGHTS];
	uint64_t *self[AF_TREE_WEIGHTS]; /* by node */
	uint64_t
	    *total[AF_TREE_WEIGHTS]; /* by node, NULL before finish; root's is the sum of all */
	uint32_t nr_names;
	struct af_tree_private *private_;
};

/* Open with the given columns; weights' strings must outlive the tree. */
void af_tree_open(struct af_tree *t, const struct af_tree_weight *weights, uint32_t nr_weights);
void af_tree_close(struct af_tree *t);

/*
 * Intern a frame's text (without suffix) as of kind @frame: equal (text, kind) pairs are one id.
 * The text is copied unless @borrowed, when it must outlive the tree (a mapped file).
 */
uint32_t af_tree_name(struct af_tree *t, const char *text, size_t len, enum af_frame frame,
                      int borrowed);
const char *af_tree_text(const struct af_tree *t, uint32_t name, size_t *len);
enum af_frame af_tree_frame(const struct af_tree *t, uint32_t name);

/* The child of @parent with this name, made when new. Never 0. */
uint32_t af_tree_child(struct af_tree *t, uint32_t parent, uint32_t name);

static inline void af_tree_add(struct af_tree *t, uint32_t node, uint32_t weight, uint64_t value)
{
	t->self[weight][node] += value;
}

/* Totals and child order; idempotent; more may be added afterwards and finish called again. */
void af_tree_finish(struct af_tree *t);

/* Depth of the deepest node; the root is 0. After finish. */
uint32_t af_tree_depth(const struct af_tree *t);

/* Add all of @src to @dst (same columns by name, missing ones are skipped). */
void af_tree_merge(struct af_tree *dst, const struct af_tree *src);

/* A new tree with every stack reversed (callers below callees): leaf-first. */
void af_tree_reverse(struct af_tree *dst, const struct af_tree *src);

/* The column called @name, or -1. */
int af_tree_weight(const struct af_tree *t, const char *name);

#endif
