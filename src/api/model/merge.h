/* A new model and older ones: numbers are kept, and functions that newer headers lack. */
#ifndef AF_API_MODEL_MERGE_H
#define AF_API_MODEL_MERGE_H

#include <stdint.h>

struct af_model;

/*
 * Number the functions of @m as the first of @of that has one of the same name; others, in their
 * order, come behind all numbers of all of them.
 */
void af_model_number(struct af_model *m, const struct af_model *of, uint32_t nr_of);

/* Add what @old has and @m lacks, functions with their numbers, enumerations with their values. */
void af_model_keep(struct af_model *m, const struct af_model *old);

#endif
