/*
 * Code mapped in this process, found by address when a walk first meets it. The table only grows
 * (a fixed mapping, lock-free, readable and extendable in a signal handler); after a dlclose the
 * generation changes and modules are looked up afresh.
 *
 * Lookup is by glibc's _dl_find_object (2.35 and later; async-signal-safe, takes no lock) where
 * it exists, else by reading /proc/self/maps with plain system calls.
 */
#ifndef AF_INJECT_MODULES_H
#define AF_INJECT_MODULES_H

#include <stdbool.h>
#include <stdint.h>

struct af_module {
	uint64_t start, end;         /* of the executable mapping that holds the address */
	uint64_t bias;               /* run-time address minus virtual address of the ELF file */
	const uint8_t *eh_frame_hdr; /* mapped, NULL when the module has none */
	uint64_t eh_frame_hdr_end;   /* first address that may not be read */
	uint32_t flags;              /* enum af_mapping_flag */
	uint32_t generation;
	uint8_t build_id[32];
	uint8_t build_id_len;
	char path[512]; /* copied: the loader's own string may go away */
};

/* Resolve glibc's entry points; before any other call, not in a handler. */
void af_modules_init(void);

/* The module @pc lies in, added to the table when new; NULL for anonymous or unmapped memory. */
const struct af_module *af_module_find(uint64_t pc);

/* The table, in the order of discovery: for writing MAPPING events. */
uint32_t af_modules_nr(void);
const struct af_module *af_module_at(uint32_t i);

/* After dlclose: addresses may be reused. af_unwind_forget() calls it. */
void af_modules_forget(void);
uint32_t af_modules_generation(void);

/*
 * Look a dynamic symbol up in a mapped module by reading its hash table (System V gABI,
 * DT_GNU_HASH): usable in a handler. Returns its run-time address or 0; *@size its st_size.
 */
uint64_t af_module_symbol(const struct af_module *m, const char *name, uint64_t *size);

/*
 * Read @len bytes at an address that may be anything: 0, or -EFAULT. A few ns; built on a load
 * whose fault is fixed up by af_guard_fault(), else on process_vm_readv.
 */
int af_guarded_read(void *dst, uint64_t addr, size_t len);

/*
 * To be called first by the process's SIGSEGV and SIGBUS handler: true when the fault was a
 * guarded read, which has been made to return -EFAULT.
 */
bool af_guard_fault(void *ucontext);

#endif
