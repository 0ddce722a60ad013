/*
 * Finds the file that a library is: a path as it stands; the program itself; what a running process
 * has mapped; or a name in the directories of ld.so(8), its cache aside.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "base/system/program.h"
#include "cmd/functions/private.h"

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * How well the file @name is what @lib names: its very name is 3, libz.so of libz 2, libz.so.1 of
 * libz or libz.so 1, anything else 0.
 */
static int fit(const char *name, const char *lib)
{
	size_t len = strlen(lib);

	if (strncmp(name, lib, len) != 0)
		return 0;
	name += len;
	if (!*name)
		return 3;
	if (!strcmp(name, ".so"))
		return 2;
	return !strncmp(name, ".so.", 4) || (strstr(lib, ".so") && *name == '.');
}

/* ---- of a program that is going to run ---- */

static int program_find(struct functions_file *file, const char *program, struct af_err *err)
{
	char path[PATH_MAX];

	if (!af_program_find(program, path) || !realpath(path, file->path))
		return af_fail_plain(err, -EINVAL, "--uprobe: no program %s", program);
	return 0;
}

/* An ELF file for this machine (gABI, "ELF Header"), not for its 32-bit programs. */
static bool is_ours(const char *path)
{
	scope_close int fd = af_open_regular(AT_FDCWD, path, 0);
	Elf64_Ehdr own, e;
	scope_close int self = af_open_regular(AT_FDCWD, "/proc/self/exe", 0);

	return fd >= 0 && self >= 0 && pread(fd, &e, sizeof e, 0) == (ssize_t)sizeof e &&
	       pread(self, &own, sizeof own, 0) == (ssize_t)sizeof own &&
	       !memcmp(e.e_ident, own.e_ident, EI_VERSION) && e.e_machine == own.e_machine;
}

struct search {
	const char *lib;
	int fit;
	char best[PATH_MAX];
};

static void directory_search(struct search *s, const char *directory)
{
	DIR *d = opendir(directory);
	const struct dirent *e;
	char path[PATH_MAX];

	while (d && (e = readdir(d))) {
		int is = fit(e->d_name, s->lib);
		/* The shortest: libz.so.1, not libz.so.1.2.13, which is the same file mostly. */
		if (is < s->fit || !is ||
		    (is == s->fit && strlen(e->d_name) >= strlen(name_of(s->best))))
			continue;
		if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, e->d_name) >=
		        sizeof path ||
		    !is_ours(path))
			continue;
		s->fit = is;
		strcpy(s->best, path);
	}
	if (d)
		closedir(d);
}

/* @list has directories between @separators, which are overwritten. */
static void list_search(struct search *s, char *list, const char *separators)
{
	char *rest = NULL;

	for (char *d = strtok_r(list, separators, &rest); d && !s->fit;
	     d = strtok_r(NULL, separators, &rest))
		if (*d == '/')
			directory_search(s, d);
}

/* Lines of /etc/ld.so.conf.d/NAME.conf (ldconfig(8)). */
static void conf_search(struct search *s)
{
	static const char place[] = "/etc/ld.so.conf.d";
	DIR *d = opendir(place);
	const struct dirent *e;
	char path[PATH_MAX], text[4096];

	while (d && !s->fit && (e = readdir(d))) {
		size_t len = strlen(e->d_name);
		if (len < 5 || strcmp(e->d_name + len - 5, ".conf") != 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", place, e->d_name);
		af_read_text(path, text, sizeof text);
		list_search(s, text, "\n \t");
	}
	if (d)
		closedir(d);
}

static int library_find(struct functions_file *file, const char *lib, struct af_err *err)
{
	struct search s = {.lib = lib};
	char usual[] = "/lib64 /usr/lib64 /lib /usr/lib /usr/local/lib";
	const char *given = getenv("LD_LIBRARY_PATH");

	if (given) {
		scope_free char *list = af_xstrdup(given);
		list_search(&s, list, ":;");
	}
	if (!s.fit)
		conf_search(&s);
	if (!s.fit)
		list_search(&s, usual, " ");
	if (!s.fit || !realpath(s.best, file->path))
		return af_fail_plain(err, -EINVAL,
		                     "--uprobe: no library %s where ld.so looks: give its path, as "
		                     "/proc/PID/maps of a running program has it",
		                     lib);
	return 0;
}

/* ---- of a process that runs ---- */

static bool process_find(struct functions_file *file, const char *lib, uint32_t pid)
{
	scope_fclose FILE *f = af_proc_open_maps(pid);
	scope_free char *line = NULL;
	struct af_proc_mapping m;
	char exe[PATH_MAX] = "";
	size_t cap = 0;
	int best = 0;

	snprintf(file->root, sizeof file->root, "/proc/%u/root", pid);
	size_t len = af_proc_read_exe(pid, exe, sizeof exe - 1);
	exe[len] = 0;
	if (len && (!strcmp(lib, "-") || !strcmp(lib, name_of(exe)))) {
		memcpy(file->path, exe, len + 1);
		return true;
	}
	while (af_proc_mapping_next(f, &line, &cap, &m)) {
		int is = m.executable && *m.path == '/' ? fit(name_of(m.path), lib) : 0;
		if (is <= best || strlen(m.path) >= sizeof file->path)
			continue;
		best = is;
		strcpy(file->path, m.path);
	}
	return best;
}

int functions_file_find(struct functions_file *file, const char *lib,
                        const struct af_functions_of *of, struct af_err *err)
{
	*file = (struct functions_file){0};
	if (strchr(lib, '/')) {
		if (!realpath(lib, file->path))
			return af_fail_plain(err, -EINVAL, "--uprobe: no file %s", lib);
		return 0;
	}
	if (of->program && (!strcmp(lib, "-") || !strcmp(lib, name_of(of->program))))
		return program_find(file, of->program, err);
	for (uint32_t i = 0; i < of->nr_pids; i++)
		if (process_find(file, lib, of->pids[i]))
			return 0;
	*file = (struct functions_file){0};
	if (!strcmp(lib, "-"))
		return af_fail_plain(err, -EINVAL,
		                     "--uprobe: - is the program that aflame starts, or that -p "
		                     "names: give a path instead");
	return library_find(file, lib, err);
}
