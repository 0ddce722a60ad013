/*
 * What is about to be run: where execvp() finds it, and whether a library of ours can be preloaded
 * into it. Both use nothing but the stack and may be called in a child of vfork().
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
	AF_PRELOAD_UNKNOWN, /* no ELF file, as a script, or it cannot be read */
	AF_PRELOAD_WORKS,
	AF_PRELOAD_STATIC,
	AF_PRELOAD_32_BIT,  /* its ld.so complains on standard error, and goes on */
	AF_PRELOAD_FOREIGN, /* for another machine, run by an emulator; so does that ld.so */
	AF_PRELOAD_MUSL, /* its ld.so ends the program: a library of glibc's does not link there */
};

/*
 * What becomes of a 64-bit library for glibc that LD_PRELOAD names when the ELF file @path is run
 * (System V ABI: the class, the machine and PT_INTERP say who loads it).
 */
enum af_preload af_program_preload(const char *path);

/* Is the program better run without LD_PRELOAD's library? */
static inline bool af_preload_harms(enum af_preload p)
{
	return p == AF_PRELOAD_32_BIT || p == AF_PRELOAD_FOREIGN || p == AF_PRELOAD_MUSL;
}

#endif
