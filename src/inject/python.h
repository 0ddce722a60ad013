/*
 * CPython frames of the calling thread, read without the GIL and without running the interpreter.
 * Offsets come from a table per minor version (3.8 to 3.14), checked at start against
 * _Py_DebugOffsets where the interpreter has it (3.13 and later) and against one live code object.
 * A thread's own frame chain is changed by that thread alone, so reading it from a hook or a
 * signal handler of that thread is safe but for the few instructions of a push or pop: every
 * load is guarded, every code object's type is checked, depth is bounded.
 */
#ifndef AF_INJECT_PYTHON_H
#define AF_INJECT_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/event.h"

struct af_module;

/* A module was met that may hold the interpreter (libpython, or the executable). Handler-safe. */
void af_python_meet(const struct af_module *m);

/* Which interpreter is in this process: "3.11.2", or "" (none met), or why it cannot be read. */
const char *af_python_status(void);
bool af_python_ready(void);

/*
 * The frames of the calling thread, leaf first, in the form of the PY_STACK event: code index <<
 * 32 | last instruction in bytes, AF_PY_BORDER after the frames of one native eval call. The code
 * index is af_python's own dense number; new ones appear in af_python_code(). Returns the number
 * of entries, 0 when this thread runs no Python.
 */
unsigned af_python_frames(uint64_t *frames, unsigned max, enum af_stop *stop);

/*
 * What was copied when a code object was first seen. Strings are UTF-8. Pointers stay valid.
 * @lines points into memory that was copied too.
 */
struct af_py_code {
	uint32_t index;
	uint32_t version; /* PY_VERSION_HEX >> 16 */
	int32_t first_line;
	uint32_t lines_len;
	const uint8_t *lines;
	const char *name;
	const char *file;
};

uint32_t af_python_nr_codes(void);
const struct af_py_code *af_python_code(uint32_t index);

#endif
