#include "sym/module/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/scope.h"
#include "base/strtab.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "base/write.h"

enum {
	CACHE_FILE_MAX = 64 << 20,
	CACHE_MOST = 256 << 20,
	CACHE_FILES = 1 << 16, /* in the folder, as many as are looked at */
	CACHE_ID_MAX = 64,
	CACHE_TEMPORARY_S = 86400,
};

#define CACHE_NO_OFFSET UINT32_MAX
#define CACHE_MAGIC UINT64_C(0x326d79736c666100) /* "\0aflsym2" */

struct cache_header {
	uint64_t magic, key;
	uint32_t nr, nr_frames, strings_size;
	uint32_t crc; /* of all that follows */
};

struct cache_answer {
	uint64_t vaddr;
	uint32_t source, first, nr;
	uint32_t offset; /* symbol_offset, CACHE_NO_OFFSET: not known */
};

struct cache_frame {
	uint32_t function, file, line; /* offsets of strings, 0 for none */
	uint32_t source, source_line;
};

/* The folder @name in @dirfd, ours alone; -1 when it is not. */
static int cache_folder(int dirfd, const char *name)
{
	struct stat st;

	if (mkdirat(dirfd, name, 0700) && errno != EEXIST)
		return -1;
	scope_close int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return -1;
	return give_fd(fd);
}

