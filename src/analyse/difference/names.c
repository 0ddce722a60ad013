/*
 * Which functions of two runs are the same: those with the same name, kind and module. A program or
 * library may have another name in the other run (app-v2, or a trace without the name). So if a
 * module is on one side only, its function is the one of the same name in the module that is on the
 * other side only, if there is exactly one.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/difference/private.h"
#include "base/buf.h"
#include "base/strtab.h"

/* "0x7f12" → "0x..."; ":12)" and ":12" at the end → ")" and "". */
static void name_strip(struct af_buf *b, const char *s, size_t len)
{
	size_t end = len - (len && s[len - 1] == ')'), digits = end;

	while (digits && isdigit((unsigned char)s[digits - 1]))
		digits--;
	bool line = digits > 1 && digits < end && s[digits - 1] == ':' && s[digits - 2] != ':';
	for (size_t i = 0; i < len; i++) {
		if (line && i == digits - 1)
			i = end;
		if (i + 2 < len && s[i] == '0' && s[i + 1] == 'x' &&
		    isxdigit((unsigned char)s[i + 2])) {
			af_buf_str(b, "0x...");
			for (i += 2; i + 1 < len && isxdigit((unsigned char)s[i + 1]);)
				i++;
		} else if (i < len) {
			af_buf_char(b, s[i]);
		}
	}
}

/* The names of @t as they are compared; the caller frees @b. */
static const char *name_text(struct af_buf *b, const struct af_tree *t, uint32_t name, bool strip,
                             size_t *len)
{
	const char *text = af_tree_text(t, name, len);

	if (!strip)
		return text;
	b->len = 0;
	af_buf_str(b, "");
	name_strip(b, text, *len);
	*len = b->len;
	return b->data;
}

/* For a text and kind on one side: the module, which may have another name on the other. */
struct lone {
	uint32_t name; /* one of that module; 0: none */
	uint32_t key;
	bool several;
	bool bare; /* a function of the text has no module */
};

/* Texts and kinds of both sides as names of @all, and their modules. */
struct pairing {
	const struct af_tree *sides[2];
	struct af_tree all;
	struct af_strtab keys;
	uint32_t *as[2];
	struct lone *lone[2]; /* by name of @all */
	uint8_t *has[2];      /* by module: is it on that side? */
};

static void pairing_names(struct pairing *p, bool strip)
{
	static const struct af_tree_weight none = {"none", "", 0};
	struct af_buf b = {0};

	af_tree_open(&p->all, &none, 1);
	for (int s = 0; s < 2; s++) {
		const struct af_tree *t = p->sides[s];
		p->as[s] = af_xcalloc(t->nr_names + 1, sizeof *p->as[s]);
		for (uint32_t i = 1; i < t->nr_names; i++) {
			size_t len;
			const char *text = name_text(&b, t, i, strip, &len);
			p->as[s][i] = af_tree_name(&p->all, text, len, af_tree_frame(t, i), 0);
			af_strtab_id_z(&p->keys, af_tree_key(t, i));
		}
	}
	af_buf_free(&b);
}

static uint32_t pairing_key(struct pairing *p, int side, uint32_t name)
{
	return af_strtab_id_z(&p->keys, af_tree_key(p->sides[side], name));
}

static void pairing_lone(struct pairing *p, int side)
{
	const struct af_tree *t = p->sides[side];

	for (uint32_t i = 1; i < t->nr_names; i++) {
		struct lone *l = &p->lone[side][p->as[side][i]];
		uint32_t key = pairing_key(p, side, i);
		bool bare = p->lone[!side][p->as[side][i]].bare;
		if (key ? p->has[!side][key] : bare)
			continue;
		l->several |= l->name && l->key != key;
		l->name = i;
		l->key = key;
	}
}

static void pairing_open(struct pairing *p, bool strip)
{
	pairing_names(p, strip);
	for (int s = 0; s < 2; s++) {
		const struct af_tree *t = p->sides[s];
		p->lone[s] = af_xcalloc(p->all.nr_names + 1, sizeof *p->lone[s]);
		p->has[s] = af_xcalloc(p->keys.nr + 1, 1);
		for (uint32_t i = 1; i < t->nr_names; i++) {
			uint32_t key = pairing_key(p, s, i);
			p->has[s][key] = 1;
			p->lone[s][p->as[s][i]].bare |= !key;
		}
	}
	for (int s = 0; s < 2; s++)
		pairing_lone(p, s);
}

static void pairing_close(struct pairing *p)
{
	for (int s = 0; s < 2; s++) {
		free(p->as[s]);
		free(p->lone[s]);
		free(p->has[s]);
	}
	af_strtab_free(&p->keys);
	af_tree_close(&p->all);
}

/* The module that the second side has in place of a name's module of the first side. */
static const char *pairing_module(struct pairing *p, uint32_t name)
{
	uint32_t as = p->as[0][name];
	const struct lone *mine = &p->lone[0][as], *other = &p->lone[1][as];
	bool one = mine->name && !mine->several && mine->key == pairing_key(p, 0, name) &&
	           other->name && !other->several;

	return one ? af_tree_key(p->sides[1], other->name) : af_tree_key(p->sides[0], name);
}

uint32_t *difference_names(struct af_tree *t, const struct af_tree *src,
                           const struct af_tree *other, bool strip)
{
	uint32_t *names = af_xcalloc(src->nr_names, sizeof *names);
	struct pairing p = {.sides = {src, other}};
	struct af_buf b = {0};

	if (other)
		pairing_open(&p, strip);
	for (uint32_t i = 1; i < src->nr_names; i++) {
		size_t len;
		const char *text = name_text(&b, src, i, strip, &len);
		names[i] = af_tree_name_of(t, text, len, af_tree_frame(src, i),
		                           other ? pairing_module(&p, i) : af_tree_key(src, i));
	}
	if (other)
		pairing_close(&p);
	af_buf_free(&b);
	return names;
}
