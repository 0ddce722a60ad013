#include "exchange/nsys/sqlite_read.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* Declared as in sqlite3.h (sqlite.org/c3ref), which need not be installed. */
enum {
	API_OK = 0,
	API_DENY = 1,
	API_ROW = 100,
	API_DONE = 101,
	API_NULL = 5,
	API_INTEGER = 1,
	API_OPEN_READWRITE = 2,
	API_OPEN_MEMORY = 0x80,
	API_DESERIALIZE_READONLY = 4,
	API_CONFIG_DEFENSIVE = 1010,
	API_CONFIG_TRUSTED_SCHEMA = 1017,
	API_SELECT = 21,
	API_READ = 20,
	API_FUNCTION = 31,
	STEPS_AT_ONCE = 10000,
};

#define SQLITE_API(F)                                                                              \
	F(int, open_v2, (const char *name, void **db, int flags, const char *vfs))                 \
	F(int, close_v2, (void *db))                                                               \
	F(int, deserialize,                                                                        \
	  (void *db, const char *schema, unsigned char *data, long long size, long long room,      \
	   unsigned flags))                                                                        \
	F(int, db_config, (void *db, int what, ...))                                               \
	F(int, set_authorizer,                                                                     \
	  (void *db,                                                                               \
	   int (*may)(void *, int, const char *, const char *, const char *, const char *),        \
	   void *arg))                                                                             \
	F(void, progress_handler, (void *db, int steps, int (*stop)(void *), void *arg))           \
	F(int, prepare_v2,                                                                         \
	  (void *db, const char *sql, int len, void **statement, const char **rest))               \
	F(int, step, (void *statement))                                                            \
	F(int, finalize, (void *statement))                                                        \
	F(int, column_count, (void *statement))                                                    \
	F(const char *, column_name, (void *statement, int column))                                \
	F(int, column_type, (void *statement, int column))                                         \
	F(long long, column_int64, (void *statement, int column))                                  \
	F(const unsigned char *, column_text, (void *statement, int column))                       \
	F(int, column_bytes, (void *statement, int column))                                        \
	F(const char *, errmsg, (void *db))

struct sqlite_db {
	void *library, *db;
	uint64_t steps, most; /* of the query, in STEPS_AT_ONCE */
#define AF_F(type, name, args) type(*name) args;
	SQLITE_API(AF_F)
#undef AF_F
};

/* Reading columns of tables, counting rows, and nothing else. */
static int may(void *arg, int what, const char *a, const char *b, const char *c, const char *d)
{
	bool count = what == API_FUNCTION && b && !strcmp(b, "count");

	return what == API_SELECT || what == API_READ || count ? API_OK : API_DENY;
}

static int too_long(void *arg)
{
	struct sqlite_db *db = arg;

	return ++db->steps > db->most;
}

static bool library_open(struct sqlite_db *db)
{
	db->library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!db->library)
		return false;
#define AF_F(type, name, args)                                                                     \
	*(void **)&db->name = dlsym(db->library, "sqlite3_" #name);                                \
	if (!db->name)                                                                             \
		return false;
	SQLITE_API(AF_F)
#undef AF_F
	return true;
}

static bool data_open(struct sqlite_db *db, uint8_t *data, size_t size)
{
	/*
	 * Bytes 18 and 19 are 2 for a database in WAL mode, which SQLite opens only with a log
	 * file. What is in this file is complete without the log, so mark it as one without.
	 */
	if (size > 20 && data[18] == 2)
		data[18] = data[19] = 1;
	if (db->open_v2(":memory:", &db->db, API_OPEN_READWRITE | API_OPEN_MEMORY, NULL) ||
	    db->deserialize(db->db, "main", data, (long long)size, (long long)size,
	                    API_DESERIALIZE_READONLY))
		return false;
	db->db_config(db->db, API_CONFIG_DEFENSIVE, 1, NULL);
	db->db_config(db->db, API_CONFIG_TRUSTED_SCHEMA, 0, NULL);
	db->set_authorizer(db->db, may, NULL);
	db->most = size / 64 + 100;
	db->progress_handler(db->db, STEPS_AT_ONCE, too_long, db);
	return true;
}

struct sqlite_db *sqlite_open(uint8_t *data, size_t size, char *complaint, size_t complaint_size)
{
	struct sqlite_db *db = af_xcalloc(1, sizeof *db);

	if (!library_open(db)) {
		snprintf(complaint, complaint_size,
		         "reading SQLite takes libsqlite3.so.0, which is not there: install "
		         "libsqlite3-0 (dnf: sqlite-libs)");
	} else if (!data_open(db, data, size)) {
		snprintf(complaint, complaint_size, "SQLite: %s", sqlite_error(db));
	} else {
		return db;
	}
	sqlite_close(db);
	return NULL;
}

