/* Shared by the files that make a merge bytes, and bytes a merge. */
#ifndef AF_ANALYSE_SET_BYTES_H
#define AF_ANALYSE_SET_BYTES_H

#include "analyse/set/private.h"
#include "base/buf.h"
#include "base/cursor.h"

/* A text, which may be NULL; that of a merge is one of its texts. */
void set_write_text(struct af_buf *to, const char *text);
const char *set_read_text(struct af_cursor *from, struct af_merge *m);

/* The same for the number of a text of the merge; 0 and "" are one. */
void set_write_number(struct af_buf *to, const struct af_merge *m, uint32_t text);
uint32_t set_read_number(struct af_cursor *from, struct af_merge *m);

/* Numbers in a row. */
void set_write_u64s(struct af_buf *to, const uint64_t *all, size_t nr);
void set_read_u64s(struct af_cursor *from, uint64_t *all, size_t nr);

/* tables_bytes.c: the tables of @m, into one that has none. */
void set_tables_write(const struct af_merge *m, struct af_buf *to);
void set_tables_read(struct af_merge *m, struct af_cursor *from);

/* sums_bytes.c: counters and coverage. */
void set_sums_write(const struct af_merge *m, struct af_buf *to);
void set_sums_read(struct af_merge *m, struct af_cursor *from);

#endif
