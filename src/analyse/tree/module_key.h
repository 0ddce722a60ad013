/*
 * The file of a function as one word that is the same in another run: two functions are one when
 * name, side (ids.h) and this word are equal. Two libraries may each have a `helper`.
 *
 * A file of machine code counts by its base name without a version. A build-id or a path would
 * differ in each build, and for the same library in a container or a virtual environment, so that
 * nothing could be compared. `libfoo.so.1.2`, `libfoo-1.2.so` and the wheels'
 * `libfoo-0a1b2c3d.so.1` are all `libfoo.so`. Machine code without a file, as in some imports,
 * counts by its source file.
 *
 *	kernel       [kernel], [ext4]: the names of perf, the recorder and /lib/modules
 *	native       the file; an inlined function belongs to that file, not to its header
 *	python       none: the file is in the name
 *	jit          none: such files are named after processes and addresses
 *	gpu          none: code objects are named by their hash, which differs in each build
 */
#ifndef AF_ANALYSE_TREE_MODULE_KEY_H
#define AF_ANALYSE_TREE_MODULE_KEY_H

#include "analyse/tree/tree.h"
#include "base/buf.h"

/* Append the word for a function in @module, from source @file (either may be NULL), or nothing. */
void af_module_key(struct af_buf *b, enum af_frame frame, const char *module, const char *file);

#endif
