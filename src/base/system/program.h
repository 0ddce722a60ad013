/*
 * A program about to be run: where execvp() finds it, and whether a library of ours can be
 * preloaded into it. Both functions use nothing but the stack and may be called in a child of
 * vfork().
 *
 *	af_program_find() → af_program_preload()
 */
#ifndef AF_BASE_SYSTEM_PROGRAM_H
#define AF_BASE_SYSTEM_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Where execvp() would find @file (in $PATH, when it has no slash); false when it would not. */
bool af_program_find(const char *file, char path[PATH_MAX]);

enum af_preload {
	AF_PRELOAD_UNKNOWN, /* not an ELF file (a script), or it cannot be read */
	AF_PRELOAD_WORKS,
	AF_PRELOAD_STATIC,
	AF_PRELOAD_32_BIT,  /* its ld.so complains on standard error and goes on */
	AF_PRELOAD_FOREIGN, /* for another machine, run by an emulator with that machine's ld.so */
	/* Its ld.so ends the program, as a library for glibc does not link there */
	AF_PRELOAD_MUSL,
};

/*
 * The fate of a 64-bit glibc library named by LD_PRELOAD when the ELF file @path is run (System V
 * ABI: the class, the machine and PT_INTERP decide which loader loads it).
 */
enum af_preload af_program_preload(const char *path);

/* Is the program better run without LD_PRELOAD's library? */
static inline bool af_preload_harms(enum af_preload p)
{
	return p == AF_PRELOAD_32_BIT || p == AF_PRELOAD_FOREIGN || p == AF_PRELOAD_MUSL;
}

#endif
