/*
 * Parts of functions that a compiler has moved away from them (gcc's `.cold`), in a stripped file:
 * each has an FDE of its own and no symbol. A cold part may be hot: Debian's CPython 3.14 has all
 * of its eval loop there but the beginning. x86-64 only.
 */
#ifndef AF_SYM_ELF_PART_H
#define AF_SYM_ELF_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "sym/elf/fde.h"
#include "unwind/elf_file.h"

/*
 * The start of the function from which the compiler took the code whose FDE starts at @start: the
 * function that most of its jumps go back into. False when its FDE does not show that it is a part,
 * or when it never jumps back. Reads the part's code twice, its first MiB at most.
 */
bool af_part_whole(const struct af_cfi *c, const struct af_elf *elf, uint64_t start,
                   uint64_t *whole);

#endif
