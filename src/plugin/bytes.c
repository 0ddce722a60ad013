/* Results as bytes. Nothing that is read is believed: the plug-in may have written anything. */
#include <errno.h>
#include <string.h>

#include "analyse/table/bytes.h"
#include "analyse/tree/bytes.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "plugin/results.h"

/* The marks at both ends of the bytes. */
static const char begin_results[] = "aflame pass results 1\n";
static const char begin_failure[] = "aflame pass failure 1\n";
static const char end_mark[] = "\nend of results\n";

static void write_text(struct af_buf *to, const char *text)
{
	af_buf_add(to, text, strlen(text) + 1);
}

static void write_trees(const struct af_plugin_results *r, struct af_buf *to)
{
	af_buf_leb128(to, r->nr_trees);
	for (uint32_t i = 0; i < r->nr_trees; i++) {
		const struct af_plugin_tree *t = &r->trees[i];
		write_text(to, t->name);
		write_text(to, t->title);
		af_buf_leb128(to, t->tree.nr_weights);
		for (uint32_t w = 0; w < t->tree.nr_weights; w++) {
			write_text(to, t->weights[w].name);
			write_text(to, t->weights[w].unit);
		}
		af_tree_write(&t->tree, to);
	}
}

static void write_slices(const struct af_plugin_results *r, struct af_buf *to)
{
	af_buf_leb128(to, r->names.nr);
	for (uint32_t i = 1; i < r->names.nr; i++)
		write_text(to, af_strtab_get(&r->names, i));
	af_buf_leb128(to, r->nr_tracks);
	for (uint32_t i = 0; i < r->nr_tracks; i++) {
		af_buf_char(to, (char)r->tracks[i].counter);
		af_buf_leb128(to, r->tracks[i].group);
		af_buf_leb128(to, r->tracks[i].name);
		af_buf_leb128(to, r->tracks[i].unit);
	}
	af_buf_leb128(to, r->nr_slices);
	for (uint64_t i = 0; i < r->nr_slices; i++) {
		const struct af_plugin_slice *s = &r->slices[i];
		af_buf_leb128(to, s->track);
		af_buf_leb128(to, s->name);
		af_buf_leb128(to, s->start_ns);
		af_buf_leb128(to, s->end_ns - s->start_ns);
	}
	af_buf_leb128(to, r->nr_points);
	for (uint64_t i = 0; i < r->nr_points; i++) {
		af_buf_leb128(to, r->points[i].track);
		af_buf_leb128(to, r->points[i].time_ns);
		af_buf_leb128(to, r->points[i].value);
	}
}

void af_plugin_results_write(const struct af_plugin_results *r, struct af_buf *to)
{
	af_buf_str(to, begin_results);
	write_text(to, r->name ? r->name : "");
	write_text(to, r->damage ? r->damage : "");
	af_buf_leb128(to, r->start_ns);
	af_tables_write(&r->tables, to);
	write_trees(r, to);
	write_slices(r, to);
	af_buf_str(to, end_mark);
}

void af_plugin_failure_write(const char *why, struct af_buf *to)
{
	af_buf_str(to, begin_failure);
	write_text(to, why);
	af_buf_str(to, end_mark);
}

static const char *read_text(struct af_plugin_results *r, struct af_cursor *from)
{
	const char *text = af_cursor_string(from);

	return text ? af_arena_strdup(&r->arena, text, strlen(text)) : "";
}

static void read_tree(struct af_plugin_results *r, struct af_cursor *from)
{
	struct af_tree_weight weights[AF_TREE_WEIGHTS];
	const char *name = read_text(r, from), *title = read_text(r, from);
	uint64_t nr = af_cursor_uleb(from);

	from->bad |= !nr || nr > AF_TREE_WEIGHTS;
	for (uint64_t w = 0; w < nr && !from->bad; w++) {
		const char *weight = read_text(r, from), *unit = read_text(r, from);
		weights[w] = (struct af_tree_weight){weight, unit, 0};
	}
	if (from->bad)
		return;
	struct af_plugin_tree *t = af_plugin_tree_add(r, name, title, weights, (uint32_t)nr);
	if (!af_tree_read(&t->tree, from, NULL))
		af_tree_finish(&t->tree);
}

static void read_names(struct af_plugin_results *r, struct af_cursor *from)
{
	uint64_t nr = af_cursor_uleb(from);

	for (uint64_t i = 1; i < nr && !from->bad; i++) {
		const char *name = af_cursor_string(from);
		/* Each is there once, so that numbers are those of the writer. */
		from->bad |= !name || af_strtab_id_z(&r->names, name) != i;
	}
}

