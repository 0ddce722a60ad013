/*
 * docs/format.md repeats the table of kinds and the values of include/aflame/event.h between two
 * markers. This test compares; UPDATE=1 in the environment writes them anew.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "trace/kinds.h"
#include "trace/packet.h"

#define BEGIN "<!-- from event.h -->\n"
#define END "<!-- end -->\n"

static const char *doc_path(void)
{
	static char path[4096];
	const char *root = getenv("AF_SOURCE_ROOT");

	snprintf(path, sizeof path, "%s/docs/format.md", root ? root : ".");
	return path;
}

/* A '|' would end the cell. */
static void cell(struct af_buf *b, const char *s)
{
	for (; *s; s++) {
		if (*s == '|')
			af_buf_char(b, '\\');
		af_buf_char(b, *s);
	}
}

static void kind_rows(struct af_buf *b, const struct af_kind_info *info)
{
	static const char *const types[] = {"u8",  "u16", "u24", "u32", "u48",
	                                    "u64", "x64", "i32", "i64", "str"};

	af_buf_fmt(b, "| **%u %s** | | %s |\n", info->kind, info->name, info->meaning);
	for (uint32_t i = 0; i < info->nr_fields; i++) {
		const struct af_field_info *f = &info->fields[i];
		af_buf_fmt(b, "| %s | %s%s |", f->name, types[f->type],
		           f->class == AF_FIELD_SEQ ? "[]" : "");
		if (*f->meaning)
			af_buf_char(b, ' ');
		cell(b, f->meaning);
		af_buf_str(b, " |\n");
	}
}

static void enum_row(struct af_buf *b, const struct af_enum_info *e)
{
	af_buf_fmt(b, "| %s%s |", e->name, e->flags ? " (sum)" : "");
	for (uint32_t i = 0; i < e->nr_values; i++) {
		const struct af_value_info *v = &e->values[i];
		af_buf_fmt(b, "%s %u %s", i ? ";" : "", v->value, v->name);
		if (*v->meaning)
			af_buf_fmt(b, ": %s", v->meaning);
	}
	af_buf_str(b, " |\n");
}

/* The enumerations in the order in which the kinds use them. */
static void enum_rows(struct af_buf *b)
{
	const struct af_enum_info *done[64];
	int nr_done = 0;

	for (uint16_t kind = 0; kind < AF_KIND_MAX; kind++) {
		const struct af_kind_info *info = af_kind_info(kind);
		for (uint32_t i = 0; info && i < info->nr_fields; i++) {
			const struct af_enum_info *e = af_field_enum(&info->fields[i]);
			int k = 0;
			while (k < nr_done && done[k] != e)
				k++;
			if (!e || k < nr_done)
				continue;
			done[nr_done++] = e;
			enum_row(b, e);
		}
	}
}

static void tables(struct af_buf *b)
{
	af_buf_str(b, BEGIN "\n| Field | Type | Meaning |\n|---|---|---|\n");
	for (uint16_t kind = 0; kind < AF_KIND_MAX; kind++)
		if (af_kind_info(kind))
			kind_rows(b, af_kind_info(kind));
	af_buf_str(b, "\n| Enumeration | Values |\n|---|---|\n");
	enum_rows(b);
	af_buf_str(b, "\n" END);
}

/* docs/format.md with the part between the markers as the table wants it. */
static void wanted_document(struct af_buf *want, const char *text)
{
	const char *begin = strstr(text, BEGIN), *end = strstr(text, END);

	assert_non_null(begin);
	assert_non_null(end);
	af_buf_add(want, text, (size_t)(begin - text));
	tables(want);
	af_buf_str(want, end + strlen(END));
}

static void document_has_the_kinds_of_the_table(void **state)
{
	struct af_err err = {0};
	struct af_file f;
	struct af_buf have = {0}, want = {0};

	if (af_file_map(&f, doc_path(), &err))
		fail_msg("%s", err.msg);
	af_buf_add(&have, f.data, f.size);
	af_file_unmap(&f);
	wanted_document(&want, have.data);

	if (getenv("UPDATE")) {
		FILE *out = fopen(doc_path(), "w");
		assert_non_null(out);
		assert_int_equal(fwrite(want.data, 1, want.len, out), want.len);
		fclose(out);
	} else if (strcmp(have.data, want.data)) {
		fail_msg(
		    "docs/format.md does not say what include/aflame/event.h says: run this test "
		    "with UPDATE=1 and look at the difference");
	}
	af_buf_free(&have);
	af_buf_free(&want);
}

/* The numbers that stand in the document's text. */
static void document_states_the_sizes(void **state)
{
	static const char *const lines[] = {
	    "The header of a packet is 80 bytes",
	    "The header of an event is 12 bytes",
	    "aflame_trace_version` (this document: 1)",
	};
	struct af_file f;

	assert_int_equal(sizeof(struct af_packet), 80);
	assert_int_equal(sizeof(struct af_event_header), 12);
	assert_int_equal(AF_TRACE_VERSION, 1);
	assert_int_equal(af_file_map(&f, doc_path(), NULL), 0);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		assert_non_null(memmem(f.data, f.size, lines[i], strlen(lines[i])));
	af_file_unmap(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(document_has_the_kinds_of_the_table),
	    cmocka_unit_test(document_states_the_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
