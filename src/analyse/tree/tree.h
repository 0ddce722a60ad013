/*
 * The tree, a result: weighted stacks. A node is a frame under its parent; it carries self weights
 * in one or more columns (time, samples, count, bytes). Totals, child order and depth exist after
 * af_tree_finish(). Everything that draws or lists a flame graph reads this and nothing else.
 *
 *	af_tree_open → { af_tree_name, af_tree_child, af_tree_add }* → af_tree_finish → read
 *	→ af_tree_close
 *
 * Memory is the tree's own (af_tree_close frees it); out of memory ends the program. A tree belongs
 * to one thread at a time.
 */
#ifndef AF_ANALYSE_TREE_TREE_H
#define AF_ANALYSE_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The kind of a frame: decides its colour and its suffix in folded text. The order is stored in
 * report.html.
 */
#define AF_FRAMES(F)                                                                               \
	F(NATIVE, "native", "")       /* machine code of the program and its libraries */          \
	F(PYTHON, "python", "")       /* function (file.py:line) */                                \
	F(KERNEL, "kernel", "_[k]")   /* operating system kernel */                                \
	F(INLINED, "inlined", "_[i]") /* inlined into the frame below it */                        \
	F(JIT, "jit", "_[j]")         /* code made at run time */                                  \
	F(GPU, "gpu", "_[G]")         /* device: kernel, copy, queue, file of the device code */   \
	F(GPU_INSN, "gpu instruction", "_[g]") /* device: instruction, stall reason */             \
	F(PROCESS, "process", "")              /* process or thread, at the root */                \
	F(MARK, "mark", "") /* "-", "--", [truncated: …], [unknown] and the like */              \
	F(MPI, "mpi", "")   /* machine code of an MPI library */

enum af_frame {
#define AF_F(NAME, text, suffix) AF_FRAME_##NAME,
	AF_FRAMES(AF_F)
#undef AF_F
	    AF_FRAME_END
};

enum { AF_TREE_WEIGHTS = 9 };
enum { AF_TREE_GAP = 0 }; /* name id of the root and of a flame chart's gaps: "" */

/* One column of weights. */
struct af_tree_weight {
	const char *name; /* "time", "samples", "off-cpu", …: what --weight takes */
	const char *unit; /* "ns", "samples", "launches", "bytes" */
	uint64_t scale;   /* values are in 1/scale of the unit (folded fractions); 0 means 1 */
};

struct af_tree_node {
	uint32_t parent; /* node 0 is the root and its own parent */
	uint32_t name;   /* id for af_tree_text() */
	/* Children as a list: latest first while building; ordered after finish. */
	uint32_t first_child, next_sibling; /* 0: none */
};

struct af_tree {
	struct af_tree_node *nodes; /* nr, node 0 the root; parents precede children */
	uint32_t nr, cap;
	uint32_t nr_weights;
	struct af_tree_weight weights[AF_TREE_WEIGHTS];
	uint64_t *self[AF_TREE_WEIGHTS]; /* by node */
	/* By node, NULL before finish; the root's is the sum of all. Of zeros it may be @self. */
	uint64_t *total[AF_TREE_WEIGHTS];
	/*
	 * For a weight that adds up events: the sums of their squares, of the first nodes:
	 * af_tree_vary().
	 */
	double *squares;
	uint32_t nr_squares;
	uint32_t nr_names;
	bool saturated; /* a weight or a total met 2^64 - 1 and stays there */
	/*
	 * Set after af_tree_open for a flame chart: af_tree_child() joins only with the latest
	 * child and finish keeps the order of arrival. Self weight that arrives when there are
	 * children already belongs into a new child named AF_TREE_GAP, which nothing draws.
	 */
	bool ordered;
	/* Set by callers that add stacks in an order that shares parents; else NULL */
	struct af_frames_last *last;
	struct af_tree_private *private_;
};

/* Open with the given 1 to AF_TREE_WEIGHTS columns; their strings must outlive the tree. */
void af_tree_open(struct af_tree *t, const struct af_tree_weight *weights, uint32_t nr_weights);
void af_tree_close(struct af_tree *t); /* a zeroed or closed tree is fine */

