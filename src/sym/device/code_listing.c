/*
 * Device code of which only the text is known, as other profilers tell of it: which instructions
 * were seen where. An object of text, a line each, fields parted by tabs:
 *
 *	aflame listing 1
 *	f	NUMBER	NAME	FILE		a function; its instructions follow
 *	i	OFFSET	TEXT	LINE		offset in hexadecimal; no line, or 0: not known
 */
#include <stdlib.h>
#include <string.h>

#include "sym/device/code_object.h"

enum { LISTING_FIELDS = 4 };

const char AF_CODE_LISTING[] = "aflame listing 1\n";

bool code_is_listing(const void *bytes, size_t size)
{
	return size >= sizeof AF_CODE_LISTING - 1 &&
	       !memcmp(bytes, AF_CODE_LISTING, sizeof AF_CODE_LISTING - 1);
}

/* The fields of a line, each ended by a NUL that is put there. */
static unsigned listing_fields(char *line, char *fields[LISTING_FIELDS])
{
	unsigned nr = 0;

	while (line && nr < LISTING_FIELDS)
		fields[nr++] = strsep(&line, "\t");
	return nr;
}

/* A whole word that is a number of at most 32 bits. */
static bool listing_number(const char *text, int base, uint32_t *number)
{
	char *end;

	if (!*text || strspn(text, "0123456789abcdef") != strlen(text) || strlen(text) > 10)
		return false;
	unsigned long v = strtoul(text, &end, base);
	*number = (uint32_t)v;
	return !*end && v <= UINT32_MAX;
}

static void listing_function(struct af_code *c, char *const fields[LISTING_FIELDS])
{
	struct af_code_function f = {.name = fields[2], .entry = true};

	if (!*f.name || !listing_number(fields[1], 10, &f.symbol))
		return;
	/* Each function counts as a section of its own: none contains another. */
	uint32_t nr = c->nr;
	code_add(c, nr, &f);
	if (c->nr == nr)
		return;
	c->functions[nr].file = fields[3];
	c->functions[nr].first_insn = c->nr_insns;
}

static void listing_insn(struct af_code *c, char *const fields[LISTING_FIELDS], unsigned nr)
{
	uint32_t offset, line;

	if (!c->nr || !listing_number(fields[1], 16, &offset))
		return;
	if (nr < 4 || !listing_number(fields[3], 10, &line))
		line = 0;
	struct code_function *f = &c->functions[c->nr - 1];
	/* Entries are looked up by bisection, so those out of order are left out. */
	if (f->nr_insns && c->insns[c->nr_insns - 1].offset >= offset)
		return;
	AF_GROW(c->insns, c->nr_insns, c->cap_insns);
	c->insns[c->nr_insns++] = (struct code_insn){offset, line, fields[2]};
	f->nr_insns++;
	f->known.size = (uint64_t)offset + 1;
}

void code_read_listing(struct af_code *c, const char *bytes, size_t size)
{
	char *text = af_arena_strdup(&c->strings, bytes, size), *end = text + size;
	char *fields[LISTING_FIELDS];

	for (char *line = text + sizeof AF_CODE_LISTING - 1, *stop; line < end; line = stop + 1) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			stop = end;
		*stop = 0;
		unsigned nr = listing_fields(line, fields);
		if (nr == 4 && !strcmp(fields[0], "f"))
			listing_function(c, fields);
		else if (nr >= 3 && !strcmp(fields[0], "i"))
			listing_insn(c, fields, nr);
	}
}

static const struct code_insn *listing_at(const struct af_code *c, uint32_t i, uint64_t offset)
{
	const struct code_function *f = &c->functions[i];
	uint32_t low = 0, high = f->nr_insns;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct code_insn *insn = &c->insns[f->first_insn + middle];
		if (insn->offset == offset)
			return insn;
		if (insn->offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

uint32_t code_listing_frames(struct af_code *c, uint32_t i, uint64_t offset,
                             struct af_code_frame *frames, uint32_t most)
{
	const struct code_function *f = &c->functions[i];
	const struct code_insn *insn = listing_at(c, i, offset);

	if (!most || !f->file || !*f->file)
		return 0;
	frames[0] = (struct af_code_frame){.function = af_code_function(c, i)->shown,
	                                   .file = f->file,
	                                   .line = insn ? insn->line : 0};
	return 1;
}

const char *af_code_text(const struct af_code *c, uint32_t i, uint64_t offset)
{
	const struct code_insn *insn = i < c->nr ? listing_at(c, i, offset) : NULL;

	return insn && *insn->text ? insn->text : NULL;
}
