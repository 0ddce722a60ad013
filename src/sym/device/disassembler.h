/*
 * Programs that turn code into text: NVIDIA's nvdisasm for cubins, Intel's iga64 for zebins,
 * objdump for what runs on the host. None is part of aflame; what is not installed is done without.
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
};

/*
 * The @nth of those that are installed, from 0: the file that $AFLAME_NVDISASM names (no other
 * then; an empty name: none at all), then nvdisasm of $PATH, of $CUDA_HOME and $CUDA_PATH, the
 * newest of /usr/local/cuda*, and those of Python's packages (Triton's, NVIDIA's own). The others
 * are of $AFLAME_OBJDUMP, $AFLAME_IGA64 or $PATH. False when there are no more.
 */
bool af_disassembler_find(struct af_disassembler *d, enum af_disassembler_kind kind, unsigned nth);

/* The kind that reads @code, and what it is called. */
enum af_disassembler_kind af_disassembler_kind(const struct af_code *code);
const char *af_disassembler_name(enum af_disassembler_kind kind);

/* Text that stands for this very program: another file, or another version of it, has another. */
void af_disassembler_identity(const struct af_disassembler *d, char *text, size_t size);

/*
 * Add what it prints of @code to @out: of all functions, or of the one at @index (with all of its
 * section) when that is not negative. Takes a minute at most.
 */
int af_disassembler_run(const struct af_disassembler *d, struct af_code *code, int index,
                        struct af_buf *out, struct af_err *err);

#endif
