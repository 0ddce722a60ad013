/*
 * CPython frames of the calling thread, read without the GIL and without running the interpreter.
 * Offsets come from a table per minor version (3.8 to 3.15). They are checked when the interpreter
 * is met, against _Py_DebugOffsets where it has them (3.13 and later), and against the first code
 * objects seen. An interpreter that the table does not describe gives no frames and a status that
 * says so.
 *
 * Only the thread itself changes its frame chain, so reading it from a hook or a signal handler of
 * that thread is safe but for the few instructions of a push or pop: every load is guarded, every
 * code object's type is checked, depth is bounded.
 *
 * The thread is found as PyGILState_GetThisThreadState() finds it: there are no frames for a thread
 * that never ran Python, and before 3.12 none for the inside of a subinterpreter (its caller's are
 * there).
 *
 *	af_python_meet(module) for each module met
 *	    → af_python_frames() on any thread, in any handler
 */
#ifndef AF_INJECT_PYTHON_PYTHON_H
#define AF_INJECT_PYTHON_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/layout.h"

struct af_module;

/*
 * Report a module that may hold the interpreter (libpython, or the executable). Any thread,
 * handler-safe. Call it again when the same module is found again after af_modules_forget(): until
 * then there are no frames, because the interpreter may be gone.
 */
void af_python_meet(const struct af_module *m);

/*
 * The version of the interpreter in this process: "3.11.2", "" when none was met, or the reason why
 * it cannot be read.
 */
const char *af_python_status(void);
bool af_python_ready(void);

/*
 * The frames of the calling thread, leaf first, in the form of the PY_STACK event: code index <<
 * 32 | last instruction in bytes, AF_PY_BORDER after the frames of one native eval call. The code
 * index is af_python's own dense number; new ones appear in af_python_code(). The last instruction
 * is the one executing or the one last executed; as int32_t it is negative in a frame that has not
 * begun. Returns the number of entries, 0 when this thread runs no Python. *@stop says whether the
 * chain was followed to its end: COMPLETE, UNREADABLE, BAD_FRAME or TOO_DEEP. Of more entries than
 * @max (8 or more) both ends are kept, with AF_LEFT_OUT between them.
 */
unsigned af_python_frames(uint64_t *frames, unsigned max, enum af_stop *stop);

/*
 * A code object, copied when it was first seen. Strings are UTF-8, "?" where they could not be
 * read. Pointers stay valid; @lines points into copied memory too. Code 0 stands for all code
 * objects that did not fit into the table or its memory.
 */
struct af_py_code_copy {
	uint32_t index;
	uint32_t version; /* PY_VERSION_HEX >> 16 */
	int32_t first_line;
	uint32_t lines_len; /* at most AF_PY_LINES_MAX, 0 when there were more */
	const uint8_t *lines;
	const char *name;
	const char *file;
};

enum {
	AF_PY_NAME_MAX = 1024, /* bytes with the NUL; longer ones are cut */
	AF_PY_FILE_MAX = 4096,
	AF_PY_LINES_MAX = (32 << 10) - 1,
};

/*
 * The number of codes, which grows. Codes below it are complete and never change. (A thread that is
 * just adding a code makes the later ones wait for a moment.)
 */
uint32_t af_python_nr_codes(void);
const struct af_py_code_copy *af_python_code(uint32_t index);

/*
 * In a forked child, before it samples: drops what threads of the parent were adding, so that
 * nothing waits for them.
 */
void af_python_after_fork(void);

/* How often a frame was given code 0 because the table was full. */
uint64_t af_python_lost(void);

#endif
