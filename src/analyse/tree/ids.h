/*
 * Names for functions and frames that are the same in every run of every machine: digests of what
 * they are called, so that programs can compare traces and ask for one thing again. docs/report.md
 * says how they are made.
 */
#ifndef AF_ANALYSE_TREE_IDS_H
#define AF_ANALYSE_TREE_IDS_H

#include <stdbool.h>

#include "analyse/table/facts.h"
#include "analyse/tree/tree.h"

/* "f-", 32 hexadecimal digits, NUL: with 128 bits nobody can make two names of one id. */
enum { AF_ID_SIZE = 35 };

/*
 * A function: f- and the first 32 digits of SHA-256 of its kind's word, where it has a @module
 * (module_key.h, "": none) an exclamation mark and that, a NUL, its name.
 */
void af_function_id(char id[AF_ID_SIZE], enum af_frame frame, const char *text, size_t len,
                    const char *module);

/* The id of what a name of @t stands for. */
void af_name_id(char id[AF_ID_SIZE], const struct af_tree *t, uint32_t name);

/*
 * A frame at its place: n- and the digits of SHA-256 of the id of the frame @above ("" below the
 * root), a NUL, the id of its @function.
 */
void af_place_id(char id[AF_ID_SIZE], const char *above, const char *function);

/* The kind whose word it is (af_frame_name), or @otherwise. */
enum af_frame af_kind_of(const char *word, enum af_frame otherwise);

/*
 * What tells functions of one name apart: "host" of machine code of the program, however it came
 * there (a function may be inlined here and called there), else the kind's own word.
 */
const char *af_frame_side(enum af_frame frame);

/* Has @text the form of a function's id? */
bool af_is_function_id(const char *text);

/*
 * Add a column "Id" for programs at the end of @t: of the functions in its first column, of a table
 * by top.h of @tree, or, with NULL, of kernels of devices.
 */
void af_ids_add(struct af_facts *f, struct af_table *t, const struct af_tree *tree);

#endif