void sqlite_close(struct sqlite_db *db)
{
	if (!db)
		return;
	if (db->db)
		db->close_v2(db->db);
	if (db->library)
		dlclose(db->library);
	free(db);
}

const char *sqlite_error(const struct sqlite_db *db)
{
	return db->db ? db->errmsg(db->db) : "cannot be opened";
}

/*
 * Gives the names of ordinary tables, and of no views or virtual tables, whose rows an extension
 * makes. False: not of all.
 */
static bool tables_list(struct sqlite_db *db, void (*take)(void *arg, const char *table), void *arg)
{
	static const char sql[] = "SELECT type, name, rootpage FROM sqlite_master";
	void *s = NULL;
	int rc = db->prepare_v2(db->db, sql, -1, &s, NULL);

	if (!rc)
		rc = db->step(s);
	for (; rc == API_ROW; rc = db->step(s)) {
		const char *type = (const char *)db->column_text(s, 0);
		const char *name = (const char *)db->column_text(s, 1);
		if (type && name && !strcmp(type, "table") && db->column_int64(s, 2) > 0)
			take(arg, name);
	}
	db->finalize(s);
	return rc == API_DONE;
}

struct table_wanted {
	const char *name;
	bool there;
};

static void table_poll(void *arg, const char *table)
{
	struct table_wanted *wanted = arg;

	wanted->there |= !strcmp(table, wanted->name);
}

struct table_counts {
	struct sqlite_db *db;
	void (*take)(void *arg, const char *table, uint64_t nr_rows);
	void *arg;
};

static void table_count(void *arg, const char *table)
{
	const struct table_counts *t = arg;
	struct sqlite_db *db = t->db;
	char sql[256];
	void *s = NULL;
	long long nr = 0;

	/* A name that would end the quotes is none of those that are looked for. */
	if (strchr(table, '"') || strlen(table) > sizeof sql / 2)
		return;
	db->steps = 0;
	snprintf(sql, sizeof sql, "SELECT count(*) FROM \"%s\"", table);
	if (!db->prepare_v2(db->db, sql, -1, &s, NULL) && db->step(s) == API_ROW)
		nr = db->column_int64(s, 0);
	db->finalize(s);
	t->take(t->arg, table, nr > 0 ? (uint64_t)nr : 0);
}

void sqlite_tables(struct sqlite_db *db,
                   void (*take)(void *arg, const char *table, uint64_t nr_rows), void *arg)
{
	struct table_counts counts = {db, take, arg};

	tables_list(db, table_count, &counts);
}

bool sqlite_select(struct sqlite_db *db, struct sqlite_rows *rows, const char *table,
                   const char *order, const char *const *columns)
{
	char sql[256];

	struct table_wanted wanted = {table, false};

	*rows = (struct sqlite_rows){.db = db};
	db->steps = 0;
	rows->failed = !tables_list(db, table_poll, &wanted);
	if (!wanted.there)
		return false;
	snprintf(sql, sizeof sql, "SELECT * FROM \"%s\"%s%s", table, order ? " ORDER BY " : "",
	         order ? order : "");
	if (db->prepare_v2(db->db, sql, -1, &rows->statement, NULL)) {
		rows->failed = true;
		return false;
	}
	for (int i = 0; i < SQLITE_COLUMNS && columns[i]; i++) {
		rows->at[i] = -1;
		for (int c = db->column_count(rows->statement); c-- > 0;) {
			const char *name = db->column_name(rows->statement, c);
			if (name && !strcmp(name, columns[i]))
				rows->at[i] = c;
		}
	}
	return true;
}

bool sqlite_next(struct sqlite_rows *rows)
{
	int rc = rows->statement ? rows->db->step(rows->statement) : API_DONE;

	rows->failed |= rc != API_ROW && rc != API_DONE;
	return rc == API_ROW;
}

void sqlite_done(struct sqlite_rows *rows)
{
	if (rows->statement)
		rows->db->finalize(rows->statement);
	rows->statement = NULL;
}

bool sqlite_has(const struct sqlite_rows *rows, int column)
{
	return rows->at[column] >= 0 &&
	       rows->db->column_type(rows->statement, rows->at[column]) != API_NULL;
}

int64_t sqlite_int(const struct sqlite_rows *rows, int column, int64_t otherwise)
{
	if (rows->at[column] < 0 ||
	    rows->db->column_type(rows->statement, rows->at[column]) != API_INTEGER)
		return otherwise;
	return rows->db->column_int64(rows->statement, rows->at[column]);
}

const char *sqlite_text(const struct sqlite_rows *rows, int column, size_t *len)
{
	const char *text = NULL;

	*len = 0;
	if (sqlite_has(rows, column))
		text = (const char *)rows->db->column_text(rows->statement, rows->at[column]);
	if (!text)
		return "";
	*len = (size_t)rows->db->column_bytes(rows->statement, rows->at[column]);
	return text;
}
