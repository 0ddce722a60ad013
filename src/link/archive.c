/*
 * Archives of objects (ar(5), System V and GNU): a member is linked when it defines a symbol that
 * is missing, by the archive's index, which lists names in the order of their members.
 */
#include <ar.h>
#include <errno.h>
#include <string.h>

#include "link/link_private.h"

enum { THIN_SIZE = SARMAG, NUMBER_MAX = 10 };

struct archive_member {
	const char *name; /* not NUL-terminated */
	size_t name_len;
	const uint8_t *bytes;
	uint64_t size;
};

bool link_is_archive(const uint8_t *bytes, size_t size)
{
	return size >= SARMAG &&
	       (!memcmp(bytes, ARMAG, SARMAG) || !memcmp(bytes, "!<thin>\n", THIN_SIZE));
}

/* A decimal number that is padded with blanks; false when it is not one. */
static bool archive_number(const char *text, size_t size, uint64_t *v)
{
	size_t i = 0;

	for (*v = 0; i < size && text[i] >= '0' && text[i] <= '9'; i++)
		*v = *v * 10 + (uint64_t)(text[i] - '0');
	return i > 0 && i <= NUMBER_MAX && (i == size || text[i] == ' ' || text[i] == '/');
}

/* The member whose header is at @at; false where there is none that is whole. */
static bool archive_member_at(const struct link_archive *a, uint64_t at, struct archive_member *m)
{
	struct ar_hdr h;

	if (!link_inside(at, sizeof h, a->size))
		return false;
	memcpy(&h, a->bytes + at, sizeof h);
	if (memcmp(h.ar_fmag, ARFMAG, sizeof h.ar_fmag) ||
	    !archive_number(h.ar_size, sizeof h.ar_size, &m->size) ||
	    !link_inside(at + sizeof h, m->size, a->size))
		return false;
	m->name = (const char *)a->bytes + at;
	m->name_len = 0;
	while (m->name_len < sizeof h.ar_name && m->name[m->name_len] != ' ')
		m->name_len++;
	m->bytes = a->bytes + at + sizeof h;
	return true;
}

static bool archive_is(const struct archive_member *m, const char *name)
{
	return m->name_len == strlen(name) && !memcmp(m->name, name, m->name_len);
}

/* The member's own name: "/123" is in the member "//", and all end in '/'. */
static void archive_name(const struct link_archive *a, struct archive_member *m)
{
	struct archive_member names;
	uint64_t at = SARMAG, in;

	if (m->name_len > 1 && m->name[0] == '/' &&
	    archive_number(m->name + 1, m->name_len - 1, &in)) {
		while (archive_member_at(a, at, &names) && !archive_is(&names, "//"))
			at = (uint64_t)(names.bytes - a->bytes) + ((names.size + 1) & ~UINT64_C(1));
		if (!archive_member_at(a, at, &names) || in >= names.size)
			return;
		const uint8_t *end = memchr(names.bytes + in, '\n', names.size - in);
		m->name = (const char *)names.bytes + in;
		m->name_len = end ? (size_t)(end - names.bytes - in) : names.size - in;
	}
	if (m->name_len && m->name[m->name_len - 1] == '/')
		m->name_len--;
}

/* A big-endian number of @width bytes. */
static uint64_t archive_big(const uint8_t *at, unsigned width)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < width; i++)
		v = v << 8 | at[i];
	return v;
}

static unsigned archive_index_width(const struct archive_member *m)
{
	return archive_is(m, "/") ? 4 : archive_is(m, "/SYM64/") ? 8 : 0;
}

int link_archive_add(struct af_link *l, const char *name, const uint8_t *bytes, size_t size,
                     struct af_err *err)
{
	struct link_archive a = {.bytes = bytes, .size = size};
	struct archive_member m;

	if (!memcmp(bytes, "!<thin>\n", THIN_SIZE))
		return af_fail_plain(
		    err, -ENOTSUP,
		    "%s: a thin archive, which has no objects in it: make it without T", name);
	if (size == SARMAG)
		return 0;
	if (!archive_member_at(&a, SARMAG, &m) || !archive_index_width(&m))
		return af_fail_plain(err, -ENOEXEC, "%s: archive without an index: run ranlib %s",
		                     name, name);
	a.name = af_arena_strdup(&l->arena, name, strlen(name));
	AF_GROW(l->archives, l->nr_archives, l->cap_archives);
	l->archives[l->nr_archives++] = a;
	return 0;
}

static int archive_link(struct af_link *l, struct link_archive *a, uint64_t at, struct af_err *err)
{
	struct af_buf name = {0};
	struct archive_member m;
	bool fresh;

	af_map_at(&a->loaded, at, &fresh);
	if (!fresh)
		return 0;
	if (!archive_member_at(a, at, &m))
		return af_fail_plain(err, -ENOEXEC, "%s: its index is damaged", a->name);
	archive_name(a, &m);
	af_buf_fmt(&name, "%s(%.*s)", a->name, (int)(m.name_len < 256 ? m.name_len : 256), m.name);
	/*
	 * Members lie at even offsets, headers of ELF files want eight: they are copied by fields.
	 */
	int rc = link_object_add(l, name.data, m.bytes, m.size, err);
	af_buf_free(&name);
	return rc;
}

/* Is @name missing, so that a member may define it? */
static bool archive_wants(const struct af_link *l, const char *name)
{
	const uint64_t *at = af_keys_get(&l->names, AF_KEY_TEXT(name));
	const struct link_global *g = at ? &l->globals[*at - 1] : NULL;

	return g && g->state == LINK_UNDEFINED && g->is_wanted;
}

/* One pass over the index of an archive. */
static int archive_load(struct af_link *l, struct link_archive *a, struct af_err *err)
{
	struct archive_member m;
	int rc = 0;

	unsigned width = archive_member_at(a, SARMAG, &m) ? archive_index_width(&m) : 0;
	if (!width)
		return af_fail_plain(err, -ENOEXEC, "%s: its index is damaged", a->name);
	uint64_t nr = m.size < width ? 0 : archive_big(m.bytes, width);
	if (nr > (m.size < width ? 0 : (m.size - width) / width))
		return af_fail_plain(err, -ENOEXEC, "%s: its index is damaged", a->name);
	const char *name = (const char *)m.bytes + width * (nr + 1);
	const char *end = (const char *)m.bytes + m.size;
	for (uint64_t i = 0; i < nr && !rc; i++) {
		const char *nul = memchr(name, 0, (size_t)(end - name));
		if (!nul)
			return af_fail_plain(err, -ENOEXEC, "%s: its index is damaged", a->name);
		if (archive_wants(l, name))
			rc = archive_link(l, a, archive_big(m.bytes + width * (i + 1), width), err);
		name = nul + 1;
	}
	return rc;
}

int link_archives_load(struct af_link *l, struct af_err *err)
{
	uint32_t had;

	do {
		had = l->nr_objects;
		for (uint32_t i = 0; i < l->nr_archives; i++) {
			int rc = archive_load(l, &l->archives[i], err);
			if (rc)
				return rc;
		}
	} while (l->nr_objects > had);
	return 0;
}
