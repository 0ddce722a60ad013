/*
 * Opened once for several traces that one process symbolizes, such as those of a set: files with
 * their symbols and lines, the kernel's table, and the packages of stripped files. The names in a
 * trace are the same as without it: a file is used again only if it was found at its path, and the
 * same file is still there. Modules and bytes are limited; the one used last stays longest.
 *
 *	af_sym_shared_open → { af_symbolize → { take → give | close, kernel, packages }* }*
 *	→ af_sym_shared_close
 */
#ifndef AF_SYM_RESOLVE_SHARED_H
#define AF_SYM_RESOLVE_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "sym/sym.h"
#include "unwind/elf_file.h"

struct af_kernel;

enum { AF_SHARED_MODULES = 128 };
#define AF_SHARED_BYTES (UINT64_C(1) << 30) /* of mapped files */

/* A file as a trace names it, and the file that was at its path when it was taken. */
struct af_shared_file {
	const char *path;
	bool trust_path;
	uint32_t build_id_len;
	const uint8_t *build_id;
	uint64_t stamp[6]; /* device, inode, size, times; zeros: no such file */
};

/*
 * The open module of @file, whose stamp this fills in; NULL: there is none, and the caller opens
 * it. It is the caller's, until it gives or closes it. @s may be NULL: NULL. Any thread.
 */
struct af_sym_module *af_shared_take(struct af_sym_shared *s, struct af_shared_file *file);

/* @s takes @m, which is @file; it closes what it has no use for. Any thread. */
void af_shared_give(struct af_sym_shared *s, const struct af_shared_file *file,
                    struct af_sym_module *m);

/*
 * The table at @path as af_kernel_open() reads it, once; empty if that failed with *@rc. Lives as
 * long as @s. One thread at a time.
 */
const struct af_kernel *af_shared_kernel(struct af_sym_shared *s, const char *path, int *rc);

/*
 * The package of the file at @path, "" for none, NULL when it is not known yet: set_package adds
 * it. One thread at a time.
 */
const char *af_shared_package(struct af_sym_shared *s, const char *path);
void af_shared_set_package(struct af_sym_shared *s, const char *path, const char *package);

#endif
