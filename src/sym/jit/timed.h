/*
 * Code made at run time whose times the recorder learned while the program ran: lines of a perf
 * map, by when they were first seen, and ELF files of GDB's JIT interface (GDB manual, "JIT
 * Compilation Interface"), by when they were in its list. Both fill a table as a jitdump does,
 * which af_jitdump_find() searches.
 *
 *	{ af_jit_timed_text | af_jit_timed_image }* → af_jit_timed_end → … → af_jit_timed_close
 */
#ifndef AF_SYM_JIT_TIMED_H
#define AF_SYM_JIT_TIMED_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "sym/jit/jitdump.h"

/* A zeroed struct is empty. */
struct af_jit_timed {
	struct af_jitdump table;
	struct af_map latest; /* while it is filled: start of code → its last entry + 1 */
};

/*
 * Add the lines in @len bytes of a perf map, first seen at @from_ns: text comes in order of time. A
 * line that is there again, because its writer writes the whole map anew, changes nothing.
 */
void af_jit_timed_text(struct af_jit_timed *t, const char *text, size_t len, uint64_t from_ns);

/* An ELF file: @number is the caller's, not 0. It is there from @from_ns until @till_ns. */
struct af_jit_image {
	const uint8_t *data;
	size_t size;
	uint32_t number;
	uint64_t from_ns, till_ns;
};

/*
 * Add the functions of a file of hostile bytes, whose sections have the addresses at which they
 * run. 0, or -ENOEXEC: it is no such file.
 */
int af_jit_timed_image(struct af_jit_timed *t, const struct af_jit_image *image);

/* All is added: now it can be searched. */
void af_jit_timed_end(struct af_jit_timed *t);
void af_jit_timed_close(struct af_jit_timed *t);

#endif
