#include "analyse/names/name_forms.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analyse/names/name_parts.h"

enum {
	FORMS_LONGEST = 4096, /* a longer name is nobody's */
	FORMS_SPACES = 12     /* so many namespaces are dropped one by one */
};

/* A part of the name, from @from to @to. */
struct piece {
	const char *from, *to;
};

static size_t characters(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += (s[i] & 0xc0) != 0x80;
	return n;
}

/* The forms so far. */
struct forms {
	struct af_buf *b;
	size_t nr, last; /* how many; characters of the last one */
};

/* A form of up to three pieces, unless it is no shorter than the last. */
static void form_add(struct forms *f, const char *head, struct piece text, struct piece tail)
{
	size_t len = strlen(head), nr = characters(head, len);

	nr += characters(text.from, (size_t)(text.to - text.from));
	nr += characters(tail.from, (size_t)(tail.to - tail.from));
	if (f->nr && nr >= f->last)
		return;
	af_buf_add(f->b, head, len);
	af_buf_add(f->b, text.from, (size_t)(text.to - text.from));
	af_buf_add(f->b, tail.from, (size_t)(tail.to - tail.from));
	af_buf_char(f->b, '\0');
	f->nr++;
	f->last = nr;
}

static bool begins(struct piece p, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(p.to - p.from) >= len && !memcmp(p.from, word, len);
}

