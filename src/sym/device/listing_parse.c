#include "sym/device/listing_parse.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/strtab.h"

enum {
	PARSE_TEXT_MAX = 400,   /* bytes of an instruction that are kept */
	PARSE_LABEL_MAX = 4096, /* of a label's name */
	PARSE_LABELS_MAX = 1 << 20,
};

struct parse_text {
	const char *at;
	size_t len;
};

/* The section that is being read: jumps name labels that come later. */
struct parse_section {
	struct parse_text name;
	struct parse_insn {
		uint64_t offset;
		struct parse_text text;
	} * insns;
	uint32_t nr, cap;
	struct af_strtab labels;
	struct parse_label {
		uint64_t offset;
		bool known;
	} * offsets; /* by the label's number */
	uint32_t cap_offsets;
	uint32_t *open, nr_open, cap_open; /* labels that wait for their instruction */
};

static bool parse_line(const char **text, size_t *size, struct parse_text *line)
{
	if (!*size)
		return false;
	const char *end = memchr(*text, '\n', *size);
	line->at = *text;
	line->len = end ? (size_t)(end - *text) : *size;
	*text += line->len + (end != NULL);
	*size -= line->len + (end != NULL);
	while (line->len && strchr(" \t\r", line->at[line->len - 1]))
		line->len--;
	return true;
}

static void parse_skip(struct parse_text *t, size_t nr)
{
	t->at += nr;
	t->len -= nr;
}

static void parse_blanks(struct parse_text *t)
{
	while (t->len && (*t->at == ' ' || *t->at == '\t'))
		parse_skip(t, 1);
}

static bool parse_word(struct parse_text *t, const char *word)
{
	size_t len = strlen(word);

	if (t->len < len || memcmp(t->at, word, len))
		return false;
	parse_skip(t, len);
	return true;
}

