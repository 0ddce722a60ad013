/*
 * Which package has the names of a stripped file: by dpkg's lists of what packages installed
 * (/var/lib/dpkg/info/PACKAGE[:ARCH].list, a path a line). The lists are read once for all files.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "sym/job_work.h"

enum { PACKAGES_FILES = 24 };

struct stripped {
	const char *path; /* without /usr: what dpkg lists as /lib may lie in /usr/lib */
	size_t len;
};

static const char *without_usr(const char *path, size_t *len)
{
	if (*len > 5 && !memcmp(path, "/usr/", 5)) {
		*len -= 4;
		return path + 4;
	}
	return path;
}

/* Does a part of @m's addresses lie in functions that nothing names? */
static bool is_stripped(const struct job_module *m)
{
	if (m->kind != JOB_FILE || *m->path != '/')
		return false;
	for (uint32_t i = 0; i < m->nr; i++)
		if (m->answers[i].source == AF_SYMBOL_FDE ||
		    m->answers[i].source == AF_SYMBOL_NO_SYMBOL)
			return true;
	return false;
}

static uint32_t stripped_find(const struct af_sym_job *job, struct stripped files[PACKAGES_FILES])
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < job->nr_modules && nr < PACKAGES_FILES; i++) {
		const struct job_module *m = &job->modules[i];
		if (!is_stripped(m))
			continue;
		files[nr].len = strlen(m->path);
		files[nr].path = without_usr(m->path, &files[nr].len);
		nr++;
	}
	return nr;
}

/* The package that the list called @list is of has @path: say where the names are. */
static void package_note(struct af_sym_job *job, const char *list, const struct stripped *file)
{
	int len = (int)strcspn(list, ":");
	const char *end = strstr(list, ".list"), *base = strrchr(file->path, '/') + 1;
	char key[256];

	if (end && end - list < len)
		len = (int)(end - list);
	snprintf(key, sizeof key, "symbols.package.%s", base);
	/* glibc's is older than the others' suffix. */
	af_sym_job_note(job, key, "%.*s-%s", len, list,
	                len == 5 && !memcmp(list, "libc6", 5) ? "dbg" : "dbgsym");
}

static void list_search(struct af_sym_job *job, const char *list, const struct af_file *f,
                        const struct stripped *files, uint32_t nr)
{
	const char *at = (const char *)f->data, *end = at + f->size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((newline ? newline : end) - at);
		const char *line = at;

		at += len + 1;
		line = without_usr(line, &len);
		for (uint32_t i = 0; i < nr; i++)
			if (files[i].len == len && !memcmp(files[i].path, line, len))
				package_note(job, list, &files[i]);
	}
}

void af_sym_job_packages(struct af_sym_job *job, const char *root)
{
	struct stripped files[PACKAGES_FILES];
	uint32_t nr = stripped_find(job, files);
	char path[512];

	snprintf(path, sizeof path, "%s/var/lib/dpkg/info", root ? root : "");
	DIR *dir = nr ? opendir(path) : NULL;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		size_t len = strlen(e->d_name);
		struct af_file f;

		if (len < 6 || strcmp(e->d_name + len - 5, ".list") != 0 ||
		    af_file_map_at(&f, dirfd(dir), e->d_name))
			continue;
		list_search(job, e->d_name, &f, files, nr);
		af_file_unmap(&f);
	}
	if (dir)
		closedir(dir);
}