static uint32_t read_name(const struct af_plugin_results *r, struct af_cursor *from)
{
	uint64_t name = af_cursor_uleb(from);

	from->bad |= name && name >= r->names.nr;
	return from->bad ? 0 : (uint32_t)name;
}

static uint32_t read_track(const struct af_plugin_results *r, struct af_cursor *from, bool counter)
{
	uint64_t track = af_cursor_uleb(from);

	from->bad |= !track || track > r->nr_tracks || r->tracks[track - 1].counter != counter;
	return from->bad ? 0 : (uint32_t)track;
}

static void read_tracks(struct af_plugin_results *r, struct af_cursor *from)
{
	uint64_t nr = af_cursor_uleb(from);

	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		AF_GROW(r->tracks, r->nr_tracks, r->cap_tracks);
		struct af_plugin_track *t = &r->tracks[r->nr_tracks++];
		t->counter = af_cursor_uint(from, 1) != 0;
		t->group = read_name(r, from);
		t->name = read_name(r, from);
		t->unit = read_name(r, from);
	}
}

static void read_slices(struct af_plugin_results *r, struct af_cursor *from)
{
	uint64_t nr = af_cursor_uleb(from);

	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		struct af_plugin_slice s = {.track = read_track(r, from, false),
		                            .name = read_name(r, from)};
		s.start_ns = af_cursor_uleb(from);
		uint64_t ns = af_cursor_uleb(from);
		from->bad |= __builtin_add_overflow(s.start_ns, ns, &s.end_ns);
		if (from->bad)
			return;
		AF_GROW(r->slices, r->nr_slices, r->cap_slices);
		r->slices[r->nr_slices++] = s;
	}
}

static void read_points(struct af_plugin_results *r, struct af_cursor *from)
{
	uint64_t nr = af_cursor_uleb(from);

	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		struct af_plugin_point p = {.track = read_track(r, from, true)};
		p.time_ns = af_cursor_uleb(from);
		p.value = af_cursor_uleb(from);
		if (from->bad)
			return;
		AF_GROW(r->points, r->nr_points, r->cap_points);
		r->points[r->nr_points++] = p;
	}
}

/* Is @text, without its NUL, next? Then it is read. */
static bool read_mark(struct af_cursor *from, const char *text)
{
	size_t len = strlen(text);
	bool is = (size_t)(from->end - from->at) >= len && !memcmp(from->at, text, len);

	if (is)
		from->at += len;
	return is;
}

static int read_failure(struct af_cursor *from, struct af_err *err)
{
	const char *why = af_cursor_string(from);

	if (!why || !read_mark(from, end_mark) || from->at != from->end)
		return -EBADMSG;
	char line[400];
	size_t len = strnlen(why, sizeof line - 1);
	memcpy(line, why, len);
	line[len] = 0;
	af_terminal_text(line);
	return af_fail_plain(err, -ECANCELED, "%s", *line ? line : "it failed without a reason");
}

static int read_all(struct af_plugin_results *r, struct af_cursor *from, struct af_err *err)
{
	if (from->at == from->end)
		return -EBADMSG;
	if (read_mark(from, begin_failure))
		return read_failure(from, err);
	if (!read_mark(from, begin_results))
		return -EBADMSG;
	r->name = read_text(r, from);
	r->damage = read_text(r, from);
	r->start_ns = af_cursor_uleb(from);
	af_tables_read(&r->tables, from, NULL);
	uint64_t nr = from->bad ? 0 : af_cursor_uleb(from);
	for (uint64_t i = 0; i < nr && !from->bad; i++)
		read_tree(r, from);
	if (!from->bad)
		read_names(r, from);
	if (!from->bad)
		read_tracks(r, from);
	if (!from->bad)
		read_slices(r, from);
	if (!from->bad)
		read_points(r, from);
	return !from->bad && read_mark(from, end_mark) && from->at == from->end ? 0 : -EBADMSG;
}

int af_plugin_results_read(struct af_plugin_results *r, struct af_cursor *from, struct af_err *err)
{
	int rc = read_all(r, from, err);

	if (rc == -EBADMSG)
		return af_fail_plain(err, rc,
		                     "its results are damaged: something else wrote to "
		                     "their pipe, or they ended early");
	return rc;
}
