/*
 * Names for the objects of APIs, which programs know by addresses: stream#1 is the first of its
 * sort that a process used. Types of several APIs that mean the same (CUstream, cudaStream_t) share
 * names.
 */
#ifndef AF_CMD_CALLS_HANDLES_H
#define AF_CMD_CALLS_HANDLES_H

#include <stdint.h>

#include "base/map.h"
#include "base/strtab.h"

struct af_api_type;
struct af_buf;

/* A zeroed struct has no names. */
struct af_handles {
	struct af_strtab names;
	struct af_map by_type;  /* address of the type → name */
	struct af_map by_space; /* process and name → index of numbers */
	struct af_map *numbers; /* value → number */
	uint32_t nr, cap;
};

/* Free all names. A zeroed struct is fine. */
void af_handles_free(struct af_handles *h);

/* Append the name of the object @value of @process, an ordinal: "stream#1"; "NULL" for 0. */
void af_handle_name(struct af_handles *h, uint32_t process, const struct af_api_type *type,
                    uint64_t value, struct af_buf *b);

#endif
