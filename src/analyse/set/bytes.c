/* The list of members as bytes. Nothing that is read is believed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/set/set.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"

enum { TEXTS = 9 };

static void write_text(struct af_buf *to, const char *text)
{
	af_buf_add(to, text ? text : "", (text ? strlen(text) : 0) + 1);
}

static const char *read_text(struct af_cursor *from, struct af_arena *arena)
{
	const char *text = af_cursor_string(from);

	return text && *text ? af_arena_strdup(arena, text, strlen(text)) : "";
}

void af_member_write(const struct af_member *m, struct af_buf *to)
{
	const char *const texts[TEXTS] = {m->path,    m->name,    m->label, m->host,     m->job_key,
	                                  m->version, m->boot_id, m->why,   m->selection};

	for (unsigned i = 0; i < TEXTS; i++)
		write_text(to, texts[i]);
	af_buf_leb128(to, m->rank);
	af_buf_leb128(to, m->pid);
	af_buf_leb128(to, (uint32_t)m->status);
	af_buf_leb128(to, m->cpu_ns);
	af_buf_leb128(to, m->job_ranks);
	af_buf_char(to, (char)m->state);
	af_buf_char(to,
	            (char)(m->has_rank | m->has_status << 1 | m->has_cpu << 2 | m->staged << 3));
	af_buf_leb128(to, m->nr_groups);
	for (uint32_t i = 0; i < m->nr_groups; i++) {
		write_text(to, m->groups[i].key);
		write_text(to, m->groups[i].value);
	}
}

static void read_groups(struct af_cursor *from, struct af_arena *arena, struct af_member *m)
{
	uint64_t nr = af_cursor_uleb(from);

	/* A group has two bytes at least. */
	from->bad |= nr > (uint64_t)(from->end - from->at) / 2;
	if (from->bad || !nr)
		return;
	struct af_member_group *groups = af_arena_alloc(arena, nr * sizeof *groups);
	for (uint64_t i = 0; i < nr; i++) {
		const char *key = read_text(from, arena), *value = read_text(from, arena);
		groups[i] = (struct af_member_group){key, value};
	}
	m->groups = groups;
	m->nr_groups = (uint32_t)nr;
}

void af_member_read(struct af_cursor *from, struct af_arena *arena, struct af_member *m)
{
	const char **const texts[TEXTS] = {&m->path,    &m->name,    &m->label,
	                                   &m->host,    &m->job_key, &m->version,
	                                   &m->boot_id, &m->why,     &m->selection};

	for (unsigned i = 0; i < TEXTS; i++)
		*texts[i] = read_text(from, arena);
	m->rank = af_cursor_uleb(from);
	m->pid = af_cursor_uleb(from);
	m->status = (int)(uint32_t)af_cursor_uleb(from);
	m->cpu_ns = af_cursor_uleb(from);
	m->job_ranks = af_cursor_uleb(from);
	uint64_t state = af_cursor_uint(from, 1);
	from->bad |= state > AF_MEMBER_UNREADABLE;
	m->state = from->bad ? AF_MEMBER_UNREADABLE : (enum af_member_state)state;
	unsigned has = (unsigned)af_cursor_uint(from, 1);
	m->has_rank = has & 1;
	m->has_status = has & 2;
	m->has_cpu = has & 4;
	m->staged = has & 8;
	read_groups(from, arena, m);
}

void af_set_write(const struct af_set *s, struct af_buf *to)
{
	write_text(to, s->path);
	af_buf_char(to, (char)s->single);
	af_buf_leb128(to, s->nr);
	for (uint32_t i = 0; i < s->nr; i++)
		af_member_write(&s->members[i], to);
}

int af_set_read_bytes(struct af_set *s, const void *data, size_t size, struct af_err *err)
{
	struct af_cursor c = {data, (const uint8_t *)data + size, false};

	*s = (struct af_set){0};
	s->path = read_text(&c, &s->arena);
	s->single = af_cursor_uint(&c, 1) != 0;
	uint64_t nr = af_cursor_uleb(&c);
	for (uint64_t i = 0; i < nr && !c.bad; i++) {
		struct af_member m = {0};
		af_member_read(&c, &s->arena, &m);
		AF_GROW(s->members, s->nr, s->cap);
		s->members[s->nr++] = m;
	}
	return c.bad ? af_fail_plain(err, -EBADMSG, "the list of members is damaged") : 0;
}
