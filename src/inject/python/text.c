#include "inject/python/text.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"
#include "base/pages.h"
#include "inject/python/code.h"
#include "inject/python/layout.h"
#include "inject/python/python.h"
#include "inject/walk/modules.h"

enum {
	TEXT_BYTES = 54 << 20, /* with the table of code objects about 64 MiB of addresses */
	FILE_SLOTS = 1 << 14,
	FILE_PROBES = 16,
};

struct text_arena {
	_Atomic uint64_t used;
	_Atomic uint64_t files[FILE_SLOTS]; /* hash << 32 | offset of the name; 0: free */
	char bytes[TEXT_BYTES];
};

static _Atomic(struct text_arena *) text_arena;

int af_py_text_open(void)
{
	if (atomic_load(&text_arena))
		return 0;

	struct text_arena *a = af_pages(sizeof *a, MAP_NORESERVE);
	if (!a)
		return -errno;
	atomic_init(&a->used, 1); /* offset 0 means none */

	struct text_arena *none = NULL;
	if (!atomic_compare_exchange_strong(&text_arena, &none, a))
		munmap(a, sizeof *a);
	return 0;
}

static char *text_alloc(uint64_t size)
{
	struct text_arena *a = atomic_load(&text_arena);
	uint64_t at = atomic_load(&a->used);

	do {
		if (size > TEXT_BYTES - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&a->used, &at, at + size));
	return a->bytes + at;
}

/* Give back the end of the latest allocation; nothing happens when there is a later one. */
static void text_trim(char *p, uint64_t size, uint64_t keep)
{
	struct text_arena *a = atomic_load(&text_arena);
	uint64_t end = (uint64_t)(p - a->bytes) + size;

	atomic_compare_exchange_strong(&a->used, &end, end - size + keep);
}

bool af_py_type_is(_Atomic uint64_t *known, uint64_t type, const char *name)
{
	char text[16] = "";
	uint64_t tp_name;

	if (type == atomic_load_explicit(known, memory_order_relaxed))
		return type != 0;
	if (af_guarded_read(&tp_name, type + 24, sizeof tp_name) ||
	    af_guarded_read(text, tp_name, strlen(name) + 1) ||
	    memcmp(text, name, strlen(name) + 1) != 0)
		return false;
	atomic_store_explicit(known, type, memory_order_relaxed);
	return true;
}

/* A str of PEP 393, as far as it is needed: @data is where its @len characters begin. */
struct text_str {
	uint64_t data, len;
	unsigned kind; /* bytes a character */
	bool ascii;
};

static bool str_read(const struct af_py_layout *l, uint64_t object, struct text_str *s)
{
	uint64_t head[5]; /* reference count, type, length, hash, state */

	if (af_guarded_read(head, object, sizeof head) ||
	    !af_py_type_is(&af_py_types.str, head[1], "str"))
		return false;

	uint32_t state = (uint32_t)head[4];
	bool compact = state >> 5 & 1;
	s->kind = state >> 2 & 7;
	s->ascii = state >> 6 & 1;
	s->len = head[2];
	s->data = object + (s->ascii ? l->str_ascii : l->str_compact);
	return compact && (s->kind == 1 || s->kind == 2 || s->kind == 4);
}

/* UTF-8 of one character; a lone surrogate, which has none, becomes the replacement character. */
static unsigned utf8_put(uint32_t c, char *out)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	unsigned n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (unsigned i = n - 1; i; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
	return n;
}

/* Returns the number of bytes, at most @max, or -EFAULT. */
static int64_t str_utf8(const struct text_str *s, char *out, uint64_t max)
{
	uint64_t n = 0;
	uint8_t chunk[64];

	if (s->ascii) {
		n = s->len < max ? s->len : max;
		return af_guarded_read(out, s->data, n) ? -EFAULT : (int64_t)n;
	}
	for (uint64_t at = 0; at < s->len; at += sizeof chunk / s->kind) {
		uint64_t nr = s->len - at;
		if (nr > sizeof chunk / s->kind)
			nr = sizeof chunk / s->kind;
		if (af_guarded_read(chunk, s->data + at * s->kind, nr * s->kind))
			return -EFAULT;
		for (uint64_t i = 0; i < nr; i++) {
			uint32_t c = 0;
			char utf8[4];
			memcpy(&c, chunk + i * s->kind, s->kind);
			unsigned len = utf8_put(c, utf8);
			if (len > max - n)
				return (int64_t)n;
			memcpy(out + n, utf8, len);
			n += len;
		}
	}
	return (int64_t)n;
}

/* *@len excludes the NUL; 0 and a static text when the object cannot be read. */
static const char *text_copy(const struct af_py_layout *l, uint64_t object, uint64_t max,
                             uint64_t *len)
{
	struct text_str s;

	*len = 0;
	if (!str_read(l, object, &s))
		return "?";

	uint64_t room = max;
	if (s.len < max / 4)
		room = s.len * (s.ascii ? 1 : s.kind == 1 ? 2 : s.kind == 2 ? 3 : 4) + 1;
	char *p = text_alloc(room);
	if (!p)
		return NULL;

	int64_t n = str_utf8(&s, p, room - 1);
	if (n < 0) {
		text_trim(p, room, 0);
		return "?";
	}
	p[n] = '\0';
	*len = (uint64_t)n;
	text_trim(p, room, *len + 1);
	return p;
}

const char *af_py_text_name(const struct af_py_layout *l, uint64_t object)
{
	uint64_t len;

	return text_copy(l, object, AF_PY_NAME_MAX, &len);
}

/* The one copy of the file name at @p, @len bytes long: an earlier one, or this. */
static const char *file_intern(const char *p, uint64_t len)
{
	struct text_arena *a = atomic_load(&text_arena);
	uint64_t hash = af_hash(p, len);
	uint64_t mine = hash >> 32 << 32 | (uint64_t)(p - a->bytes);

	for (uint32_t i = 0; i < FILE_PROBES; i++) {
		_Atomic uint64_t *slot = &a->files[((uint32_t)hash + i) & (FILE_SLOTS - 1)];
		uint64_t is = atomic_load_explicit(slot, memory_order_acquire);
		if (!is && atomic_compare_exchange_strong(slot, &is, mine))
			return p;
		const char *other = a->bytes + (uint32_t)is;
		if (is >> 32 == hash >> 32 && strcmp(other, p) == 0)
			return other;
	}
	return p;
}

const char *af_py_text_file(const struct af_py_layout *l, uint64_t object)
{
	uint64_t len;
	const char *p = text_copy(l, object, AF_PY_FILE_MAX, &len);

	if (!p || !len)
		return p;
	const char *kept = file_intern(p, len);
	if (kept != p)
		text_trim((char *)p, len + 1, 0);
	return kept;
}

const uint8_t *af_py_text_lines(uint64_t object, uint32_t *len)
{
	uint64_t head[3]; /* reference count, type, size */

	*len = 0;
	if (af_guarded_read(head, object, sizeof head) ||
	    !af_py_type_is(&af_py_types.bytes, head[1], "bytes") || head[2] > AF_PY_LINES_MAX)
		return NULL;

	char *p = text_alloc(head[2]);
	if (!p)
		return NULL;
	if (af_guarded_read(p, object + 32, head[2])) {
		text_trim(p, head[2], 0);
		return NULL;
	}
	*len = (uint32_t)head[2];
	return (uint8_t *)p;
}
