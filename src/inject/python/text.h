/*
 * Copies of strings and line tables of the interpreter, in memory that only grows: reserved once,
 * touched as it fills, shared by all threads without a lock. File names are kept once.
 */
#ifndef AF_INJECT_PYTHON_TEXT_H
#define AF_INJECT_PYTHON_TEXT_H

#include <stdbool.h>
#include <stdint.h>

struct af_py_layout;

/* Reserve the memory. Idempotent, handler-safe. 0 or -errno. */
int af_py_text_open(void);

/*
 * Is the type object at @type the one called @name? *@known is its address once it has been seen, 0
 * before; a program may have a copy of its own at another address (a copy relocation).
 */
bool af_py_type_is(_Atomic uint64_t *known, uint64_t type, const char *name);

/*
 * The str object at @object in UTF-8, cut at AF_PY_NAME_MAX or AF_PY_FILE_MAX bytes. "?" when it is
 * not a compact str or cannot be read; NULL when there is no room left.
 */
const char *af_py_text_name(const struct af_py_layout *l, uint64_t object);
const char *af_py_text_file(const struct af_py_layout *l, uint64_t object);

/* The content of the bytes object at @object. NULL and 0 when unreadable, too large or no room. */
const uint8_t *af_py_text_lines(uint64_t object, uint32_t *len);

#endif
