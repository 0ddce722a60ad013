/* Stacks as text, for what makes reports; and numbers that are the same in every run. */
#ifndef REPORT_STACKS_H
#define REPORT_STACKS_H

#include <stdint.h>

#include "analyse/tree/tree.h"

/*
 * The node of a stack written "p:main;n:malloc;k:sys_brk": a letter of kind before each name.
 * Native code is all in the file @module, if not NULL.
 */
uint32_t report_node(struct af_tree *t, const char *stack, const char *module);

/* Weights of the first two columns for such a stack, whose native code is in one file. */
void report_add(struct af_tree *t, const char *stack, uint64_t first, uint64_t second);

#define REPORT_MODULE "/usr/lib/libwork.so"

/* The next of the numbers that begin with *@state, which is REPORT_SEED; the same in [0, 1). */
#define REPORT_SEED 88172645463325252ull
uint64_t report_random(uint64_t *state);
double report_unit(uint64_t *state);

#endif
