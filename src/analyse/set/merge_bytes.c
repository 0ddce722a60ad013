/* A merge as bytes: all but its tables and sums. Nothing that is read is believed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/set/bytes.h"
#include "analyse/tree/bytes.h"
#include "base/err.h"

void set_write_text(struct af_buf *to, const char *text)
{
	af_buf_char(to, text != NULL);
	if (text)
		af_buf_add(to, text, strlen(text) + 1);
}

const char *set_read_text(struct af_cursor *from, struct af_merge *m)
{
	const char *text = af_cursor_uint(from, 1) ? af_cursor_string(from) : NULL;

	return text ? set_text_of(m, text) : NULL;
}

void set_write_number(struct af_buf *to, const struct af_merge *m, uint32_t text)
{
	set_write_text(to, text ? af_strtab_get(&m->texts, text) : NULL);
}

uint32_t set_read_number(struct af_cursor *from, struct af_merge *m)
{
	const char *text = af_cursor_uint(from, 1) ? af_cursor_string(from) : NULL;

	return text ? af_strtab_id_z(&m->texts, text) : 0;
}

void set_write_u64s(struct af_buf *to, const uint64_t *all, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		af_buf_leb128(to, all[i]);
}

void set_read_u64s(struct af_cursor *from, uint64_t *all, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		all[i] = af_cursor_uleb(from);
}

static void write_named(const struct set_named *named, struct af_buf *to)
{
	af_buf_leb128(to, named->nr);
	for (uint64_t i = 0; i < named->nr && i < SET_NAMED; i++) {
		set_write_text(to, named->first[i].label);
		set_write_text(to, named->first[i].why);
	}
}

static void read_named(struct af_cursor *from, struct af_merge *m, struct set_named *named)
{
	named->nr = af_cursor_uleb(from);
	for (uint64_t i = 0; i < named->nr && i < SET_NAMED; i++) {
		const char *label = set_read_text(from, m), *why = set_read_text(from, m);
		named->first[i] = (struct set_reason){label ? label : "", why ? why : ""};
	}
}

static void write_members(const struct af_merge *m, struct af_buf *to)
{
	af_buf_leb128(to, m->nr_members);
	write_named(&m->missing, to);
	write_named(&m->parts, to);
	af_buf_leb128(to, m->nr_by);
	for (uint32_t i = 0; i < m->nr_by; i++) {
		set_write_number(to, m, m->by_values[i].text);
		af_buf_leb128(to, m->by_values[i].nr);
	}
	set_write_text(to, m->count_unit);
	af_buf_char(to, (char)m->summed);
	for (int v = 0; v < AF_VIEWS; v++)
		af_buf_leb128(to, m->has[v]);
}

static void read_members(struct af_cursor *from, struct af_merge *m)
{
	m->nr_members = af_cursor_uleb(from);
	read_named(from, m, &m->missing);
	read_named(from, m, &m->parts);
	uint64_t nr = af_cursor_uleb(from);
	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		uint32_t text = set_read_number(from, m);
		AF_GROW(m->by_values, m->nr_by, m->cap_by);
		m->by_values[m->nr_by++] = (struct set_by_value){text, af_cursor_uleb(from)};
	}
	const char *unit = set_read_text(from, m);
	from->bad |= !unit || strlen(unit) >= sizeof m->count_unit;
	if (!from->bad)
		memcpy(m->count_unit, unit, strlen(unit) + 1);
	m->summed = af_cursor_uint(from, 1) != 0;
	for (int v = 0; v < AF_VIEWS; v++)
		m->has[v] = (uint32_t)af_cursor_uleb(from);
}

void af_merge_write(const struct af_merge *m, struct af_buf *to)
{
	write_members(m, to);
	for (int v = 0; v < AF_VIEWS; v++)
		af_tree_write(&m->trees[v], to);
	set_tables_write(m, to);
	set_sums_write(m, to);
	af_sampled_write(&m->kernels, to);
}

int af_merge_read(struct af_merge *m, const void *data, size_t size, struct af_err *err)
{
	struct af_cursor c = {data, (const uint8_t *)data + size, false};
	struct af_merge *later = af_merge_open(&m->how);
	int rc = 0;

	read_members(&c, later);
	for (int v = 0; v < AF_VIEWS && !c.bad && !rc; v++)
		rc = af_tree_read(&later->trees[v], &c, err);
	if (!rc && !c.bad)
		set_tables_read(later, &c);
	if (!rc && !c.bad)
		set_sums_read(later, &c);
	if (!rc && !c.bad)
		af_sampled_read(&later->kernels, &c);
	if (!rc && c.bad)
		rc = af_fail_plain(err, -EBADMSG, "the results of another process are damaged");
	if (!rc)
		af_merge_join(m, later);
	af_merge_close(later);
	return rc;
}
