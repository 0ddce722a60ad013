/*
 * Programs that turn code into text: NVIDIA's nvdisasm for cubins, Intel's iga64 for zebins, which
 * is a library, too (iga.h), and objdump for host code. None is part of aflame, and aflame works
 * without them.
 */
#ifndef AF_SYM_DEVICE_DISASSEMBLER_H
#define AF_SYM_DEVICE_DISASSEMBLER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct af_buf;
struct af_code;
struct af_err;

enum af_disassembler_kind {
	AF_DISASSEMBLER_NVDISASM,
	AF_DISASSEMBLER_OBJDUMP,
	AF_DISASSEMBLER_IGA64, /* reads one function at a time */
};

struct af_disassembler {
	char path[PATH_MAX];
	char from[64]; /* how it was found: "$CUDA_HOME" */
	enum af_disassembler_kind kind;
	bool library; /* libiga64, rather than a program */
};

/*
 * The @nth installed disassembler of the kind, from 0. nvdisasm: the file that $AFLAME_NVDISASM
 * names (then no other; an empty name: none at all), then those of $PATH, of $CUDA_HOME and
 * $CUDA_PATH, the newest of /usr/local/cuda*, and those of Python's packages (Triton's, NVIDIA's
 * own). objdump: of $AFLAME_OBJDUMP or $PATH. iga64: the program or, with ".so" in its name, the
 * library that $AFLAME_IGA64 names, else the libraries that the loader knows, then $PATH. False
 * when there are no more.
 */
bool af_disassembler_find(struct af_disassembler *d, enum af_disassembler_kind kind, unsigned nth);

/* The kind of disassembler for @code, and the program's name. */
enum af_disassembler_kind af_disassembler_kind(const struct af_code *code);
const char *af_disassembler_name(enum af_disassembler_kind kind);

/*
 * Text that identifies this very program: another file, or another version of it, has another text.
 */
void af_disassembler_identity(const struct af_disassembler *d, char *text, size_t size);

/*
 * Append its output for @code to @out: of all functions, or of the one at @index (with all of its
 * section) when that is not negative. Takes a minute at most. 0, or -errno with a message.
 */
int af_disassembler_run(const struct af_disassembler *d, struct af_code *code, int index,
                        struct af_buf *out, struct af_err *err);

#endif
