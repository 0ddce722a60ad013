/* An open code object, for the files code*.c. */
#ifndef AF_SYM_CODE_OBJECT_H
#define AF_SYM_CODE_OBJECT_H

#include "base/arena.h"
#include "base/map.h"
#include "sym/code.h"
#include "sym/elf_file.h"

enum { CODE_EM_CUDA = 190 };

struct af_code {
	struct af_elf elf;
	char arch[16];
	uint32_t sm;
	struct code_function {
		struct af_code_function known;
		uint32_t section; /* of the cubin */
	} * functions;
	uint32_t nr, cap;
	uint32_t *by_name; /* functions in the order of names */
	struct af_arena strings;
	struct af_map shown; /* name as in the object → const char *, as people know it */
};

/* Add a function; its name as people know it, and what it is within, are found later. */
void code_add(struct af_code *c, uint32_t section, const struct af_code_function *f);

/* @name as people know it, kept in @c; NULL for NULL. @name outlives @c. */
const char *code_shown(struct af_code *c, const char *name);

/* The name of a function without "$kernel$" before it. */
const char *code_plain_name(const char *name);

/* The functions of an object for each machine. */
void code_read_cubin(struct af_code *c);
void code_read_host(struct af_code *c);

#endif