static bool ends(struct piece p, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(p.to - p.from) >= len && !memcmp(p.to - len, word, len);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "a.py:7" → "a.py"; any number of numbers. */
static struct piece without_numbers(struct piece p)
{
	for (;;) {
		const char *at = p.to;
		while (at > p.from && is_digit(at[-1]))
			at--;
		if (at == p.to || at == p.from || at[-1] != ':')
			return p;
		p.to = at - 1;
	}
}

/* Are these brackets' insides a place in a file? */
static bool is_place(struct piece p)
{
	for (const char *c = p.from; c < p.to; c++)
		if (*c == '(' || *c == ')')
			return false;
	return ends(p, ".py") || ends(p, ".pyx") || ends(p, ">") || without_numbers(p).to < p.to;
}

static struct piece file_of(struct piece place)
{
	for (const char *c = place.to; c > place.from; c--)
		if (c[-1] == '/')
			return (struct piece){c, place.to};
	return place;
}

/* Divide "read (data.py:7)" or "*read /srv/data.js:7": the function is returned, and its forms with
 * the place are added. */
static struct piece forms_placed(struct forms *f, struct piece name)
{
	const char *blank = name.to;
	struct piece none = {name.to, name.to};

	while (blank > name.from && blank[-1] != ' ')
		blank--;
	if (ends(name, ")"))
		for (blank = name.to; blank > name.from + 1; blank--)
			if (blank[-1] == '(' && blank[-2] == ' ')
				break;
	if (blank < name.from + 2)
		return name;
	struct piece place = {blank, name.to}, bare = {name.from, blank - 1};
	bool bracket = ends(name, ")");
	if (bracket) {
		place.to--;
		bare.to--;
	}
	bool is = bracket ? is_place(place)
	                  : begins(place, "/") || begins(place, "file:") || begins(place, "node:");
	if (!is || bare.to == bare.from || bare.to[-1] == ' ')
		return name;
	struct af_buf with = {0};
	struct piece file = file_of(place);
	af_buf_add(&with, bare.from, (size_t)(bare.to - bare.from));
	af_buf_str(&with, bracket ? " (" : " ");
	af_buf_add(&with, file.from, (size_t)(file.to - file.from));
	af_buf_str(&with, bracket ? ")" : "");
	form_add(f, "", (struct piece){with.data, with.data + with.len}, none);
	af_buf_free(&with);
	form_add(f, "", bare, none);
	return bare;
}

/* One suffix of a compiler or linker less: " [clone .cold]", ".isra.0", "@plt". */
static const char *without_suffix(struct piece p)
{
	static const char *const words[] = {".cold",      ".part",     ".isra",      ".llvm",
	                                    ".constprop", ".lto_priv", ".localalias"};
	struct piece stem = p;

	if (ends(p, "]")) {
		for (const char *at = p.to - 1; at > p.from && at[-1] != ']'; at--)
			if (begins((struct piece){at - 1, p.to}, " [clone "))
				return at - 1;
		return p.to;
	}
	while (stem.to > stem.from && (is_digit(stem.to[-1]) || stem.to[-1] == '.'))
		stem.to--;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (ends(stem, words[i]))
			return stem.to - strlen(words[i]);
	const char *at = p.to;
	while (at > p.from && (af_name_word(at[-1]) || at[-1] == '.' || at[-1] == '@'))
		at--;
	for (; at < p.to; at++)
		if (*at == '@' && at > p.from)
			return at + 1 < p.to ? at : p.to;
	return p.to;
}

/* Is it the name of a file, or a number after a point: no dots to divide it at? */
static bool is_file(struct piece p)
{
	static const char *const kinds[] = {".so", ".py",   ".pyx", ".c",   ".cc", ".cpp",
	                                    ".cu", ".cuh",  ".h",   ".hpp", ".js", ".go",
	                                    ".rs", ".java", ".ko",  ".o",   ".cl"};
	struct piece stem = without_numbers(p);
	const char *at = p.to;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (ends(stem, kinds[i]))
			return true;
	while (at > p.from && (is_digit(at[-1]) || at[-1] == '.'))
		at--;
	return at + 1 < p.to && memchr(at, '.', (size_t)(p.to - at - 1));
}

/* An instruction of a GPU has dots of its own. */
static bool is_instruction(struct piece p)
{
	for (const char *c = p.from; c < p.to; c++)
		if (!(*c >= 'A' && *c <= 'Z') && !is_digit(*c) && *c != '_' && *c != '.')
			return false;
	return true;
}

/* The end of "libx.so!" in front of a function, or where the name begins. */
static const char *after_module(struct piece p)
{
	for (const char *c = p.from; c < p.to && !strchr(" \t\n<(:", *c); c++)
		if (*c == '!')
			return c > p.from && !begins(p, "operator!") ? c + 1 : p.from;
	return p.from;
}

/* Has the part no name of its own: is it called by the function that it is in? */
static bool is_anonymous(struct piece p)
{
	if (p.from == p.to || strchr("{<'$", *p.from) ||
	    (begins(p, "operator()") && ends(p, "()")) || begins(p, "__invoke"))
		return p.from < p.to;
	if (begins(p, "func") && p.to > p.from + 4 && is_digit(p.from[4]))
		return true;
	while (p.from < p.to && is_digit(*p.from))
		p.from++;
	return p.from == p.to;
}

static void forms_parts(struct forms *f, const struct af_name_parts *n, struct piece module)
{
	size_t own = n->nr - 1, shift = module.to > module.from;
	struct piece none = {module.to, module.to};
	struct piece all[2];

	for (int k = 0; k < 2; k++)
		all[k] = (struct piece){n->text[k].data, n->text[k].data + n->text[k].len};
	while (own > 0 && is_anonymous((struct piece){n->text[1].data + n->parts[own].at[1],
	                                              n->text[1].data + n->parts[own].end[1]}))
		own--;
	form_add(f, "", module, all[0]);
	/* The module is the first part that is dropped. */
	size_t first = own + shift > FORMS_SPACES ? own + shift - FORMS_SPACES : 1;
	for (size_t k = first; k < own + shift; k++)
		form_add(f, "…", none,
		         (struct piece){all[0].from + n->parts[k - shift].at[0], all[0].to});
	if (own)
		form_add(f, "", none,
		         (struct piece){all[1].from + n->parts[own - 1].at[1], all[1].to});
	else
		form_add(f, "", module, all[1]);
	form_add(f, "", none, (struct piece){all[1].from + n->parts[own].at[1], all[1].to});
}

/* The forms of the function alone, without its place. */
static void forms_bare(struct forms *f, struct piece bare)
{
	struct piece text = {after_module(bare), bare.to};
	struct piece module = {bare.from, text.from};

	for (const char *to; (to = without_suffix(text)) < text.to && to > text.from;)
		text.to = to;
	bool plain = !memmem(text.from, (size_t)(text.to - text.from), "::", 2);
	struct af_name_parts n;
	if (af_name_parts_read(&n, text.from, (size_t)(text.to - text.from),
	                       plain && !is_file(text) && !is_instruction(text), plain))
		forms_parts(f, &n, module);
	af_name_parts_close(&n);
}

size_t af_name_forms(struct af_buf *b, const char *name, size_t len)
{
	struct forms f = {.b = b};
	struct piece all = {name, name + len}, none = {name, name};

	form_add(&f, "", all, none);
	if (!len || len > FORMS_LONGEST || *name == '[' || begins(all, "0x") ||
	    memchr(name, '\0', len))
		return f.nr;
	if ((begins(all, "-[") || begins(all, "+[")) && ends(all, "]")) {
		const char *blank = memchr(name, ' ', len);
		if (blank && blank + 2 < all.to && blank > name + 2)
			form_add(&f, "", (struct piece){blank + 1, all.to - 1}, none);
		return f.nr;
	}
	forms_bare(&f, forms_placed(&f, all));
	return f.nr;
}

void af_name_fit(struct af_buf *b, const char *name, size_t len, size_t room)
{
	struct af_buf forms = {0};

	if (!room)
		return;
	if (characters(name, len) <= room) {
		af_buf_add(b, name, len);
		return;
	}
	size_t nr = af_name_forms(&forms, name, len), cut = 0;
	const char *form = forms.data;
	for (size_t size = len; characters(form, size) > room && nr > 1; nr--) {
		form += size + 1;
		size = strlen(form);
	}
	size_t size = nr > 1 || form > forms.data ? strlen(form) : len;
	if (characters(form, size) <= room) {
		af_buf_add(b, form, size);
	} else {
		for (size_t left = room; cut < size; cut++)
			if ((form[cut] & 0xc0) != 0x80 && !--left)
				break;
		af_buf_add(b, form, cut);
		af_buf_str(b, "…");
	}
	af_buf_free(&forms);
}
