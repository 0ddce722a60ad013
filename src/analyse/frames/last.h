/*
 * Speeds up adding stacks that begin alike to a tree, one after the other: the part that a stack
 * shares with the last one need not be looked up.
 */
#ifndef AF_ANALYSE_FRAMES_LAST_H
#define AF_ANALYSE_FRAMES_LAST_H

#include <stdint.h>

enum { AF_FRAMES_KNOWN = 6 };

struct af_stack_location;
struct af_stack;
struct af_tree;
struct af_world;

/* The last stack, root first, and the node of each of its addresses. Zeroed: none. */
struct af_frames_last {
	uint32_t base, process, epoch;
	uint64_t at_ns; /* of names: see struct af_stack */
	uint32_t nr, cap;
	uint64_t *pcs;
	uint32_t *nodes;
	/* The names of some addresses in the tree, outermost first. */
	struct af_frames_known {
		uint64_t pc, at_ns;
		uint32_t process, epoch;
		uint32_t nr, names[AF_FRAMES_KNOWN];
	} * known;
};

/* Free what @l holds. A zeroed struct is fine. */
void af_frames_last_free(struct af_frames_last *l);

/*
 * The number of addresses of @stack, from its root on and up to its address @first, that it shares
 * with the last stack above @base; *@node is the node of the last shared one. The rest of the last
 * stack is forgotten; push the rest of @stack.
 */
uint32_t af_frames_last_shared(struct af_frames_last *l, uint32_t base,
                               const struct af_stack *stack, uint32_t first, uint32_t *node);
void af_frames_last_push(struct af_frames_last *l, uint64_t pc, uint32_t node);

/*
 * The frames of @pc, of the last stack's process, under @parent, if they were added recently; 0 if
 * not. Then add them, and remember their node with _learn.
 */
uint32_t af_frames_last_known(const struct af_frames_last *l, struct af_tree *t, uint32_t parent,
                              uint64_t pc);
void af_frames_last_learn(struct af_frames_last *l, const struct af_tree *t, uint32_t parent,
                          uint64_t pc, uint32_t node);

/*
 * A key that sorts stack locations so that stacks which begin alike come together: hashes of ever
 * longer parts of them, from the root on. (To compare the stacks themselves takes five times as
 * long.)
 */
enum { AF_FRAMES_KEY = 8 };
void af_frames_key(const struct af_world *w, const struct af_stack_location *at,
                   uint64_t key[AF_FRAMES_KEY]);

#endif
