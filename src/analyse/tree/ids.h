/*
 * Ids for functions and frames that are the same in every run on every machine: digests of their
 * names, so that programs can compare traces and ask for one thing again. docs/report.md tells how
 * they are made.
 */
#ifndef AF_ANALYSE_TREE_IDS_H
#define AF_ANALYSE_TREE_IDS_H

#include <stdbool.h>

#include "analyse/table/table.h"
#include "analyse/tree/tree.h"

/* "f-", 32 hexadecimal digits, NUL: with 128 bits nobody can make two names with one id. */
enum { AF_ID_SIZE = 35 };

/*
 * The id of a function: "f-" and the first 32 digits of the SHA-256 of: its kind's word; if it has
 * a @module (module_key.h, "": none) an exclamation mark and that; a NUL; its name.
 */
void af_function_id(char id[AF_ID_SIZE], enum af_frame frame, const char *text, size_t len,
                    const char *module);

/* The id of the function that a name of @t stands for. */
void af_name_id(char id[AF_ID_SIZE], const struct af_tree *t, uint32_t name);

/*
 * The id of a frame at its place: "n-" and the digits of the SHA-256 of the id of the frame @above
 * ("" below the root), a NUL, the id of its @function.
 */
void af_place_id(char id[AF_ID_SIZE], const char *above, const char *function);

/* The kind with this word (af_frame_name), or @otherwise. */
enum af_frame af_kind_of(const char *word, enum af_frame otherwise);

/*
 * The word that tells functions of one name apart: "host" for machine code of the program, whether
 * called or inlined (a function may be inlined here and called there), else the kind's own word.
 */
const char *af_frame_side(enum af_frame frame);

/* Has @text the form of a function's id? */
bool af_is_function_id(const char *text);

/*
 * Add a column "Id", for programs, at the end of @t: the ids of the functions in its first column,
 * when top.h made it from @tree, or, with NULL, of device kernels.
 */
void af_ids_add(struct af_tables *f, struct af_table *t, const struct af_tree *tree);

#endif
