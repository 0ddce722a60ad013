/*
 * Puts Python frames in the place of the interpreter's own. A native stack has one frame for each
 * native call of CPython's eval loop; the Python stack tells which Python functions each of these
 * calls was running (from 3.11 on one native call runs many). Functions without side effects over
 * arrays that the caller owns; nothing is allocated.
 */
#ifndef AF_ANALYSE_FRAMES_PYMERGE_H
#define AF_ANALYSE_FRAMES_PYMERGE_H

#include <stdbool.h>
#include <stdint.h>

/* The role of a native function in the interpreter. */
enum af_py_native {
	AF_PY_NATIVE_OTHER,
	AF_PY_NATIVE_EVAL, /* a native call of the eval loop */
	/*
	 * One instruction's function of it (3.14 with tail calls): the frame of the eval loop that
	 * it belongs to lies next to it, outside
	 */
	AF_PY_NATIVE_STEP,
	AF_PY_NATIVE_GLUE, /* what the interpreter goes through from one function to the next */
	/* -X perf: code made for one Python function, which calls the eval loop for it */
	AF_PY_NATIVE_TRAMPOLINE,
	AF_PY_NATIVE_LEFT_OUT, /* no frame: some are left out here (AF_LEFT_OUT) */
};

/*
 * The role of a symbol as it stands in the symbol table; suffixes that compilers add (".cold",
 * ".part.0", ".lto_priv.0") are ignored. NULL is OTHER.
 */
enum af_py_native af_py_native(const char *symbol);

enum af_py_merged_kind {
	AF_PY_MERGED_NATIVE,
	AF_PY_MERGED_GLUE, /* native too; a view may leave it out */
	AF_PY_MERGED_PYTHON,
};

struct af_py_merged {
	uint32_t kind;  /* enum af_py_merged_kind */
	uint32_t index; /* in the native array, or in the array of Python entries */
};

/*
 * Merge the native stack @native (enum af_py_native, leaf first) with the entries @python of the
 * PY_STACK event (leaf first, with borders). Writes the merged stack, leaf first, to @out, which
 * has room for nr_native + nr_python entries, and returns its length.
 *
 * A native call of the eval loop, with its trampoline, is replaced by the Python frames of its
 * group. Groups and calls are matched from the outermost inwards, because a thread may be stopped
 * where the innermost call has not entered its frame, or has left it: such a call stays as it is.
 * When one of the stacks was cut at its outer end (@native_complete, @python_complete) they are
 * matched from the leaf.
 *
 * Where frames are left out in the middle of one stack or both, each end is matched by itself,
 * unless the remaining frames of both stacks match as a whole. The marks keep their places: a mark
 * of Python's stack comes as a Python frame.
 *
 * Groups left over when matched from the outside come just inside the innermost native call of the
 * eval loop, and groups left over when matched from the leaf come outermost. Where the native stack
 * has no call of the eval loop, all Python frames come outermost. So the native code that a Python
 * function called is never shown as its caller.
 */
uint32_t af_py_merge(const uint8_t *native, uint32_t nr_native, bool native_complete,
                     const uint64_t *python, uint32_t nr_python, bool python_complete,
                     struct af_py_merged *out);

#endif
