/* The image in this process: its addresses, its file, its segments, its constructors. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/pages.h"
#include "link/link_private.h"

enum { MAP_STEP = 32 << 20, MAP_STEPS = 32, MAP_REACH = LINK_SPAN_MAX };

/* Addresses of 31 bits, above those of programs that are no PIE. */
#define MAP_LOW 0x40000000
#define MAP_LOW_END UINT64_C(0x80000000)

#ifndef MAP_32BIT /* x86-64 alone has it, and code that needs it */
#define MAP_32BIT 0
#endif

static uint8_t *map_try(uint64_t hint, uint64_t size, int flags)
{
	void *p = mmap((void *)hint, size, PROT_NONE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Is all of it close enough to the library that code refers to by 32 bits? */
static bool map_is_near(const struct af_link *l, uint64_t at, uint64_t size)
{
	uint64_t near = l->host.near;

	return !near || (at < near ? near - at : at + size - near) < MAP_REACH;
}

/* Addresses for the image; NULL when there are none. */
static uint8_t *map_reserve(const struct af_link *l, uint64_t size)
{
	uint8_t *p = l->is_low ? map_try(MAP_LOW, size, MAP_32BIT) : map_try(0, size, 0);

	if (l->is_low) {
		if (!p || (uint64_t)p + size < MAP_LOW_END)
			return p;
		munmap(p, size);
		return NULL;
	}
	for (uint64_t i = 1; p && i < MAP_STEPS && !map_is_near(l, (uint64_t)p, size); i++) {
		munmap(p, size);
		p = map_try((l->host.near - size - i * MAP_STEP) & ~UINT64_C(0xffff), size, 0);
	}
	return p;
}

static int map_file(struct af_link *l, int fd, uint64_t base, struct af_err *err)
{
	if (ftruncate(fd, (off_t)l->file_size))
		return af_fail(err, -errno, "the image of %llu bytes",
		               (unsigned long long)l->file_size);
	uint8_t *out = mmap(NULL, l->file_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (out == MAP_FAILED)
		return af_fail(err, -errno, "the image cannot be mapped");
	int rc = af_link_write(l, base, out, err);
	munmap(out, l->file_size);
	return rc;
}

static int map_segment(const struct af_link *l, int fd, enum link_place place, int protection)
{
	uint64_t size = l->place_end[place] - l->place_start[place];
	void *to = (void *)(l->base + l->place_start[place]);

	if (!size)
		return 0;
	void *p =
	    mmap(to, size, protection, MAP_PRIVATE | MAP_FIXED, fd, (off_t)l->place_offset[place]);
	return p == MAP_FAILED ? -errno : 0;
}

/* Zeroes behind the data, to its page's end and on the pages behind. */
static int map_zeroes(const struct af_link *l)
{
	uint64_t from = l->base + l->place_end[LINK_DATA], page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t next = link_align(from, page), end = l->base + l->span;

	if (l->place_end[LINK_DATA] > l->place_start[LINK_DATA])
		memset((void *)from, 0, next - from);
	else
		next = l->base + l->place_start[LINK_DATA];
	if (end <= next)
		return 0;
	void *p = mmap((void *)next, end - next, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return p == MAP_FAILED ? -errno : 0;
}

static int map_segments(struct af_link *l, int fd)
{
	int rc = map_segment(l, fd, LINK_CONST, PROT_READ);

	if (!rc)
		rc = map_segment(l, fd, LINK_TEXT, PROT_READ | PROT_EXEC);
	if (!rc)
		rc = map_segment(l, fd, LINK_DATA, PROT_READ | PROT_WRITE);
	if (!rc)
		rc = map_zeroes(l);
	__builtin___clear_cache((char *)l->base + l->place_start[LINK_TEXT],
	                        (char *)l->base + l->place_end[LINK_TEXT]);
	return rc;
}

int af_link_map(struct af_link *l, int fd, struct af_err *err)
{
	if (!l->is_laid_out)
		return af_fail_plain(err, -EINVAL, "nothing is laid out");
	uint64_t size = l->span + l->align;
	uint8_t *at = map_reserve(l, size);
	if (!at)
		return af_fail(err, -ENOMEM, "no addresses for the program's %llu bytes",
		               (unsigned long long)l->span);
	uint64_t base = link_align((uint64_t)at, l->align), end = (uint64_t)at + size;
	int rc = map_file(l, fd, base, err);
	if (!rc && (rc = map_segments(l, fd)))
		af_fail(err, rc, "the image cannot be mapped");
	if (rc) {
		munmap(at, size);
		return rc;
	}
	if (base > (uint64_t)at)
		munmap(at, base - (uint64_t)at);
	if (end > base + l->span)
		munmap((void *)(base + l->span), end - base - l->span);
	l->is_mapped = true;
	return 0;
}

static const struct link_out *map_section(const struct af_link *l, const char *name)
{
	const uint64_t *at = af_keys_get(&l->out_names, AF_KEY_TEXT(name));
	const struct link_out *o = at ? &l->outs[*at - 1] : NULL;

	return l->is_mapped && o && o->size && o->place <= LINK_DATA ? o : NULL;
}

void af_link_fill_thread(const struct af_link *l, uint8_t *block)
{
	const struct link_out *o = map_section(l, ".tdata");

	memset(block, 0, l->host.threads.size);
	if (o)
		memcpy(block + l->thread_at, (const void *)(l->base + o->address), o->size);
}

static void call_all(const struct af_link *l, const char *name, int argc, char **argv, char **envp)
{
	const struct link_out *o = map_section(l, name);
	void (**all)(int, char **, char **) = o ? (void *)(l->base + o->address) : NULL;

	for (uint64_t i = 0; o && i < o->size / sizeof *all; i++)
		if (all[i])
			all[i](argc, argv, envp);
}

void af_link_construct(const struct af_link *l, int argc, char **argv, char **envp)
{
	call_all(l, ".preinit_array", argc, argv, envp);
	call_all(l, ".init_array", argc, argv, envp);
}

void af_link_destruct(const struct af_link *l)
{
	const struct link_out *o = map_section(l, ".fini_array");
	void (**all)(void) = o ? (void *)(l->base + o->address) : NULL;

	for (uint64_t i = o ? o->size / sizeof *all : 0; i-- > 0;)
		if (all[i])
			all[i]();
}
