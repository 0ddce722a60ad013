/*
 * Shared by modules.c (the table) and modules_maps.c (how code is mapped now).
 */
#ifndef AF_INJECT_WALK_MODULES_PRIVATE_H
#define AF_INJECT_WALK_MODULES_PRIVATE_H

#include "inject/walk/modules.h"

/* Learn the executable's name and where the vDSO is. Not in a handler. */
void modules_maps_init(void);

/* Forget which mappings hold no module: they may hold one now. */
void modules_maps_forget(void);

const char *modules_exe(void); /* the executable's path */
uint64_t modules_vdso(void);   /* its ELF header, 0 for none */

/* Fill @m, but for its path, from the ELF image mapped at @header; false: no code of it at @pc. */
bool modules_from_image(struct af_module *m, uint64_t header, uint64_t pc);

/* Was the file of @m replaced or removed? Sets the flag, and takes the kernel's mark off. */
void modules_check_deleted(struct af_module *m);

/*
 * The code at @pc, by /proc/self/maps: a module, even if its code is mapped a second time or was
 * moved (mremap); or code without a file, marked AF_MAPPING_JIT. False: there is none, or the
 * mappings were not read, because an earlier reading found none or because readings have already
 * taken their share of the run time (@bounded).
 */
bool modules_by_maps(struct af_module *m, uint64_t pc, bool bounded);

#endif
