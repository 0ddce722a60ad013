/*
 * Opens the modules of a trace: af_sym_module_open() with more places to look in.
 */
#ifndef AF_SYM_MODULE_MODULE_H
#define AF_SYM_MODULE_MODULE_H

#include "sym/module/finder.h"
#include "sym/sym.h"

/*
 * As af_sym_module_open(). @trust_path: the file at @path is accepted although no build-id confirms
 * it. @finder need not outlive the call.
 */
struct af_sym_module *af_sym_module_find(const char *path, bool trust_path, const uint8_t *build_id,
                                         uint32_t build_id_len, const struct af_finder *finder);

/*
 * The module in the @size hostile bytes at @bytes, which are copied: a file that a run-time
 * compiler registered with GDB, whose sections have the addresses that it runs at. NULL: it is no
 * ELF file, or there is no memory for it.
 */
struct af_sym_module *af_sym_module_image(const uint8_t *bytes, size_t size);

/*
 * A number that stands for all files that the answers of @m are made from: a cache of answers is
 * valid while it is the same. 0: nothing to be kept. @build_id gets that of the file, *@len bytes.
 */
uint64_t af_sym_module_key(const struct af_sym_module *m, uint8_t build_id[AF_ELF_BUILD_ID_MAX],
                           uint32_t *len);

/*
 * The bytes of all files that @m has mapped, if its own file was found at @path and nowhere else; 0
 * if not.
 */
uint64_t af_sym_module_found_at(const struct af_sym_module *m, const char *path);

/* The file itself, *@size bytes that live as long as @m; NULL when it was not found. */
const void *af_sym_module_bytes(const struct af_sym_module *m, size_t *size);

#endif
