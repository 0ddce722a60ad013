#include "sym/resolve/kernel_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "unwind/notes.h"

/* Whether the kernel that runs has this build-id. */
static bool kernel_runs(const char *build_id)
{
	uint8_t data[4096], id[64];
	char hex[2 * sizeof id + 1];
	scope_fclose FILE *f = fopen("/sys/kernel/notes", "re");
	struct af_notes notes = af_notes_in(data, f ? fread(data, 1, sizeof data, f) : 0);
	struct af_note n;
	uint32_t len = 0;

	while (!len && af_note_next(&notes, &n))
		len = af_note_build_id(&notes, &n, id, sizeof id);
	for (uint32_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	return len && !strcmp(hex, build_id);
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
