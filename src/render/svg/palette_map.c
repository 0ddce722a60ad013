#include "render/svg/palette_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "render/text/label.h"

enum { MAP_UNKNOWN = 1 << 24 }; /* beyond all colours */

/* The id of @m->key, with room in the arrays that go by id. */
static uint32_t map_id(struct af_palette_map *m)
{
	uint32_t id = af_strtab_id(&m->names, m->key.len ? m->key.data : "", m->key.len);

	uint32_t cap = m->cap, old = cap;

	AF_GROW(m->added, id, cap);
	AF_GROW(m->colors, id, m->cap);
	for (; old < cap; old++)
		m->colors[old] = MAP_UNKNOWN;
	return id;
}

static void map_set_key(struct af_palette_map *m, const char *text, size_t len, enum af_frame frame)
{
	m->key.len = 0;
	af_label_key(&m->key, text, len, frame);
}

/* 0xrrggbb of "rgb(1,2,3)" or "#010203", or MAP_UNKNOWN. */
static uint32_t map_color(const char *s, size_t len)
{
	unsigned r, g, b;
	char text[32], rest;

	while (len && s[len - 1] == ' ')
		len--;
	if (len >= sizeof text)
		return MAP_UNKNOWN;
	memcpy(text, s, len);
	text[len] = 0;
	if (len == 7 && text[0] == '#' && strspn(text + 1, "0123456789abcdefABCDEF") == 6)
		return (uint32_t)strtoul(text + 1, NULL, 16);
	if (strchr(text, '-') || strchr(text, '+') || len < 10 || text[len - 1] != ')' ||
	    sscanf(text, "rgb( %3u , %3u , %3u )%c", &r, &g, &b, &rest) != 3)
		return MAP_UNKNOWN;
	return r > 255 || g > 255 || b > 255 ? MAP_UNKNOWN : r << 16 | g << 8 | b;
}

static bool map_line(struct af_palette_map *m, const char *line, size_t len)
{
	size_t arrow = len;

	/* The last arrow: a name may have one, a colour has none. */
	while (arrow && (arrow + 2 > len || memcmp(line + arrow, "->", 2)))
		arrow--;
	if (len < 2 || memcmp(line + arrow, "->", 2))
		return false;
	uint32_t rgb = map_color(line + arrow + 2, len - arrow - 2);
	if (rgb == MAP_UNKNOWN)
		return false;
	map_set_key(m, line, arrow, AF_FRAME_NATIVE);
	uint32_t id = map_id(m);
	m->colors[id] = rgb;
	return true;
}

static int map_read(struct af_palette_map *m, const struct af_file *file, struct af_err *err)
{
	const char *at = (const char *)file->data;
	const char *end = at ? at + file->size : at; /* an empty file is not mapped */

	for (uint64_t nr = 1; at < end; nr++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *next = newline ? newline + 1 : end;
		size_t len = (size_t)((newline ? newline : end) - at);

		if (len && at[len - 1] == '\r')
			len--;
		if (len && !map_line(m, at, len)) {
			struct af_buf shown = {0};
			af_buf_terminal(&shown, at, len < 80 ? len : 80, "");
			int rc = af_fail_plain(err, -EINVAL, "%s:%llu: not NAME->rgb(R,G,B): %s",
			                       m->path, (unsigned long long)nr, shown.data);
			af_buf_free(&shown);
			return rc;
		}
		at = next;
	}
	return 0;
}

int af_palette_map_open(struct af_palette_map *m, const char *path, struct af_err *err)
{
	struct af_err cause = {0};
	struct af_file file;

	*m = (struct af_palette_map){.path = path};
	int rc = af_file_map(&file, path, &cause);
	if (rc == -ENOENT)
		return 0;
	if (!rc)
		rc = map_read(m, &file, &cause);
	af_file_unmap(&file);
	return rc ? af_fail_plain(err, rc, "%s", cause.msg) : 0;
}

uint32_t af_palette_map_keep(struct af_palette_map *m, const char *text, size_t len,
                             enum af_frame frame, uint32_t rgb)
{
	map_set_key(m, text, len, frame);
	uint32_t id = map_id(m);
	if (m->colors[id] == MAP_UNKNOWN) {
		m->colors[id] = rgb;
		m->added[m->nr_added++] = id;
	}
	return m->colors[id];
}

/* The file, made when there is none; not where a link leads to nothing. A descriptor or -errno. */
static int map_open_file(const char *path)
{
	int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

	for (int tries = 0; tries < 2; tries++) {
		int fd = open(path, flags);
		if (fd < 0 && errno == ENOENT)
			fd = open(path, flags | O_CREAT | O_EXCL, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
		/* Somebody made it in between: open that. */
	}
	return -ENOENT;
}

/* The lines that the file lacks; @now is the file as it is under the lock. */
static void map_lines(const struct af_palette_map *m, struct af_palette_map *now,
                      const struct af_file *file, struct af_buf *lines)
{
	if (file->size && file->data[file->size - 1] != '\n')
		af_buf_char(lines, '\n');
	for (uint32_t i = 0; i < m->nr_added; i++) {
		const char *name = af_strtab_get(&m->names, m->added[i]);
		uint32_t rgb = m->colors[m->added[i]];

		map_set_key(now, name, strlen(name), AF_FRAME_NATIVE);
		uint32_t id = map_id(now); /* may move colors */
		if (now->colors[id] == MAP_UNKNOWN)
			af_buf_fmt(lines, "%s->rgb(%u,%u,%u)\n", name, rgb >> 16, rgb >> 8 & 255,
			           rgb & 255);
	}
}

static int map_append(struct af_palette_map *m, int fd, struct af_err *err)
{
	struct af_palette_map now = {.path = m->path};
	struct af_buf lines = {0};
	struct af_file file;
	int rc;

	if (flock(fd, LOCK_EX))
		return -errno;
	rc = af_file_map_fd(&file, fd);
	if (!rc)
		rc = map_read(&now, &file, err);
	if (!rc) {
		map_lines(m, &now, &file, &lines);
		size_t size = file.size;
		rc = af_file_size_allowed(size + lines.len) ? af_buf_flush(&lines, fd) : -EFBIG;
		if (rc && ftruncate(fd, (off_t)size))
			rc = -errno;
	}
	af_file_unmap(&file);
	af_buf_free(&lines);
	af_palette_map_close(&now);
	return rc;
}

int af_palette_map_save(struct af_palette_map *m, struct af_err *err)
{
	struct af_err cause = {0};

	if (!m->nr_added)
		return 0;
	scope_close int fd = map_open_file(m->path);
	int rc = fd < 0 ? fd : map_append(m, fd, &cause);
	if (rc && cause.code)
		return af_fail_plain(err, rc, "no colours were added: %s", cause.msg);
	return rc ? af_fail(err, rc, "no colours were added to %s", m->path) : 0;
}

void af_palette_map_close(struct af_palette_map *m)
{
	af_strtab_free(&m->names);
	af_buf_free(&m->key);
	free(m->colors);
	free(m->added);
	*m = (struct af_palette_map){0};
}
