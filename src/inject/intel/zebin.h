/*
 * Intel's device binaries (zebin): ELF files whose machine is EM_INTELGT, with a section
 * ".text.<kernel>" for each kernel (intel/compute-runtime,
 * shared/source/device_binary_format/zebin/zebin_elf.h).
 */
#ifndef AF_INJECT_INTEL_ZEBIN_H
#define AF_INJECT_INTEL_ZEBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AF_ZEBIN_MACHINE = 205 }; /* EM_INTELGT (gABI's list of machines) */

struct af_zebin_kernel {
	uint64_t size;   /* bytes of its code */
	uint32_t symbol; /* its number in the object's symbol table, 0: it has none */
};

/* Is this a zebin? Every byte is hostile. */
bool af_zebin_is(const void *data, size_t size);

/* Has it debug information? */
bool af_zebin_has_lines(const void *data, size_t size);

/* The kernel @name of the zebin in @data; false when it is no zebin or has no such kernel. */
bool af_zebin_kernel(const void *data, size_t size, const char *name, struct af_zebin_kernel *k);

/*
 * The same of the form that drivers made before, which has no symbols. Its lengths are hostile,
 * too.
 */
bool af_tokens_kernel(const void *data, size_t size, const char *name, struct af_zebin_kernel *k);

#endif