/*
 * Intern a frame's text (without suffix) as of kind @frame: equal (text, kind) pairs have one id,
 * without a module. The text is copied unless @borrowed, when it must outlive the tree (a mapped
 * file).
 */
uint32_t af_tree_name(struct af_tree *t, const char *text, size_t len, enum af_frame frame,
                      int borrowed);
/* The text is not NUL-terminated when borrowed: always use *@len. */
const char *af_tree_text(const struct af_tree *t, uint32_t name, size_t *len);
enum af_frame af_tree_frame(const struct af_tree *t, uint32_t name);

/*
 * Facts about a frame besides its text, for formats that have a place for them. Only trees with
 * af_tree_keep_locations() keep locations. In those, frames with equal texts at different locations
 * are different names; readers merge them again by their texts.
 */
enum af_location_what {
	AF_LOCATION_CODE, /* of a host or device; everything without another word */
	AF_LOCATION_PROCESS,
	AF_LOCATION_RANK,
	AF_LOCATION_THREAD,
	AF_LOCATION_DEVICE,
	AF_LOCATION_QUEUE,
	AF_LOCATION_LINE, /* of device code; below the frame of its kernel */
	AF_LOCATION_INSN,
	AF_LOCATION_STALL
};

struct af_location {
	const char *function;          /* the name alone; NULL: the frame's text */
	const char *file;              /* of the source, or NULL */
	const char *module, *build_id; /* the file of machine code, or NULL */
	uint64_t address;              /* within the module; of a process or thread its number */
	uint32_t line, first_line;     /* first_line: of the function; 0 not known */
	uint32_t what;                 /* enum af_location_what */
	bool inlined;                  /* into the frame below it: both are one address */
	uint64_t unnamed;              /* the address, where it has no name; else 0 */
	/* Follow from the members above: where the function begins, as far as it is known */
	const char *source; /* file that defines or declares it, or NULL */
	uint32_t source_line;
	bool begins;     /* is this known? */
	uint64_t offset; /* of the address from there */
};

/*
 * Kinds of frames whose function has a module that tells it from others of its name: machine code
 * of the program and of the kernel (module_key.h).
 */
static inline bool af_frame_has_module(enum af_frame frame)
{
	return frame == AF_FRAME_NATIVE || frame == AF_FRAME_INLINED || frame == AF_FRAME_KERNEL ||
	       frame == AF_FRAME_MPI;
}

/* Call it right after af_tree_open(). */
void af_tree_keep_locations(struct af_tree *t);
bool af_tree_has_locations(const struct af_tree *t);

/*
 * af_tree_name() of a frame at @location (NULL: none); all texts are copied. Functions of one name
 * in two modules are two names. While the tree is made, the caller must give the same module and
 * file at the same address each time, and no others there.
 */
uint32_t af_tree_name_at(struct af_tree *t, const char *text, size_t len, enum af_frame frame,
                         const struct af_location *location);

/* af_tree_name(), copied, of a function in the module whose word (below) is @key, "" for none. */
uint32_t af_tree_name_of(struct af_tree *t, const char *text, size_t len, enum af_frame frame,
                         const char *key);

/* The name of @src in @t, with its module, and its location where @t keeps them. */
uint32_t af_tree_name_like(struct af_tree *t, const struct af_tree *src, uint32_t name,
                           int borrowed);

/* The module word that is a part of the name's identity (module_key.h), or "". */
const char *af_tree_key(const struct af_tree *t, uint32_t name);

/*
 * Look for functions of one name and side in several modules, in all of @nr trees (zeroed ones are
 * fine). From then on their labels, and those of names made from them, are "libx.so!helper".
 */
void af_trees_tell_apart(struct af_tree *trees, uint32_t nr);

/*
 * Open @dst as a copy of @src with names that are only texts and kinds, as folded text has;
 * finished if @src is. It borrows the texts of @src. False, and nothing is done, when no names are
 * told apart.
 */
bool af_tree_plain(struct af_tree *dst, const struct af_tree *src);