/* A number of up to 16 hexadecimal digits. */
static bool parse_hex(struct parse_text *t, uint64_t *v)
{
	unsigned nr = 0;

	for (*v = 0; t->len && nr < 16; nr++, parse_skip(t, 1)) {
		char c = *t->at;

		if (c >= '0' && c <= '9')
			*v = *v << 4 | (uint64_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			*v = *v << 4 | (uint64_t)((c | 0x20) - 'a' + 10);
		else
			break;
	}
	return nr && nr < 16;
}

/*
 * Puts the text of an instruction on one line: each run of blanks as one blank, and no control
 * characters.
 */
static void parse_put(struct af_buf *lines, uint64_t offset, struct parse_text text)
{
	size_t start = lines->len, from;
	char last = ' ';

	af_buf_fmt(lines, "i %llx ", (unsigned long long)offset);
	from = lines->len;
	for (size_t i = 0; i < text.len && lines->len - from < PARSE_TEXT_MAX; i++) {
		char c = text.at[i] == '\t' ? ' ' : text.at[i];

		if ((c == ' ' && last == ' ') || (unsigned char)c < ' ' || (unsigned char)c > '~')
			continue;
		af_buf_char(lines, last = c);
	}
	if (lines->len == from)
		lines->data[lines->len = start] = 0;
	else
		af_buf_char(lines, '\n');
}

static void section_label(struct parse_section *s, struct parse_text name)
{
	/* Other labels are functions, whose names say more than offsets. */
	if (name.len > PARSE_LABEL_MAX || s->labels.nr >= PARSE_LABELS_MAX ||
	    !parse_word(&(struct parse_text){name.at, name.len}, ".L"))
		return;
	uint32_t id = af_strtab_id(&s->labels, name.at, name.len);
	AF_GROW(s->open, s->nr_open, s->cap_open);
	s->open[s->nr_open++] = id;
}

static void section_insn(struct parse_section *s, uint64_t offset, struct parse_text text)
{
	AF_GROW(s->insns, s->nr, s->cap);
	s->insns[s->nr++] = (struct parse_insn){offset, text};
	for (uint32_t i = 0; i < s->nr_open; i++) {
		uint32_t id = s->open[i];

		AF_REACH(s->offsets, id, s->cap_offsets);
		s->offsets[id] = (struct parse_label){offset, true};
	}
	s->nr_open = 0;
}

/* "`(.L_x_4)" → "0x1a0". A name that is no label of this section is a function's and stays. */
static void section_reference(struct parse_section *s, struct af_buf *out, struct parse_text name)
{
	uint32_t id = name.len <= PARSE_LABEL_MAX && s->labels.nr < PARSE_LABELS_MAX
	                  ? af_strtab_id(&s->labels, name.at, name.len)
	                  : UINT32_MAX;

	if (id < s->cap_offsets && s->offsets[id].known)
		af_buf_fmt(out, "0x%llx", (unsigned long long)s->offsets[id].offset);
	else
		af_buf_add(out, name.at, name.len);
}

static void section_text(struct parse_section *s, struct af_buf *out, struct parse_text text)
{
	while (text.len) {
		struct parse_text name = text;
		const char *end = NULL;

		if (parse_word(&name, "`("))
			end = memchr(name.at, ')', name.len);
		if (end) {
			name.len = (size_t)(end - name.at);
			section_reference(s, out, name);
			parse_skip(&text, name.len + 3);
		} else {
			af_buf_char(out, *text.at);
			parse_skip(&text, 1);
		}
	}
}

/* Writes the section's instructions, now that all its labels are known. */
static void section_end(struct parse_section *s, struct af_buf *lines)
{
	struct af_buf text = {0};

	if (s->nr) {
		af_buf_str(lines, "f ");
		af_buf_add(lines, s->name.at, s->name.len);
		af_buf_char(lines, '\n');
	}
	for (uint32_t i = 0; i < s->nr; i++) {
		text.len = 0;
		section_text(s, &text, s->insns[i].text);
		parse_put(lines, s->insns[i].offset, (struct parse_text){text.data, text.len});
	}
	af_buf_free(&text);
	af_strtab_free(&s->labels);
	s->labels = (struct af_strtab){0};
	if (s->cap_offsets)
		memset(s->offsets, 0, s->cap_offsets * sizeof *s->offsets);
	s->nr = s->nr_open = 0;
	s->name.len = 0;
}

static void section_line(struct parse_section *s, struct af_buf *lines, struct parse_text line)
{
	struct parse_text whole = line;
	uint64_t offset;

	parse_blanks(&line);
	if (parse_word(&line, ".section\t") || parse_word(&line, ".section ")) {
		section_end(s, lines);
		parse_blanks(&line);
		const char *end = memchr(line.at, ',', line.len);
		if (end && parse_word(&line, ".text."))
			s->name = (struct parse_text){line.at, (size_t)(end - line.at)};
	} else if (s->name.len && parse_word(&line, "/*") && parse_hex(&line, &offset) &&
	           parse_word(&line, "*/")) {
		const char *end = memrchr(line.at, ';', line.len);

		parse_blanks(&line);
		while (end && end > line.at && end[-1] == ' ')
			end--;
		if (end && end > line.at)
			section_insn(s, offset,
			             (struct parse_text){line.at, (size_t)(end - line.at)});
	} else if (whole.len > 1 && whole.at[whole.len - 1] == ':' && whole.at[0] != '\t') {
		section_label(s, (struct parse_text){whole.at, whole.len - 1});
	}
}

void af_listing_nvdisasm(struct af_buf *lines, const char *text, size_t size)
{
	struct parse_section s = {.nr = 0};
	struct parse_text line;

	while (parse_line(&text, &size, &line))
		section_line(&s, lines, line);
	section_end(&s, lines);
	free(s.insns);
	free(s.offsets);
	free(s.open);
	af_strtab_free(&s.labels);
}

void af_listing_objdump(struct af_buf *lines, const char *text, size_t size)
{
	struct parse_text line;
	uint64_t address;

	while (parse_line(&text, &size, &line)) {
		if (!line.len || *line.at != ' ')
			continue;
		parse_blanks(&line);
		if (parse_hex(&line, &address) && parse_word(&line, ":\t") && line.len)
			parse_put(lines, address, line);
	}
}

/* " L704" → " 0x2c0": labels are called by offsets. */
static void iga64_text(struct af_buf *out, uint64_t start, struct parse_text text)
{
	char last = ' ';

	while (text.len) {
		struct parse_text t = text;
		uint64_t to = 0, target;
		unsigned nr = 0;

		if (last == ' ' && parse_word(&t, "L"))
			for (; t.len && *t.at >= '0' && *t.at <= '9' && nr < 9;
			     nr++, parse_skip(&t, 1))
				to = to * 10 + (uint64_t)(*t.at - '0');
		if (nr && (!t.len || *t.at == ' ')) {
			target = start + to;
			af_buf_fmt(out, "0x%llx", (unsigned long long)target);
			text = t;
			last = 0;
		} else {
			af_buf_char(out, last = *text.at);
			parse_skip(&text, 1);
		}
	}
}

void af_listing_iga64(struct af_buf *lines, uint64_t start, const char *text, size_t size)
{
	struct af_buf words = {0};
	struct parse_text line;
	uint64_t offset;

	while (parse_line(&text, &size, &line)) {
		if (!parse_word(&line, "/* [") || !parse_hex(&line, &offset) ||
		    !parse_word(&line, "]"))
			continue;
		parse_blanks(&line);
		if (!parse_word(&line, "*/"))
			continue;
		parse_blanks(&line);
		words.len = 0;
		iga64_text(&words, start, line);
		parse_put(lines, start + offset, (struct parse_text){words.data, words.len});
	}
	af_buf_free(&words);
}

bool af_listing_next(const char **lines, size_t *size, struct af_listing_line *line)
{
	struct parse_text t;

	while (parse_line(lines, size, &t)) {
		line->is_function = parse_word(&t, "f ");
		if (!line->is_function && (!parse_word(&t, "i ") || !parse_hex(&t, &line->offset) ||
		                           !parse_word(&t, " ")))
			continue;
		if (!t.len || t.len > PARSE_LABEL_MAX)
			continue;
		line->text = t.at;
		line->len = t.len;
		return true;
	}
	return false;
}