static int cache_base(const char *base)
{
	const char *home = getenv("HOME");
	struct af_buf path = {0};
	int fd = -1;

	if (!base)
		base = getenv("XDG_CACHE_HOME");
	if (base && *base == '/')
		af_buf_str(&path, base);
	else if (home && *home == '/')
		af_buf_fmt(&path, "%s/.cache", home);
	if (path.len) {
		/* Its parent is the user's, or it would not be his cache. */
		mkdir(path.data, 0700);
		fd = open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	af_buf_free(&path);
	return fd;
}

void af_cache_open(struct af_cache *c, const char *base)
{
	scope_close int top = cache_base(base);
	struct stat st;

	c->dirfd = -1;
	/* Root with a user's environment leaves nothing in the user's folders. */
	if (top < 0 || fstat(top, &st) || st.st_uid != geteuid())
		return;
	scope_close int ours = cache_folder(top, "aflame");
	if (ours >= 0)
		c->dirfd = cache_folder(ours, "symbols-3");
}

struct cache_file {
	char name[160];
	int64_t used_ns;
	uint64_t size;
};

static int cache_order(const void *a, const void *b)
{
	const struct cache_file *x = a, *y = b;

	return x->used_ns > y->used_ns ? -1 : x->used_ns < y->used_ns;
}

/* A temporary file of a day ago will not be finished. */
static void cache_prune_temporary(int dirfd, const char *name)
{
	struct stat st;

	if (!fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	    st.st_mtim.tv_sec < time(NULL) - CACHE_TEMPORARY_S)
		unlinkat(dirfd, name, 0);
}

/* Keep the newest; what is not a file of ours by its name is left alone. */
static void cache_prune(int dirfd)
{
	struct cache_file *files = NULL;
	uint32_t nr = 0, cap = 0;
	uint64_t total = 0;
	struct dirent *d;
	struct stat st;
	DIR *dir = af_dir_list(dirfd);

	if (!dir)
		return;
	while (nr < CACHE_FILES && (d = readdir(dir))) {
		if (*d->d_name == '.')
			cache_prune_temporary(dirfd, d->d_name);
		if (*d->d_name == '.' || strlen(d->d_name) >= sizeof files->name ||
		    fstatat(dirfd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		AF_GROW(files, nr, cap);
		strcpy(files[nr].name, d->d_name);
		files[nr].used_ns = (int64_t)af_timespec_ns(&st.st_mtim);
		files[nr++].size = (uint64_t)st.st_size;
	}
	closedir(dir);
	AF_SORT(files, nr, cache_order);
	for (uint32_t i = 0; i < nr; i++) {
		total += files[i].size;
		if (total > CACHE_MOST)
			unlinkat(dirfd, files[i].name, 0);
	}
	free(files);
}

void af_cache_close(struct af_cache *c)
{
	if (c->dirfd < 0)
		return;
	cache_prune(c->dirfd);
	close(c->dirfd);
	c->dirfd = -1;
}

static struct cache_answer cache_answer_at(const struct af_cache_names *n, uint32_t i)
{
	struct cache_answer a;

	memcpy(&a, n->answers + (size_t)i * sizeof a, sizeof a);
	return a;
}

static struct cache_frame cache_frame_at(const struct af_cache_names *n, uint32_t i)
{
	struct cache_frame f;

	memcpy(&f, n->frames + (size_t)i * sizeof f, sizeof f);
	return f;
}

/* Everything that af_cache_find() will rely on. */
static bool cache_is_sound(const struct af_cache_names *n)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < n->nr; i++) {
		struct cache_answer a = cache_answer_at(n, i);

		if ((i && a.vaddr <= last) || a.source >= AF_SYMBOL_END || a.nr > AF_SYM_INLINES ||
		    a.first > n->nr_frames || a.nr > n->nr_frames - a.first)
			return false;
		last = a.vaddr;
	}
	for (uint32_t i = 0; i < n->nr_frames; i++) {
		struct cache_frame f = cache_frame_at(n, i);

		if (f.function >= n->strings_size || f.file >= n->strings_size ||
		    f.source >= n->strings_size)
			return false;
	}
	return n->strings_size && !n->strings[n->strings_size - 1];
}

static bool cache_parse(struct af_cache_names *n)
{
	struct cache_header h;
	size_t left = n->file.size;

	if (left < sizeof h || left > CACHE_FILE_MAX)
		return false;
	memcpy(&h, n->file.data, sizeof h);
	left -= sizeof h;
	uint64_t want = (uint64_t)h.nr * sizeof(struct cache_answer) +
	                (uint64_t)h.nr_frames * sizeof(struct cache_frame) + h.strings_size;
	if (h.magic != CACHE_MAGIC || h.key != n->key || want != left ||
	    (uint32_t)crc32_z(0, n->file.data + sizeof h, left) != h.crc)
		return false;
	n->nr = h.nr;
	n->nr_frames = h.nr_frames;
	n->strings_size = h.strings_size;
	n->answers = n->file.data + sizeof h;
	n->frames = n->answers + (size_t)h.nr * sizeof(struct cache_answer);
	n->strings = (const char *)n->frames + (size_t)h.nr_frames * sizeof(struct cache_frame);
	return cache_is_sound(n);
}

void af_cache_load(const struct af_cache *c, struct af_cache_names *n, const uint8_t *build_id,
                   uint32_t len, uint64_t key)
{
	struct stat st;

	*n = (struct af_cache_names){.key = key};
	if (c->dirfd < 0 || len < 4 || len > CACHE_ID_MAX)
		return;
	for (uint32_t i = 0; i < len; i++)
		snprintf(n->name + 2 * i, 3, "%02x", build_id[i]);
	snprintf(n->name + 2 * len, 18, "-%016" PRIx64, key);
	scope_close int fd =
	    openat(c->dirfd, n->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || st.st_uid != geteuid() || af_file_map_fd(&n->file, fd))
		return;
	if (cache_parse(n)) {
		futimens(fd, NULL);
		return;
	}
	af_file_unmap(&n->file);
	n->nr = 0;
}

void af_cache_unload(struct af_cache_names *n)
{
	af_file_unmap(&n->file);
	*n = (struct af_cache_names){0};
}

static const char *cache_string(const struct af_cache_names *n, uint32_t at)
{
	return at ? n->strings + at : NULL;
}

static void cache_answer(const struct af_cache_names *n, uint32_t i, struct af_sym_answer *answer)
{
	struct cache_answer a = cache_answer_at(n, i);

	answer->source = a.source;
	answer->symbol_known = a.offset != CACHE_NO_OFFSET;
	answer->symbol_offset = answer->symbol_known ? a.offset : 0;
	answer->nr = a.nr;
	for (uint32_t k = 0; k < a.nr; k++) {
		struct cache_frame f = cache_frame_at(n, a.first + k);

		answer->frames[k] =
		    (struct af_sym_frame){cache_string(n, f.function), cache_string(n, f.file),
		                          f.line, cache_string(n, f.source), f.source_line};
	}
}

bool af_cache_find(const struct af_cache_names *n, uint64_t vaddr, struct af_sym_answer *answer)
{
	uint32_t low = 0, high = n->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cache_answer_at(n, middle).vaddr < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == n->nr || cache_answer_at(n, low).vaddr != vaddr)
		return false;
	cache_answer(n, low, answer);
	return true;
}

