/*
 * Relocatable ELF files whose sections have been loaded at known addresses (sh_addr), as run-time
 * compilers register them with GDB.
 */
#ifndef AF_SYM_ELF_PLACE_H
#define AF_SYM_ELF_PLACE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Make the file in the @size hostile bytes at @bytes one that is laid out, in place: symbols get
 * their addresses, and fields of DWARF are relocated (gABI, "Relocation"; the psABI of each
 * machine). A file that is laid out already stays as it is. 0; -ENOEXEC when it is no ELF file of
 * 64 bits; -ENOTSUP when some relocation is not known, so that its DWARF is of no use: symbols have
 * their addresses all the same, and readers find no DWARF.
 */
int af_elf_place(uint8_t *bytes, size_t size);

#endif