/*
 * The text for people: the name's text, or with its module when the name is told apart.
 * NUL-terminated only then.
 */
const char *af_tree_label(const struct af_tree *t, uint32_t name, size_t *len);
bool af_tree_is_qualified(const struct af_tree *t, uint32_t name);

/*
 * The file of machine code of frames with this name, from af_tree_name_at(), whether or not
 * locations are kept: "" when there are several, NULL when it was never given.
 */
const char *af_tree_module(const struct af_tree *t, uint32_t name);

/*
 * Where the function of this name is in the source, from af_tree_name_at(), whether or not
 * locations are kept: of @several the first, by file and line.
 */
struct af_tree_source {
	const char *file; /* NULL: it was never given */
	uint32_t line;
	bool several;
};
struct af_tree_source af_tree_source(const struct af_tree *t, uint32_t name);

/* The location of the frame: zeroes when it is not known. Valid until the next name. */
const struct af_location *af_tree_location(const struct af_tree *t, uint32_t name);

/* The greatest common divisor of self weights, 1 where there are none. */
uint64_t af_tree_divisor(const struct af_tree *t, uint32_t weight);

/* The child of @parent with this name, made when new. Never 0. */
uint32_t af_tree_child(struct af_tree *t, uint32_t parent, uint32_t name);

/* Add @value to a node's self weight; sticks at 2^64 - 1 and marks the tree saturated. */
static inline void af_tree_add(struct af_tree *t, uint32_t node, uint32_t weight, uint64_t value)
{
	uint64_t *self = &t->self[weight][node];

	if (__builtin_add_overflow(*self, value, self)) {
		*self = UINT64_MAX;
		t->saturated = true;
	}
}

/*
 * Add to the sum of the squares of the events in a node's self weight. When the number of events is
 * random, this is the variance of the weight. Only one weight of a tree has it; its maker chooses
 * which.
 */
void af_tree_vary(struct af_tree *t, uint32_t node, double square);

/*
 * Totals and child order; idempotent; more may be added afterwards and finish called again.
 * Children come in the order of sorted folded lines: by bytes of text and suffix, where a leaf's
 * name is followed by a space and an inner frame's by `;`. So neither the order of arrival nor the
 * hash shows, and a picture has the layout that flamegraph.pl gives the same stacks.
 */
void af_tree_finish(struct af_tree *t);

/*
 * The node after @node in depth-first order (parents first), or 0 after the last. *@depth is
 * updated. With @skip the children of @node are skipped.
 */
static inline uint32_t af_tree_next(const struct af_tree *t, uint32_t node, bool skip,
                                    uint32_t *depth)
{
	if (!skip && t->nodes[node].first_child) {
		++*depth;
		return t->nodes[node].first_child;
	}
	while (node && !t->nodes[node].next_sibling) {
		node = t->nodes[node].parent;
		--*depth;
	}
	return node ? t->nodes[node].next_sibling : 0;
}

/* Depth of the deepest node; the root is 0. After finish. */
uint32_t af_tree_depth(const struct af_tree *t);

/*
 * Add all of @src to @dst (columns with equal names; others are skipped). Texts are copied; finish
 * @dst again.
 */
void af_tree_merge(struct af_tree *dst, const struct af_tree *src);

/*
 * The same with the frame @frame (a mark, "[host node7]") put in: below the frame of the process
 * where a stack begins with one, else at its root. NULL: without.
 */
void af_tree_merge_below(struct af_tree *dst, const struct af_tree *src, const char *frame);

/*
 * A new finished tree with every stack reversed (callers below callees): leaf-first. @dst is opened
 * here; it borrows the texts of @src, which must outlive it. @src need not be finished.
 */
void af_tree_reverse(struct af_tree *dst, const struct af_tree *src);

/* The name of a kind ("native") and its suffix in folded text ("" when it has none). */
const char *af_frame_name(enum af_frame frame);
const char *af_frame_suffix(enum af_frame frame);

/* The column called @name, or -1. */
int af_tree_weight(const struct af_tree *t, const char *name);

#endif
