/*
 * Compressed parts of an ELF file: MiniDebugInfo (section .gnu_debugdata: an ELF file with a symbol
 * table, as xz; GDB manual, "Debugging information in a special section"), and sections of debug
 * information compressed by zstd (System V gABI, "Compression Header"), which libelf can unpack
 * only since elfutils 0.189. libelf unpacks zlib sections itself, but does not read unwind tables.
 */
#ifndef AF_SYM_ELF_UNPACK_H
#define AF_SYM_ELF_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/elf_file.h"

/*
 * The file inside .gnu_debugdata into *@data, malloc'd. -ENODATA when @e has no such section,
 * -EBADMSG when it is damaged, -EFBIG when it holds more than 256 MiB. Any thread.
 */
int af_unpack_minidebug(const struct af_elf *e, uint8_t **data, size_t *size);

/*
 * A copy of @e, malloc'd, in which no section that libdw reads is compressed by zstd; a section
 * that cannot be unpacked is empty there. -ENODATA when no section is compressed by zstd, and no
 * copy is needed; -EFBIG when the copy would need more than 2 GiB. Any thread.
 */
int af_unpack_zstd(const struct af_elf *e, uint8_t **data, size_t *size);

/*
 * The bytes of the section called @name, which begins with a dot, or of its older form .zNAME. If
 * they are compressed by zlib or zstd, *@unpacked gets them, malloc'd, else NULL. -ENODATA when
 * there is no such section, -EBADMSG when it is damaged, -EFBIG when it holds more than 64 MiB. Any
 * thread.
 */
int af_unpack_section(const struct af_elf *e, const char *name, const uint8_t **bytes,
                      uint64_t *size, uint8_t **unpacked);

#endif