/* A file in the making. */
struct cache_writer {
	struct af_buf answers, frames, strings;
	struct af_strtab known;
	uint32_t *offsets; /* of known strings */
	uint32_t cap, nr, nr_frames;
};

static uint32_t cache_put_string(struct cache_writer *w, const char *text)
{
	if (!text || !*text)
		return 0;
	uint32_t id = af_strtab_id_z(&w->known, text);
	AF_REACH(w->offsets, id, w->cap);
	if (!w->offsets[id]) {
		w->offsets[id] = (uint32_t)w->strings.len;
		af_buf_add(&w->strings, text, strlen(text) + 1);
	}
	return w->offsets[id];
}

static void cache_put(struct cache_writer *w, uint64_t vaddr, const struct af_sym_answer *answer)
{
	bool near = answer->symbol_known && answer->symbol_offset < CACHE_NO_OFFSET;
	struct cache_answer a = {vaddr, answer->source, w->nr_frames, answer->nr,
	                         near ? (uint32_t)answer->symbol_offset : CACHE_NO_OFFSET};

	if (w->answers.len + w->frames.len + w->strings.len > CACHE_FILE_MAX / 2)
		return;
	for (uint32_t i = 0; i < answer->nr; i++) {
		const struct af_sym_frame *frame = &answer->frames[i];
		struct cache_frame f = {cache_put_string(w, frame->function),
		                        cache_put_string(w, frame->file), frame->line,
		                        cache_put_string(w, frame->source), frame->source_line};
		af_buf_add(&w->frames, &f, sizeof f);
	}
	w->nr_frames += answer->nr;
	w->nr++;
	af_buf_add(&w->answers, &a, sizeof a);
}

static int cache_write(int dirfd, const struct af_cache_names *n, const struct cache_writer *w)
{
	struct cache_header h = {
	    CACHE_MAGIC, n->key, w->nr, w->nr_frames, (uint32_t)w->strings.len, 0};
	uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)w->answers.data, w->answers.len);
	char temporary[192];

	crc = (uint32_t)crc32_z(crc, (const Bytef *)w->frames.data, w->frames.len);
	h.crc = (uint32_t)crc32_z(crc, (const Bytef *)w->strings.data, w->strings.len);
	snprintf(temporary, sizeof temporary, ".%s.%d", n->name, (int)getpid());
	if (!af_file_size_allowed(sizeof h + w->answers.len + w->frames.len + w->strings.len))
		return -EFBIG;
	scope_close int fd = af_create_private(dirfd, temporary);
	if (fd < 0)
		return fd;
	int rc = af_write_all(fd, &h, sizeof h);
	if (!rc)
		rc = af_write_all(fd, w->answers.data, w->answers.len);
	if (!rc && w->frames.len)
		rc = af_write_all(fd, w->frames.data, w->frames.len);
	if (!rc)
		rc = af_write_all(fd, w->strings.data, w->strings.len);
	if (!rc && renameat(dirfd, temporary, dirfd, n->name))
		rc = -errno;
	if (rc)
		unlinkat(dirfd, temporary, 0);
	return rc;
}

void af_cache_save(const struct af_cache *c, const struct af_cache_names *n,
                   bool (*next)(void *arg, uint64_t *vaddr, struct af_sym_answer *answer),
                   void *arg)
{
	struct cache_writer w = {0};
	struct af_sym_answer answer;
	uint64_t vaddr;
	uint32_t old = 0;

	if (c->dirfd < 0 || !*n->name)
		return;
	af_buf_char(&w.strings, 0);
	for (bool more = true; more;) {
		more = next(arg, &vaddr, &answer);
		/* Known entries that do not come again go before, in order. */
		for (; old < n->nr; old++) {
			uint64_t known = cache_answer_at(n, old).vaddr;
			struct af_sym_answer again;

			if (more && known >= vaddr) {
				old += known == vaddr;
				break;
			}
			cache_answer(n, old, &again);
			cache_put(&w, known, &again);
		}
		if (more)
			cache_put(&w, vaddr, &answer);
	}
	if (w.nr)
		cache_write(c->dirfd, n, &w);
	af_strtab_free(&w.known);
	free(w.offsets);
	af_buf_free(&w.answers);
	af_buf_free(&w.frames);
	af_buf_free(&w.strings);
}
