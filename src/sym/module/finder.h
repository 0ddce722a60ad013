/*
 * Finds the files behind a module: the file itself when it is no longer at its path, its separate
 * debug file (GDB manual, "Separate Debug Files"), and the file that dwz moved parts of that into.
 * A file is accepted by its build-id, or by the CRC that .gnu_debuglink names.
 */
#ifndef AF_SYM_MODULE_FINDER_H
#define AF_SYM_MODULE_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/system/fs.h"
#include "unwind/elf_file.h"

struct af_fetch;

enum { AF_FINDER_END = -1, AF_FINDER_NOTHING = -2 };

struct af_finder {
	const char *root;       /* prefix of all paths, or NULL */
	const char *kept;       /* perf's own copies of files, ~/.debug, or NULL */
	struct af_fetch *fetch; /* servers to ask, or NULL */
	/*
	 * The @nth further place where the file itself may be: a descriptor, which is then the
	 * caller's, AF_FINDER_NOTHING when it is not there, AF_FINDER_END when there are no more
	 * places. NULL: there are none.
	 */
	int (*further)(void *arg, uint32_t nth);
	void *arg;
	bool further_first; /* the path is another file's in this mount namespace */
};

/* A file, the parsed view of it, and the path where it was found (NULL: it has none). */
struct af_found {
	struct af_file file;
	struct af_elf elf; /* data is NULL while nothing has been found */
	char *path;
};

/* A zeroed struct is empty. */
void af_found_close(struct af_found *f);

/*
 * Find the ELF file mapped from @path. @trust_path: a file found at its path is accepted without a
 * build-id to compare. 0, -ENOENT when there is no file, -ESTALE when there are files and none is
 * the right one.
 */
int af_finder_file(const struct af_finder *finder, struct af_found *f, const char *path,
                   bool trust_path, const uint8_t *id, uint32_t id_len);

/* The separate debug file of @of, mapped from @path; false: there is none. */
bool af_finder_debug(const struct af_finder *finder, struct af_found *f, const struct af_elf *of,
                     const char *path);

/* The debug file with a build-id of at least 2 bytes. */
bool af_finder_debug_by_id(const struct af_finder *finder, struct af_found *f, const uint8_t *id,
                           uint32_t id_len);

/* The file that .gnu_debugaltlink of @of, which was found at @path (may be NULL), names. */
bool af_finder_alternate(const struct af_finder *finder, struct af_found *f,
                         const struct af_elf *of, const char *path);

#endif
