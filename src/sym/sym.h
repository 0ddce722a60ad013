/*
 * Addresses to names. Offline: uses files and the mappings in the trace, never a live process.
 *
 * A module is opened once for each (path, build-id): its function symbols are in one sorted array
 * (System V gABI symbol tables), its DWARF lines and inlined subroutines are read when first asked
 * for.
 */
#ifndef AF_SYM_SYM_H
#define AF_SYM_SYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"

struct af_err;

enum {
	AF_SYM_INLINES = 64, /* most frames of one address */
	/* Bytes of a name with its NUL; longer ones end in an ellipsis */
	AF_SYM_NAME_MAX = 4 << 10,
};

struct af_sym_frame {
	/*
	 * As af_function_name() makes it; `FILE!fn_ADDRESS` (bounds_name.h) when the source is
	 * AF_SYMBOL_FDE; NULL when not known.
	 */
	const char *function;
	const char *file; /* NULL when not known */
	uint32_t line;    /* 0 when not known */
	/* Where the function is in the source; NULL and 0 when not known */
	const char *source;
	uint32_t source_line;
};

struct af_sym_answer {
	enum af_symbol_source source;
	bool symbol_known;      /* is the start of the function at the address known? */
	uint64_t symbol_offset; /* address less the start of this part of it */
	/* At least 1, unless source tells why there is none */
	uint32_t nr;
	struct af_sym_frame frames[AF_SYM_INLINES]; /* innermost inlined first */
};

struct af_sym_module;
struct af_sym_shared;

/*
 * Open the file behind a mapping. @path is that of MAPPING ("[vdso]" is this machine's own). @root
 * is prefixed to absolute paths when not NULL. The module is usable even when the file cannot be
 * opened or does not have @build_id: its answers then carry the reason. Any thread.
 */
struct af_sym_module *af_sym_module_open(const char *path, const uint8_t *build_id,
                                         uint32_t build_id_len, const char *root);
void af_sym_module_close(struct af_sym_module *m);

/*
 * Look up @vaddr, an address of the ELF file (run-time address less bias). Strings live as long as
 * the module. One thread at a time for each module.
 */
void af_sym_lookup(struct af_sym_module *m, uint64_t vaddr, struct af_sym_answer *answer);

/*
 * Demangle (Itanium C++, Rust legacy and v0) into malloc'd text, or NULL when it is not mangled.
 * Without arguments, return type and Rust's hash, as profilers show functions. Any thread.
 */
char *af_demangle(const char *mangled);

/*
 * The function that a symbol stands for, malloc'd: demangled, without its version (`@@GLIBC_2.14`)
 * and without the suffixes that compilers append to a copy or a part of a function (`.cold`,
 * `.part.0`, `.isra.1`, Go's `.abi0`), because in a stack that is still this function. `@plt`
 * stays. Any thread.
 */
char *af_function_name(const char *symbol);

/*
 * When @symbol is a function that PoCL made of an OpenCL kernel (`_pocl_kernel_NAME_workgroup`),
 * or the stub by which another calls it (`…@plt`), the kernel's name: a part of @symbol, *@len
 * bytes. Else NULL.
 */
const char *af_sym_kernel_name(const char *symbol, size_t *len);

/*
 * Cut @text of @len bytes to @most bytes (at least 3), in place, at a character of UTF-8 and with
 * an ellipsis. Returns its new length. No NUL is written.
 */
size_t af_sym_cut(char *text, size_t len, size_t most);

/*
 * The line of a Python code object at @lasti bytes. @version is PY_VERSION_HEX >> 16; the table is
 * co_lnotab (to 3.9), co_linetable (3.10: PEP 626; 3.11 and later: locations table, CPython
 * Objects/locations.md). -1 when there is none.
 */
int af_py_line(uint32_t version, const uint8_t *table, size_t len, int32_t first_line,
               uint32_t lasti);

/*
 * Opened files and tables that af_symbolize() uses again from one trace to the next. One trace at a
 * time; af_sym_shared_close(NULL) is fine. Out of memory ends the program.
 */
struct af_sym_shared *af_sym_shared_open(void);
void af_sym_shared_close(struct af_sym_shared *shared);

/*
 * Resolve every address of the trace in the directory @dirfd, which messages call @dir, and add the
 * stream `symbols` to it, in parallel over modules, each unique address once. An existing `symbols`
 * is replaced as a whole or, on failure, not at all. @progress (may be NULL) is called now and
 * then, from this thread. NOTEs in the trace, with keys "symbols.…", tell the user which names are
 * missing for reasons that the user can remove. Servers are asked only when $DEBUGINFOD_URLS names
 * some. @shared may be NULL.
 */
struct af_sym_progress {
	uint64_t addresses, resolved, modules, modules_done;
	uint32_t fetching;      /* files requested from servers at this moment */
	uint64_t fetched_bytes; /* received from servers so far */
};
int af_symbolize(int dirfd, const char *dir, struct af_sym_shared *shared,
                 void (*progress)(void *arg, const struct af_sym_progress *p), void *arg,
                 struct af_err *err);

#endif
