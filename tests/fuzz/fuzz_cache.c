/*
 * A cache of names with hostile bytes. With an odd last byte its header is right, checksum and all,
 * so that what is behind it is reached. Checked on the way: strings end inside the file.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/system/fs.h"
#include "sym/module/cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER = 32, ANSWER = 24, FRAME = 12 };

static const uint8_t id[] = {0, 1, 2, 3};
static char folder[64];

static void folder_remove(void)
{
	af_remove_tree(folder);
}

/* As many answers and frames as there is room for, of what the input says. */
static void mend(uint8_t *p, size_t size)
{
	static const uint64_t words[2] = {UINT64_C(0x316d79736c666100), 1};
	uint32_t body = (uint32_t)(size - HEADER), nr = p[16] % 16, frames = p[20] % 16;

	memcpy(p, words, sizeof words);
	nr = nr * ANSWER <= body ? nr : body / ANSWER;
	body -= nr * ANSWER;
	frames = frames * FRAME <= body ? frames : body / FRAME;
	body -= frames * FRAME;
	memcpy(p + 16, &nr, 4);
	memcpy(p + 20, &frames, 4);
	memcpy(p + 24, &body, 4);
	if (body)
		p[size - 1] = 0;
	uint32_t crc = (uint32_t)crc32_z(0, p + HEADER, size - HEADER);
	memcpy(p + 28, &crc, 4);
}

static void check(const struct af_cache_names *n)
{
	for (uint32_t i = 0; i < n->nr; i++) {
		struct af_sym_answer a;
		uint64_t vaddr;

		memcpy(&vaddr, n->answers + (size_t)i * ANSWER, sizeof vaddr);
		if (!af_cache_find(n, vaddr, &a) || a.nr > AF_SYM_INLINES ||
		    a.source >= AF_SYMBOL_END)
			abort();
		for (uint32_t k = 0; k < a.nr; k++)
			if ((a.frames[k].function &&
			     strlen(a.frames[k].function) >= n->strings_size) ||
			    (a.frames[k].file && strlen(a.frames[k].file) >= n->strings_size))
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct af_cache c;
	struct af_cache_names n;

	if (!*folder) {
		strcpy(folder, "/tmp/aflame-fuzz-cache-XXXXXX");
		if (!mkdtemp(folder))
			exit(2);
		atexit(folder_remove);
		af_cache_open(&c, folder);
	}
	uint8_t *copy = malloc(size + 1);
	memcpy(copy, data, size);
	if (size > HEADER && data[size - 1] & 1)
		mend(copy, size);
	int fd = openat(c.dirfd, "00010203", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, copy, size) != (ssize_t)size)
		exit(2);
	close(fd);
	free(copy);
	af_cache_load(&c, &n, id, sizeof id, 1);
	check(&n);
	af_cache_unload(&n);
	return 0;
}
