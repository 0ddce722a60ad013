#include "base/system/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/machine.h"

bool af_program_find(const char *file, char path[PATH_MAX])
{
	if (strchr(file, '/')) {
		snprintf(path, PATH_MAX, "%s", file);
		return !access(path, F_OK);
	}
	const char *dirs = getenv("PATH");
	for (const char *d = dirs ? dirs : "/bin:/usr/bin";; d++) {
		int len = (int)strcspn(d, ":");
		snprintf(path, PATH_MAX, "%.*s%s%s", len, d, len ? "/" : "./", file);
		if (!access(path, X_OK))
			return true;
		d += len;
		if (!*d)
			return false;
	}
}

/* musl's is /lib/ld-musl-x86_64.so.1, wherever a distribution puts its libc. */
static bool is_musl(int fd, const Elf64_Phdr *interp)
{
	char name[64];
	ssize_t n = pread(fd, name, sizeof name - 1, (off_t)interp->p_offset);

	name[n > 0 ? n : 0] = 0;
	return strstr(name, "/ld-musl-") != NULL;
}

enum af_preload af_program_preload(const char *path)
{
	Elf64_Ehdr e;
	Elf64_Phdr p;

	scope_close int fd = af_open_regular(AT_FDCWD, path, 0);
	if (fd < 0 || read(fd, &e, sizeof e) != (ssize_t)sizeof e || memcmp(e.e_ident, ELFMAG, 4))
		return AF_PRELOAD_UNKNOWN;
	if (e.e_ident[EI_CLASS] != ELFCLASS64)
		return AF_PRELOAD_32_BIT;
	if (e.e_machine != AF_THIS_MACHINE)
		return AF_PRELOAD_FOREIGN;
	for (int i = 0; i < e.e_phnum; i++)
		if (pread(fd, &p, sizeof p, (off_t)(e.e_phoff + (uint64_t)i * sizeof p)) ==
		        sizeof p &&
		    p.p_type == PT_INTERP)
			return is_musl(fd, &p) ? AF_PRELOAD_MUSL : AF_PRELOAD_WORKS;
	return AF_PRELOAD_STATIC;
}
