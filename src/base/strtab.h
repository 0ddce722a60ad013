/* Strings interned once: compare by id. Ids are dense, from 0; id 0 is always "". */
#ifndef AF_BASE_STRTAB_H
#define AF_BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct af_strtab {
	struct af_arena arena;
	struct af_strtab_slot *slots; /* hash table of ids */
	const char **strings;         /* by id, NUL-terminated, live until af_strtab_free */
	uint32_t *lens;
	uint32_t nr, cap;
};

/* A zeroed struct is an empty table. */
void af_strtab_free(struct af_strtab *t);

/* The id of @len bytes at @s, copied when new. */
uint32_t af_strtab_id(struct af_strtab *t, const char *s, size_t len);
uint32_t af_strtab_id_z(struct af_strtab *t, const char *s);

/* The id of @len bytes at @s, 0 if the table has no such string. */
uint32_t af_strtab_find(const struct af_strtab *t, const char *s, size_t len);

/* The string of @id, "" for an id never handed out. */
const char *af_strtab_get(const struct af_strtab *t, uint32_t id);

#endif
