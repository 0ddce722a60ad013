/*
 * Code mapped in this process, found by address when a walk first meets it. The table only grows (a
 * fixed mapping, lock-free, readable and extendable in a signal handler). After a dlclose the
 * module epoch (`epoch`) changes and modules are looked up again; one that is still there
 * keeps its entry.
 *
 * Lookup is by glibc's _dl_find_object (2.35 and later; async-signal-safe, takes no lock) where it
 * exists. Otherwise, and for code that the loader does not know, it reads /proc/self/maps with
 * plain system calls (modules_maps.c). Executable memory without a file is not a module, but has an
 * entry with AF_MAPPING_JIT, so that the trace describes it.
 *
 *	af_modules_init(), af_modules_watch(), then everything else, from any thread or handler.
 */
#ifndef AF_INJECT_WALK_MODULES_H
#define AF_INJECT_WALK_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/walk/guard.h"

struct af_module {
	uint64_t start, end; /* of the executable segment that holds the address */
	uint64_t bias;       /* run-time address minus virtual address of the ELF file */
	uint64_t moved; /* how far the code was moved from where the headers and tables have it */
	uint64_t elf_header;         /* mapped, 0 for none */
	const uint8_t *eh_frame_hdr; /* mapped, NULL when the module has none */
	uint64_t eh_start, eh_end;   /* the readable segment that holds it and .eh_frame */
	bool readable;               /* the code can be read as data */
	uint32_t flags;              /* enum af_mapping_flag */
	uint32_t epoch;              /* when it was first met */
	uint8_t build_id[32];
	uint8_t build_id_len;
	char path[512]; /* copied: the loader's own string may go away */
};

/* Make the table and resolve glibc's entry points. Not in a handler. Further calls do nothing. */
void af_modules_init(void);

/* @met is called for every module that is met, or met again after af_modules_forget(). It may run
 * in any thread and in a handler. NULL: nobody. */
void af_modules_watch(void (*met)(const struct af_module *m));

/*
 * @looked is called for each reading of /proc/self/maps that counts against the time limit, and
 * with @put_off for each that the limit postpones. In handlers. NULL: nobody.
 */
void af_modules_count(void (*looked)(bool put_off));

/* The module @pc lies in, added to the table when new; NULL for anonymous or unmapped memory. */
const struct af_module *af_module_find(uint64_t pc);

/* The table, in the order of discovery: for writing MAPPING events. An entry may come twice. */
uint32_t af_modules_nr(void);
const struct af_module *af_module_at(uint32_t i);

/* After dlclose: addresses may be reused. af_unwind_forget() calls it. */
void af_modules_forget(void);
uint32_t af_modules_epoch(void); /* from 1 */

/*
 * Look a dynamic symbol up in a mapped module by reading its hash table (System V gABI,
 * DT_GNU_HASH): usable in a handler. Returns its run-time address or 0; *@size, which may be NULL,
 * its st_size.
 */
uint64_t af_module_symbol(const struct af_module *m, const char *name, uint64_t *size);

/* For tests: look modules up in /proc/self/maps from now on, as with an old glibc. */
void af_modules_use_maps(bool maps);

#endif
