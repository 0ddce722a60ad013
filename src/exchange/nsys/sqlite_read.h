/*
 * Tables of an SQLite database in memory, read by the system's libsqlite3, which is loaded when it
 * is needed. The database is hostile: only rows of ordinary tables are read, none of its views,
 * triggers or functions run, and a query may take a number of steps in proportion to its size.
 *
 *	sqlite_open → { sqlite_select → { sqlite_next → sqlite_… }* → sqlite_done }* → sqlite_close
 */
#ifndef AF_EXCHANGE_NSYS_SQLITE_READ_H
#define AF_EXCHANGE_NSYS_SQLITE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite_db;

enum { SQLITE_COLUMNS = 24 };

struct sqlite_rows {
	struct sqlite_db *db;
	void *statement;
	/* Column of the row for each wanted one; -1: the table has no such column */
	int at[SQLITE_COLUMNS];
	bool failed; /* the rest cannot be read: sqlite_error() says why */
};

/* @data, which may be written to, outlives the database. NULL: @complaint tells why. */
struct sqlite_db *sqlite_open(uint8_t *data, size_t size, char *complaint, size_t complaint_size);
void sqlite_close(struct sqlite_db *db); /* NULL is fine */

/* The last error. */
const char *sqlite_error(const struct sqlite_db *db);

/*
 * The rows of @table, ordered by @order (NULL: as they come). @columns: names, NULL-terminated.
 * False: there is no such table, or it cannot be read, which rows->failed tells apart.
 */
bool sqlite_select(struct sqlite_db *db, struct sqlite_rows *rows, const char *table,
                   const char *order, const char *const *columns);
/* Calls @take with the number of rows of each ordinary table; 0 also when it cannot be read. */
void sqlite_tables(struct sqlite_db *db,
                   void (*take)(void *arg, const char *table, uint64_t nr_rows), void *arg);

/*
 * Go to the next row: false at the end and after an error (rows->failed). _done ends the query;
 * call it in any case.
 */
bool sqlite_next(struct sqlite_rows *rows);
void sqlite_done(struct sqlite_rows *rows);

/*
 * Values of the current row, by index in the wanted columns. Numbers: @otherwise where there is
 * none.
 */
bool sqlite_has(const struct sqlite_rows *rows, int column);
int64_t sqlite_int(const struct sqlite_rows *rows, int column, int64_t otherwise);
/* NUL-terminated, valid until the next row; "" where there is none. */
const char *sqlite_text(const struct sqlite_rows *rows, int column, size_t *len);

#endif
