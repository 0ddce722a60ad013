/*
 * Names of kernel addresses from the kernel's own table of symbols, /proc/kallsyms (proc(5)), which
 * has its modules and BPF programs too. The table describes the running kernel at this moment:
 * addresses change from boot to boot.
 *
 *	af_kernel_open → { af_kernel_find }* → af_kernel_close
 */
#ifndef AF_SYM_RESOLVE_KERNEL_H
#define AF_SYM_RESOLVE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_kernel_symbol {
	uint64_t start;
	const char *name;
	const char *module; /* "[kernel]", "[ext4]", "[bpf]" */
	uint8_t rank;       /* of several at one address the lowest is the best name */
	bool code;
};

struct af_kernel {
	char *text; /* the file, split in place */
	struct af_kernel_symbol *symbols;
	uint32_t nr, cap;
};

/*
 * Read the table at @path, at most 256 MiB. -EPERM when the kernel shows no addresses to this
 * process (kernel.kptr_restrict, CAP_SYSLOG); other errors are those of the file. On failure *@k is
 * empty.
 */
int af_kernel_open(struct af_kernel *k, const char *path);

/* The same for @text, which has the form of that file and is malloc'd: @k frees it. */
void af_kernel_parse(struct af_kernel *k, char *text);
void af_kernel_close(struct af_kernel *k);

/*
 * The function that @address lies in, or NULL: a function reaches to the next symbol, at most
 * 256 KiB. Strings live as long as @k. Any thread.
 */
const struct af_kernel_symbol *af_kernel_find(const struct af_kernel *k, uint64_t address);

#endif
