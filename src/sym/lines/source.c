#include "sym/lines/source.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/scope.h"
#include "base/strtab.h"
#include "base/system/fs.h"

/* A file that was looked for. */
struct source_file {
	const char *where; /* NULL: not found */
	struct af_file file;
	uint32_t *lines; /* where each begins, and the end of the last */
	uint32_t nr, cap;
};

struct af_source {
	const char *dirs;
	bool here;
	struct af_strtab names; /* ids are indices of files */
	struct source_file *files;
	uint32_t nr, cap;
};

/* Extensions of what is compiled, or of what compilers make for the next one. */
static const char source_kinds[] = " c cc cpp cxx cu cuh h hh hpp hxx inl inc ipp tpp def cl clh "
				   "clcpp hip py pyx ptx ll mlir ttir ttgir llir f for f90 f95 f03 "
				   "f08 rs jl zig go d nim swift mojo metal sycl s S asm ";

static bool source_is_kind(const char *file)
{
	const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
	char kind[16];

	if (!dot || (slash && dot < slash) || strlen(dot) > sizeof kind - 3)
		return false;
	kind[0] = ' ';
	strcpy(stpcpy(kind + 1, dot + 1), " ");
	return !strchr(dot + 1, ' ') && strstr(source_kinds, kind);
}

static bool source_map(struct source_file *f, int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_size <= AF_SOURCE_MOST &&
	       !af_file_map_fd(&f->file, fd);
}

/* Links are followed to what is called as source is, too: a program may lie among them. */
static bool source_as_named(struct source_file *f, const char *file)
{
	char link[32], real[PATH_MAX];
	scope_close int fd = af_open_regular(AT_FDCWD, file, 0);

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = fd < 0 ? -1 : readlink(link, real, sizeof real - 1);
	if (n <= 0)
		return false;
	real[n] = 0;
	return source_is_kind(real) && source_map(f, fd);
}

/* Does @path go up by a ".."? Below a directory that was given nothing may. */
static bool source_goes_up(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return true;
	return false;
}

/* Below directory @dir, of @len bytes: /a/b/c.cu as a/b/c.cu, b/c.cu, c.cu. */
static bool source_below(struct source_file *f, const char *dir, size_t len, const char *file,
                         struct af_buf *path)
{
	path->len = 0;
	af_buf_add(path, dir, len);
	af_buf_char(path, 0);
	scope_close int root = open(path->data, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (const char *part = file; part; part = strchr(part, '/')) {
		part += strspn(part, "/");
		if (source_goes_up(part))
			continue;
		path->len = 0;
		af_buf_add(path, dir, len);
		af_buf_char(path, '/');
		af_buf_str(path, part);
		scope_close int fd = root < 0 ? root : af_open_regular_in(root, part);
		if (source_map(f, fd))
			return true;
	}
	return false;
}

static void source_find(struct af_source *s, struct source_file *f, const char *file)
{
	struct af_buf path = {0};

	if (!source_is_kind(file))
		return;
	/* A relative name was relative to where the compiler ran. */
	bool found = s->here && *file == '/' && source_as_named(f, file);
	if (found)
		af_buf_str(&path, file);
	for (const char *dir = s->dirs; dir && !found;) {
		size_t len = strcspn(dir, ":");
		found = len && source_below(f, dir, len, file, &path);
		dir = dir[len] ? dir + len + 1 : NULL;
	}
	if (found)
		f->where = af_arena_strdup(&s->names.arena, path.data, path.len);
	af_buf_free(&path);
}

static void source_split(struct source_file *f)
{
	const char *data = (const char *)f->file.data;
	uint32_t size = (uint32_t)f->file.size;

	for (uint32_t at = 0; at < size;) {
		AF_GROW(f->lines, f->nr, f->cap);
		f->lines[f->nr++] = at;
		const char *end = memchr(data + at, '\n', size - at);
		at = end ? (uint32_t)(end - data) + 1 : size;
	}
	AF_GROW(f->lines, f->nr, f->cap);
	f->lines[f->nr] = size;
}

static struct source_file *source_file(struct af_source *s, const char *file)
{
	uint32_t id = af_strtab_id_z(&s->names, file);

	while (s->nr <= id) {
		AF_GROW(s->files, s->nr, s->cap);
		struct source_file *f = &s->files[s->nr];
		*f = (struct source_file){0};
		source_find(s, f, af_strtab_get(&s->names, s->nr++));
		if (f->where)
			source_split(f);
	}
	return &s->files[id];
}

void af_source_bind(struct af_source *s, const char *file, struct af_file *text)
{
	struct source_file *f = source_file(s, file);

	if (f->where || text->size > AF_SOURCE_MOST) {
		af_file_unmap(text);
		return;
	}
	f->file = *text;
	f->where = "the trace";
	source_split(f);
}

bool af_source_is_withheld(const struct af_source *s, const char *file)
{
	return !s->here && !s->dirs && source_is_kind(file);
}

void af_source_open(struct af_source **out, const char *dirs, bool here)
{
	*out = af_xcalloc(1, sizeof **out);
	(*out)->dirs = dirs;
	(*out)->here = here;
}

void af_source_close(struct af_source *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nr; i++) {
		af_file_unmap(&s->files[i].file);
		free(s->files[i].lines);
	}
	free(s->files);
	af_strtab_free(&s->names);
	free(s);
}

const char *af_source_line(struct af_source *s, const char *file, uint32_t line, size_t *len)
{
	const struct source_file *f = source_file(s, file);

	if (!line || line > f->nr)
		return NULL;
	const char *text = (const char *)f->file.data + f->lines[line - 1];
	size_t n = f->lines[line] - f->lines[line - 1];
	while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	*len = n;
	return text;
}

const char *af_source_where(struct af_source *s, const char *file)
{
	return source_file(s, file)->where;
}
