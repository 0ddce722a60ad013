/* Names of source files as debug information has them. */
#ifndef AF_SYM_LINES_SOURCE_PATH_H
#define AF_SYM_LINES_SOURCE_PATH_H

#include "base/buf.h"

/*
 * Append to @b, which is empty, the path of @file in @directory (NULL or "": not known; not used
 * for an absolute @file), without ".", ".." and doubled slashes, and without looking at the disk.
 */
void af_source_path(struct af_buf *b, const char *directory, const char *file);

#endif
