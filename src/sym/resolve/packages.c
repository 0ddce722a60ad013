#include "sym/resolve/packages.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/system/fs.h"
#include "sym/module/finder.h"
#include "sym/resolve/shared.h"
#include "sym/resolve/task_work.h"

enum { PACKAGES_FILES = 24 };

/* Files that are searched for in the lists and not found yet. */
struct packages {
	struct wanted {
		const char *path;
		const char *listed; /* from there on, without /usr */
		size_t len;
	} * wanted;
	uint32_t nr;
	void (*each)(void *arg, const char *path, const char *package);
	void *arg;
};

/* A file that dpkg lists in /lib may lie in /usr/lib. */
static const char *without_usr(const char *path, size_t *len)
{
	if (*len > 5 && !memcmp(path, "/usr/", 5)) {
		*len -= 4;
		return path + 4;
	}
	return path;
}

/* True if some of @m's addresses lie in functions without names. */
static bool is_stripped(const struct task_module *m)
{
	if (m->kind != TASK_FILE || *m->path != '/')
		return false;
	for (uint32_t i = 0; i < m->nr; i++)
		if (m->answers[i].source == AF_SYMBOL_FDE ||
		    m->answers[i].source == AF_SYMBOL_NO_SYMBOL)
			return true;
	return false;
}

static uint32_t stripped_find(const struct af_sym_task *task, const char *paths[PACKAGES_FILES])
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < task->nr_modules && nr < PACKAGES_FILES; i++)
		if (is_stripped(&task->modules[i]))
			paths[nr++] = task->modules[i].path;
	return nr;
}

/* The package of the list called @list contains @path. */
static void package_found(const struct packages *p, const char *list, const char *path)
{
	int len = (int)strcspn(list, ":");
	const char *end = strstr(list, ".list");
	char package[NAME_MAX + 8];

	if (end && end - list < len)
		len = (int)(end - list);
	/* glibc's debug package has an older suffix than the others. */
	snprintf(package, sizeof package, "%.*s-%s", len, list,
	         len == 5 && !memcmp(list, "libc6", 5) ? "dbg" : "dbgsym");
	p->each(p->arg, path, package);
}

/* A file is of one package. */
static void line_search(struct packages *p, const char *list, const char *line, size_t len)
{
	line = without_usr(line, &len);
	for (uint32_t i = 0; i < p->nr; i++) {
		const struct wanted w = p->wanted[i];
		if (w.len != len || memcmp(w.listed, line, len) != 0)
			continue;
		p->wanted[i] = p->wanted[--p->nr];
		package_found(p, list, w.path);
		return;
	}
}

static void list_search(struct packages *p, const char *list, const struct af_file *f)
{
	const char *at = (const char *)f->data, *end = at + f->size;

	while (p->nr && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((newline ? newline : end) - at);

		line_search(p, list, at, len);
		at += len + 1;
	}
}

void af_packages_find(const char *root, const char *const *paths, uint32_t nr,
                      void (*each)(void *arg, const char *path, const char *package), void *arg)
{
	struct packages p = {af_xcalloc(nr + 1, sizeof *p.wanted), nr, each, arg};
	char path[512];

	for (uint32_t i = 0; i < nr; i++) {
		p.wanted[i] = (struct wanted){.path = paths[i], .len = strlen(paths[i])};
		p.wanted[i].listed = without_usr(paths[i], &p.wanted[i].len);
	}
	snprintf(path, sizeof path, "%s/var/lib/dpkg/info", root ? root : "");
	DIR *dir = nr ? opendir(path) : NULL;
	for (struct dirent *e; dir && p.nr && (e = readdir(dir));) {
		size_t len = strlen(e->d_name);
		struct af_file f;

		if (len < 6 || strcmp(e->d_name + len - 5, ".list") != 0 ||
		    af_file_map_at(&f, dirfd(dir), e->d_name))
			continue;
		list_search(&p, e->d_name, &f);
		af_file_unmap(&f);
	}
	if (dir)
		closedir(dir);
	free(p.wanted);
}

static void package_known(void *shared, const char *path, const char *package)
{
	af_shared_set_package(shared, path, package);
}

/* The lists are read only for files that no trace before had. */
void af_sym_task_packages(struct af_sym_task *task, const char *root)
{
	struct af_sym_shared *own = task->where->shared ? NULL : af_sym_shared_open();
	struct af_sym_shared *shared = own ? own : task->where->shared;
	const char *paths[PACKAGES_FILES], *fresh[PACKAGES_FILES] = {0};
	uint32_t nr = stripped_find(task, paths), nr_fresh = 0;
	char key[NAME_MAX + 32];

	for (uint32_t i = 0; i < nr; i++)
		if (!af_shared_package(shared, paths[i])) {
			af_shared_set_package(shared, paths[i], "");
			fresh[nr_fresh++] = paths[i];
		}
	af_packages_find(root, fresh, nr_fresh, package_known, shared);
	for (uint32_t i = 0; i < nr; i++) {
		const char *package = af_shared_package(shared, paths[i]);
		if (!*package)
			continue;
		snprintf(key, sizeof key, "symbols.package.%s", strrchr(paths[i], '/') + 1);
		af_sym_task_note(task, key, "%s", package);
	}
	af_sym_shared_close(own);
}

static bool has_symtab(const struct af_elf *e)
{
	Elf64_Shdr s;

	return e->data && af_elf_named(e, ".symtab", &s) && s.sh_type != SHT_NOBITS;
}

bool af_packages_wanted(const char *path)
{
	struct af_found file = {0}, debug = {0};
	const struct af_finder finder = {0};

	if (af_finder_file(&finder, &file, path, true, NULL, 0))
		return false;
	bool wanted =
	    !has_symtab(&file.elf) &&
	    !(af_finder_debug(&finder, &debug, &file.elf, path) && has_symtab(&debug.elf));
	af_found_close(&debug);
	af_found_close(&file);
	return wanted;
}
