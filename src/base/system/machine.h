/* The machine that this program was built for, by the number that ELF files have for it. */
#ifndef AF_BASE_SYSTEM_MACHINE_H
#define AF_BASE_SYSTEM_MACHINE_H

#include <elf.h>

enum {
#if defined(__x86_64__)
	AF_THIS_MACHINE = EM_X86_64,
#elif defined(__aarch64__)
	AF_THIS_MACHINE = EM_AARCH64,
#elif defined(__riscv) && __riscv_xlen == 64
	AF_THIS_MACHINE = EM_RISCV,
#else
#error "aflame knows x86-64, aarch64 and riscv64"
#endif
};

#endif
