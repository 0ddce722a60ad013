/*
 * The code objects seen so far: the names of Python frames, copied when a code object is first met,
 * because code objects die and their addresses are used again. One table for the process, in memory
 * that is reserved once and touched as it fills. Any number of threads and handlers look up and add
 * without a lock, and none ever waits for another.
 *
 *	af_py_codes_open() → af_py_code_index() on any thread, in any handler
 */
#ifndef AF_INJECT_PYTHON_CODE_H
#define AF_INJECT_PYTHON_CODE_H

#include <stdint.h>

struct af_py_layout;

enum { AF_PY_NO_CODE = UINT32_MAX };

/*
 * Addresses of the interpreter's types, 0 where not known: then a type is recognised by its name.
 */
struct af_py_types {
	_Atomic uint64_t code, str, bytes;
};

extern struct af_py_types af_py_types;

/* Reserve the memory. Idempotent, handler-safe. 0 or -errno. */
int af_py_codes_open(void);

/*
 * The index of the code object at @address, copied when it is new. AF_PY_NO_CODE when there is no
 * code object at @address, 0 when it does not fit. The object must be alive or have been alive: it
 * belongs to a frame of the calling thread.
 */
uint32_t af_py_code_index(const struct af_py_layout *l, uint64_t address);

/*
 * In a forked child: entries that other threads of the parent were adding are completed as unknown.
 */
void af_py_codes_after_fork(void);

#endif
