#include "sym/resolve/kernel_table.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

/* Whether the kernel that runs has this build-id: a note of its own (elf(5), "Notes"). */
static bool kernel_runs(const char *build_id)
{
	uint8_t notes[4096];
	char hex[2 * 64 + 1] = "";
	scope_fclose FILE *f = fopen("/sys/kernel/notes", "re");
	size_t size = f ? fread(notes, 1, sizeof notes, f) : 0, at = 0;
	Elf64_Nhdr n;

	while (size - at >= sizeof n) {
		memcpy(&n, notes + at, sizeof n);
		size_t name = at + sizeof n, id = name + ((n.n_namesz + 3ul) & ~3ul);
		at = id + ((n.n_descsz + 3ul) & ~3ul);
		if (id > size || at > size)
			return false;
		if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != 4 ||
		    memcmp(notes + name, "GNU", 4) || n.n_descsz > 64)
			continue;
		for (uint32_t i = 0; i < n.n_descsz; i++)
			snprintf(hex + 2 * i, 3, "%02x", notes[id + i]);
		return !strcmp(hex, build_id);
	}
	return false;
}

/* Where the table at t->path has @symbol: it is among the first lines. */
static bool table_has(struct af_kernel_table *t, const char *symbol, uint64_t address)
{
	char line[512], name[256];
	uint64_t at;
	scope_fclose FILE *f = fopen(t->path, "re");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%" SCNx64 " %*c %255s", &at, name) == 2 && at &&
		    !strcmp(name, symbol)) {
			t->shift = address - at;
			return true;
		}
	return false;
}

bool af_kernel_table(struct af_kernel_table *t, const char *build_id, const char *symbol,
                     uint64_t address)
{
	const char *home = getenv("HOME");

	if (strspn(build_id, "0123456789abcdef") != strlen(build_id) || !*build_id)
		return false;
	snprintf(t->path, sizeof t->path, "/proc/kallsyms");
	if (kernel_runs(build_id) && table_has(t, symbol, address))
		return true;
	int len = snprintf(t->path, sizeof t->path, "%s/.debug/[kernel.kallsyms]/%s/kallsyms",
	                   home ? home : "", build_id);
	return home && len < (int)sizeof t->path && table_has(t, symbol, address);
}
