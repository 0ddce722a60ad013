/*
 * Tables as bytes, for another process of this version of aflame, and back. Readers trust no byte:
 * what is damaged sets `bad` of the cursor.
 */
#ifndef AF_ANALYSE_TABLE_BYTES_H
#define AF_ANALYSE_TABLE_BYTES_H

#include "analyse/table/table.h"

struct af_buf;
struct af_cursor;
struct af_err;

/* Append a column; read one, whose texts are in @arena, into @c. */
void af_column_write(const struct af_column *c, struct af_buf *to);
void af_column_read(struct af_column *c, struct af_cursor *from, struct af_arena *arena);

/* Append the table @t to @to. */
void af_table_write(const struct af_table *t, struct af_buf *to);

/* A new table in @f, with all its texts; never NULL, of any content when `bad` is set. */
struct af_table *af_table_read(struct af_tables *f, struct af_cursor *from);

/* The same for all tables of @f; -EBADMSG if the bytes are damaged. */
void af_tables_write(const struct af_tables *f, struct af_buf *to);
int af_tables_read(struct af_tables *f, struct af_cursor *from, struct af_err *err);

#endif
