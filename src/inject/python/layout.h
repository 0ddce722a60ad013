/*
 * Where CPython keeps the data of a stack, per minor version: 64-bit release builds with the GIL.
 * The offsets were read from DWARF and validated against traceback; from 3.13 on an interpreter's
 * own _Py_DebugOffsets must agree with them.
 */
#ifndef AF_INJECT_PYTHON_LAYOUT_H
#define AF_INJECT_PYTHON_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

struct af_err;

/* How to tell the frames of one native call of the eval loop from those of its caller. */
enum af_py_chain {
	AF_PY_EACH,  /* to 3.10: every frame is its own native call */
	AF_PY_ENTRY, /* 3.11: the outermost frame of a native call is marked */
	AF_PY_SHIM,  /* 3.12 and later: a frame that runs no code stands below them */
};

enum { AF_PY_NO_CFRAME = 0xffff };

struct af_py_layout {
	uint16_t version; /* PY_VERSION_HEX >> 16 */
	uint8_t chain;    /* enum af_py_chain */
	uint8_t entry_is; /* AF_PY_ENTRY: exactly this; AF_PY_SHIM: at least this */
	uint8_t has_base; /* AF_PY_SHIM: outermost is a shim of the thread, of no native call */

	uint16_t tstate_frame; /* in PyThreadState: the frame, or the _PyCFrame that points to it */
	uint16_t cframe_frame; /* in _PyCFrame, or AF_PY_NO_CFRAME */
	uint16_t cframe_previous;

	/* In PyFrameObject or _PyInterpreterFrame. */
	uint16_t frame_code, frame_back, frame_entry;
	uint16_t frame_instr; /* int f_lasti up to 3.10, later a pointer into the code */
	uint8_t lasti_scale;  /* bytes for one of f_lasti; 0: it is a pointer */

	/* In PyCodeObject. */
	uint16_t code_first_line, code_file, code_name, code_lines;
	uint16_t code_bytes; /* co_code_adaptive, the base of the instruction pointer */
	uint16_t code_key;   /* 16 bytes with co_version, which is unique; 0 before 3.12 */

	uint16_t str_ascii, str_compact; /* where the characters of a str begin */
};

enum {
	AF_PY_OFFSETS_BYTES = 768 /* at least _Py_DebugOffsets of every version that has them */
};

/* The layout of a version (PY_VERSION_HEX >> 16), or NULL. */
const struct af_py_layout *af_py_layout(uint32_t version);

/* Do interpreters of this version have _Py_DebugOffsets? */
int af_py_layout_has_offsets(const struct af_py_layout *l);

/*
 * Compare @l with the _Py_DebugOffsets at @offsets, of which @len bytes could be read (CPython
 * Include/internal/pycore_debug_offsets.h; its own layout belongs to the minor version). Has no
 * side effects. 0, or -ENOTSUP with the reason: another version, a free-threaded build, an offset
 * that differs.
 */
int af_py_layout_verify(const struct af_py_layout *l, const void *offsets, size_t len,
                        struct af_err *err);

#endif
