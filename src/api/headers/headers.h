/*
 * C headers to a model of an API, by libclang. It is opened at run time, so neither the build nor
 * the program needs it. Where aflame was built without its header clang-c/Index.h,
 * af_headers_read() says so.
 */
#ifndef AF_API_HEADERS_HEADERS_H
#define AF_API_HEADERS_HEADERS_H

#include <stdbool.h>
#include <stdint.h>

struct af_err;
struct af_model;

/* Macros that are the values of one type. */
struct af_headers_group {
	const char *type;     /* of the headers, or one to be made of 32 bits */
	const char *patterns; /* fnmatch patterns of names, with commas between */
	bool is_flags;
};

/* The headers and how they are read, all borrowed. */
struct af_headers {
	const char *const *files; /* as #include <…> finds them, or paths */
	uint32_t nr_files;
	const char *const *args; /* for the compiler: -I…, -D… */
	uint32_t nr_args;
	const char *functions; /* patterns of names, with commas between; NULL for all */
	const char
	    *types; /* patterns of typedefs that are wanted though nothing uses them, or NULL */
	const char *leave; /* patterns of enumerations and macros that are left out; may be NULL */
	const char *version; /* of the headers: a macro's name, or a text; may be NULL */
	const struct af_headers_group *groups;
	uint32_t nr_groups;
};

/*
 * Add to @m, which has its name, title and kind, what the headers declare: functions with numbers
 * from 0 on in their order, the types that they use, all enumerations, and macros as values of
 * types: those of @groups, those under a comment that names a type, those that are cast to one.
 *
 * Functions are taken from the files named and from those that they include of the same folder, if
 * no body belongs to them; a function type clNAME_fn counts as one where no prototype stands. What
 * does not compile is an error.
 */
int af_headers_read(const struct af_headers *of, struct af_model *m, struct af_err *err);

/* Does @name match one of @patterns, which have commas between? */
bool af_headers_match(const char *patterns, const char *name);

#endif
