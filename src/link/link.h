/*
 * A linker of relocatable objects (System V gABI, chapter 4, and the psABI of each machine) for
 * code that runs in this process at once. The result is an ELF file, which its users map: it has
 * segments to be mapped at the addresses that it was linked for, unwind tables, symbols, sections,
 * relocated DWARF and a build-id, so debuggers and profilers read it as they read any shared
 * library.
 *
 *	af_link_new() → { af_link_add() | af_link_want() }* → af_link_layout() →
 *		af_link_map() → af_link_construct() → af_link_symbol() … → af_link_destruct()
 *		or af_link_write(), where nothing is to run
 *	→ af_link_free()
 *
 * One thread at a time uses a linker. Every byte of an input is hostile until it is checked; code
 * that was mapped is not. Memory that runs out ends the program (base/arena.h).
 */
#ifndef AF_LINK_LINK_H
#define AF_LINK_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct af_link;

/* A symbol that no input defines. */
struct af_link_external {
	uint64_t address;
	bool is_code; /* a call may go through a stub, and the stub may stand for its address */
};

/*
 * The part of the static thread-local block of the program that is free for the inputs: it lies at
 * @tp_offset from each thread's thread pointer, and at @offset in the block of @module. `size` 0:
 * inputs with thread-local variables are refused.
 */
struct af_link_threads {
	int64_t tp_offset;
	uint64_t module, offset, size;
};

/* The program that the inputs are linked into. */
struct af_link_host {
	uint16_t machine; /* EM_X86_64, EM_AARCH64 or EM_RISCV */
	/* Finds an external symbol; false when there is none. */
	bool (*find)(void *arg, const char *name, struct af_link_external *e);
	void *arg;
	struct af_link_threads threads;
	uint64_t near; /* an address of a library that inputs refer to directly; 0: none */
};

/* A new linker; @host is copied. */
struct af_link *af_link_new(const struct af_link_host *host);

/* Frees all but the mapped image, which stays for the life of the process. NULL is allowed. */
void af_link_free(struct af_link *l);

/*
 * Add an input: the @size bytes at @bytes of a relocatable object, or of an archive (ar(5), System
 * V and GNU), whose members are linked where they define a symbol that is missing. @name is for
 * messages and copied, @bytes stay the caller's and must stay valid. 0, or -ENOEXEC with the
 * reason.
 */
int af_link_add(struct af_link *l, const char *name, const uint8_t *bytes, size_t size,
                struct af_err *err);

/* @name is missing until something defines it, so members of archives that do are linked. */
void af_link_want(struct af_link *l, const char *name);

/*
 * Choose members of archives, find external symbols, give each section its place. 0; -ENOENT when
 * symbols are undefined: @err names the first, and af_link_undefined() all; -ENOEXEC, -ENOTSUP or
 * -EFBIG with the reason.
 */
int af_link_layout(struct af_link *l, struct af_err *err);

/*
 * The symbols that nothing defines, after af_link_layout(): lines "NAME (OBJECT)\n" in the order of
 * the inputs, with the first object that refers to each; "" when there is none. Valid until
 * af_link_free().
 */
const char *af_link_undefined(const struct af_link *l);

/* Bytes of address space, and of the file, after af_link_layout(). */
uint64_t af_link_span(const struct af_link *l);
uint64_t af_link_file_size(const struct af_link *l);

/*
 * Write the file, relocated to run at @base, into the af_link_file_size() bytes at @out, which are
 * zero. 0, -ERANGE or -ENOTSUP with the relocation that failed, its section and its object.
 */
int af_link_write(struct af_link *l, uint64_t base, uint8_t *out, struct af_err *err);

/*
 * Reserve addresses, write the file into @fd (an empty file that can be mapped) and map its
 * segments privately: code is never writable. The bytes of @fd must not change afterwards; @fd may
 * be closed. 0, or -errno with the reason.
 */
int af_link_map(struct af_link *l, int fd, struct af_err *err);

/*
 * Fill the host's part of a thread-local block, all host.threads.size bytes of it: initial values
 * of the inputs' variables, else 0. After af_link_map(), for the template and for each thread there
 * is.
 */
void af_link_fill_thread(const struct af_link *l, uint8_t *block);

/* The address of the global symbol @name, after af_link_write() or af_link_map(); 0: none. */
uint64_t af_link_symbol(const struct af_link *l, const char *name);

/*
 * Call the functions of .preinit_array and .init_array of the mapped image, in order of their
 * priorities, and those of .fini_array in the reverse order.
 */
void af_link_construct(const struct af_link *l, int argc, char **argv, char **envp);
void af_link_destruct(const struct af_link *l);

/*
 * The bytes of the unwind table (.eh_frame) of the mapped image, with a zero at its end; 0: none.
 */
uint64_t af_link_frames(const struct af_link *l);

/* Call @each with every function of the image: its name, address and size. */
void af_link_functions(const struct af_link *l,
                       void (*each)(void *arg, const char *name, uint64_t start, uint64_t size),
                       void *arg);

#endif
