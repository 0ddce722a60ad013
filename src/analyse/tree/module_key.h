/*
 * Which file a function is of, as one word that is the same in another run: functions are one where
 * name, side (ids.h) and this are. Two libraries may each have a `helper`.
 *
 * The file of machine code counts by its base name without a version: a build-id or a path would
 * make another function of each build, and of the same library in a container or a virtual
 * environment, so that nothing could be compared. `libfoo.so.1.2`, `libfoo-1.2.so` and what wheels
 * make of it, `libfoo-0a1b2c3d.so.1`, are `libfoo.so`. Where machine code has no file, as in some
 * imports, it is that of the source.
 *
 *	kernel       [kernel], [ext4]: as perf, the recorder and /lib/modules call it
 *	native       the file; what is inlined somewhere is of that file, not of its header
 *	python       none: the file stands in the name
 *	jit          none: such files are called after processes and addresses
 *	gpu          none: code objects go by their hash, which is another one in each build
 */
#ifndef AF_ANALYSE_TREE_MODULE_KEY_H
#define AF_ANALYSE_TREE_MODULE_KEY_H

#include "analyse/tree/tree.h"
#include "base/buf.h"

/* Append the word for a function in @module, from source @file, either may be NULL; or nothing. */
void af_module_key(struct af_buf *b, enum af_frame frame, const char *module, const char *file);

#endif
