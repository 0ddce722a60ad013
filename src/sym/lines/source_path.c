#include "sym/lines/source_path.h"

#include <string.h>

/* Where the last part of the first @len bytes of @path begins. */
static size_t source_last_part(const char *path, size_t len)
{
	const char *slash = len ? memrchr(path, '/', len) : NULL;

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Take ".", ".." and doubled slashes out of @path, in place and without asking the disk. */
static void source_clean(char *path)
{
	size_t root = *path == '/', out = root, len;

	for (const char *part = path + root; *part; part += len + (part[len] == '/')) {
		len = strcspn(part, "/");
		if (!len || (len == 1 && *part == '.'))
			continue;
		if (len == 2 && !memcmp(part, "..", 2)) {
			size_t last = source_last_part(path, out);

			if (out > root && !(out - last == 2 && !memcmp(path + last, "..", 2))) {
				out = last > root ? last - 1 : root;
				continue;
			}
			if (root)
				continue;
		}
		if (out > root)
			path[out++] = '/';
		memmove(path + out, part, len);
		out += len;
	}
	path[out] = 0;
}

void af_source_path(struct af_buf *b, const char *directory, const char *file)
{
	if (*file != '/' && directory && *directory) {
		af_buf_str(b, directory);
		af_buf_char(b, '/');
	}
	af_buf_str(b, file);
	source_clean(b->data);
	b->len = strlen(b->data);
}
