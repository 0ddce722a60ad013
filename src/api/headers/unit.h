/*
 * The headers as libclang has parsed them, for the readers of their parts. Order of calls, by
 * af_headers_read(): unit_open → unit_names → macros_read → enums and functions → unit_close.
 */
#ifndef AF_API_HEADERS_UNIT_H
#define AF_API_HEADERS_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/headers/clang.h"
#include "api/headers/headers.h"
#include "api/model/model.h"

/* A declaration that a typedef gives a name. */
struct af_unit_name {
	CXCursor cursor;
	const char *name;
};

struct af_unit {
	const struct af_headers *of;
	struct af_clang c;
	struct af_model *m; /* its arena has all strings */
	CXIndex index;
	CXTranslationUnit tu;
	const char **files, **folders; /* of the files named; a folder of the system is left out */
	uint32_t nr_files, cap_files, nr_folders, cap_folders;
	struct af_unit_name *named; /* structs, unions, enums */
	uint32_t nr_named, cap_named;
	struct af_unit_name *integers; /* typedefs of integers */
	uint32_t nr_integers, cap_integers;
	struct af_err *err;
};

/* Parse the headers; @u is zeroed but for of, m, err. Closed by the caller also after a failure. */
int af_unit_open(struct af_unit *u);
void af_unit_close(struct af_unit *u);

/* Parse them again with @more behind them; errors in that are none. The caller disposes of it. */
int af_unit_parse(struct af_unit *u, const char *more, CXTranslationUnit *tu);

/* A copy of @s, which is disposed of. */
const char *af_unit_string(struct af_unit *u, CXString s);

/* The file and the line where @cursor stands; the file is NULL for what the compiler has. */
const char *af_unit_file(struct af_unit *u, CXCursor cursor, unsigned *line);

/* Does @cursor belong to the API: is its file in the folders of the files named, or below? */
bool af_unit_is_api(struct af_unit *u, CXCursor cursor);

/* Is it in a file named, or one of the same folder? */
bool af_unit_is_wanted(struct af_unit *u, CXCursor cursor);

/* The name of the struct, union or enum that @decl declares; NULL where it has none. */
const char *af_unit_name(struct af_unit *u, CXCursor decl);

/* Add the typedefs' names to @u. */
void af_unit_names(struct af_unit *u);

/* A typedef of an integer, by its name; NULL when there is none. */
const struct af_unit_name *af_unit_integer(const struct af_unit *u, const char *name);

/* The type of a value, as the model has it, which it is added to; never NULL. */
const char *af_unit_type(struct af_unit *u, CXType type);

/* The built-in type that a value of @type is stored as; NULL for structs and void. */
const char *af_unit_base(struct af_unit *u, CXType type);

/* Without the sugar that is no typedef. */
CXType af_unit_strip(const struct af_unit *u, CXType type);

/* Add the struct or union of @type, called @name (or NULL: it gets no name). */
const char *af_unit_record(struct af_unit *u, CXType type, const char *name);

/* Add all enumerations, the types wanted, all functions, all macros that are values. */
void af_unit_enums(struct af_unit *u);
void af_unit_types(struct af_unit *u);
void af_unit_functions(struct af_unit *u);
int af_unit_macros(struct af_unit *u);

#endif
