#include "analyse/names/name_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* The text that is divided, and how far. */
struct reader {
	struct af_name_parts *n;
	const char *text;
	size_t len, at;
	bool dots, slashes;
	bool words;  /* there were words before this one: a return type, or a sentence */
	bool sure;   /* since the last blank: it is a name */
	bool called; /* it has parameters */
	bool over;   /* behind the parameters */
};

bool af_name_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_open(char c)
{
	return c && strchr("<([{", c);
}

/* Past the bracket that closes the one at @at; the end where none does. */
static size_t close_bracket(const char *text, size_t len, size_t at)
{
	size_t depth = 0;

	for (size_t i = at; i < len; i++) {
		if (is_open(text[i]))
			depth++;
		else if (strchr(")]}", text[i]) ||
		         (text[i] == '>' && text[i - 1] != '-' && text[i - 1] != '='))
			depth--;
		if (!depth)
			return i + 1;
	}
	return len;
}

static bool next_is(const struct reader *r, size_t at, const char *word)
{
	size_t len = strlen(word);

	return at <= r->len && r->len - at >= len && !memcmp(r->text + at, word, len);
}

static void both(struct reader *r, const char *text, size_t len)
{
	af_buf_add(&r->n->text[0], text, len);
	af_buf_add(&r->n->text[1], text, len);
}

static struct af_name_part *part_now(struct reader *r)
{
	return &r->n->parts[r->n->nr - 1];
}

static bool part_empty(struct reader *r)
{
	return part_now(r)->at[1] == r->n->text[1].len;
}

static void part_end(struct reader *r)
{
	for (int k = 0; k < 2; k++)
		part_now(r)->end[k] = r->n->text[k].len;
}

static void part_begin(struct reader *r, char separator)
{
	struct af_name_parts *n = r->n;

	AF_GROW(n->parts, n->nr, n->cap);
	n->parts[n->nr++] = (struct af_name_part){{n->text[0].len, n->text[1].len}, {0}, separator};
}

static void part_next(struct reader *r, const char *separator)
{
	part_end(r);
	both(r, separator, strlen(separator));
	part_begin(r, *separator);
	r->at += strlen(separator);
}

static void word_brief(struct reader *r, const char *word, size_t len)
{
	size_t from = 0, to = len > 1 ? 1 : len;

	while (to < len && word[to] != '<')
		to++;
	for (size_t i = 0; i + 1 < to; i++)
		if (word[i] == ':' && word[i + 1] == ':')
			from = i + 2;
	both(r, word + from, to - from);
}

/* "<alloc::Vec<T> as core::Write>" → "<Vec as Write>" */
static void type_brief(struct reader *r, size_t close)
{
	const char *inner = r->text + r->at + 1;
	size_t len = close > r->at + 2 ? close - r->at - 2 : 0;

	both(r, "<", 1);
	for (size_t i = 0, from = 0; i <= len; i++) {
		if (i == len || inner[i] == ' ') {
			word_brief(r, inner + from, i - from);
			if (i < len)
				both(r, " ", 1);
			from = i + 1;
		} else if (is_open(inner[i])) {
			i = close_bracket(inner, len, i) - 1;
		}
	}
	both(r, ">", 1);
	r->at = close;
}

/* "{lambda(int)#1}" → "{lambda#1}" */
static void braces(struct reader *r, size_t close)
{
	const char *inside = r->text + r->at;
	size_t len = close - r->at;
	const char *open = memchr(inside, '(', len), *end = memrchr(inside, ')', len);

	if (open && end > open) {
		both(r, inside, (size_t)(open - inside));
		both(r, end + 1, (size_t)(inside + len - end - 1));
	} else {
		both(r, inside, len);
	}
	r->at = close;
}

/* The word at @at and the sign or type behind it. */
static void operator_read(struct reader *r)
{
	size_t from = r->at, at = from + strlen("operator");

	if (next_is(r, at, "()") || next_is(r, at, "[]"))
		at += 2;
	else if (at + 1 < r->len && r->text[at] == ' ' && af_name_word(r->text[at + 1]))
		while (at < r->len && r->text[at] != '(')
			at++;
	else
		while (at < r->len && r->text[at] && strchr("-+*/%^&|~!=<>,\"", r->text[at]))
			at++;
	both(r, r->text + from, at - from);
	r->at = next_is(r, at, " <") ? at + 1 : at;
	r->sure = true;
}

/* Is here an end that a function may have behind its parameters? */
static bool is_end(const struct reader *r)
{
	static const char *const ends[] = {" const", " volatile", " &",        "&",  " noexcept",
	                                   " ->",    " [",        " requires", " (."};

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (next_is(r, r->at, ends[i]))
			return true;
	return r->at >= r->len;
}

/* False: no parameters of a function. */
static bool parenthesis(struct reader *r, size_t close)
{
	static const char unnamed[] = "(anonymous namespace)";

	if (next_is(r, r->at, unnamed)) {
		both(r, "(anon)", 6);
	} else if (part_empty(r) && part_now(r)->separator == '.') {
		both(r, r->text + r->at, close - r->at);
	} else {
		if (part_empty(r) || r->text[r->at - 1] == ' ')
			return false;
		r->called = r->sure = true;
		r->at = close;
		if (next_is(r, close, "::") || (r->dots && next_is(r, close, ".")))
			return true;
		r->over = true;
		return is_end(r);
	}
	r->at = close;
	return true;
}

static bool bracket(struct reader *r)
{
	size_t close = close_bracket(r->text, r->len, r->at);
	bool empty = part_empty(r);

	switch (r->text[r->at]) {
	case '<':
		r->sure = true;
		if (empty) {
			type_brief(r, close);
			return true;
		}
		af_buf_str(&r->n->text[0], "<…>");
		break;
	case '[':
		if (empty)
			both(r, r->text + r->at, close - r->at);
		else if (!next_is(r, r->at, "[abi:"))
			af_buf_str(&r->n->text[0], "[…]");
		break;
	case '{':
		braces(r, close);
		return true;
	default:
		return parenthesis(r, close);
	}
	r->at = close;
	return true;
}

static void blank(struct reader *r)
{
	struct af_name_parts *n = r->n;

	r->words |= !part_empty(r) || n->nr > 1;
	n->nr = n->text[0].len = n->text[1].len = 0;
	part_begin(r, '\0');
	r->sure = false;
	r->at++;
}

static bool step(struct reader *r)
{
	char c = r->text[r->at];
	bool word = r->at + 8 < r->len && af_name_word(r->text[r->at + 8]);

	if (part_empty(r) && next_is(r, r->at, "operator") && !word) {
		operator_read(r);
	} else if (is_open(c)) {
		return bracket(r);
	} else if (c == ' ') {
		blank(r);
	} else if (next_is(r, r->at, "::")) {
		r->sure = true;
		part_next(r, "::");
	} else if (c == '.' && r->dots) {
		part_next(r, ".");
	} else if (c == '/' && r->slashes) {
		part_next(r, "/");
	} else {
		both(r, &c, 1);
		r->at++;
	}
	return true;
}

/* Rust's "::h0123456789abcdef", by which one function's copies differ. */
static bool is_hash(struct reader *r)
{
	const struct af_name_part *p = part_now(r);
	const char *text = r->n->text[1].data + p->at[1];

	if (p->end[1] - p->at[1] != 17 || *text != 'h')
		return false;
	for (int i = 1; i < 17; i++)
		if (!strchr("0123456789abcdef", text[i]))
			return false;
	return true;
}

bool af_name_parts_read(struct af_name_parts *n, const char *text, size_t len, bool dots,
                        bool slashes)
{
	struct reader r = {.n = n, .text = text, .len = len, .dots = dots, .slashes = slashes};

	*n = (struct af_name_parts){0};
	part_begin(&r, '\0');
	while (r.at < len && !r.over)
		if (!step(&r))
			return false;
	part_end(&r);
	if (n->nr > 1 && is_hash(&r)) {
		n->nr--;
		n->text[0].len = part_now(&r)->end[0];
		n->text[1].len = part_now(&r)->end[1];
	}
	for (size_t i = 1; i < n->nr; i++)
		if (n->parts[i].at[1] == n->parts[i].end[1])
			return false;
	return n->text[1].len && !(r.words && !r.sure && !r.called);
}

void af_name_parts_close(struct af_name_parts *n)
{
	free(n->parts);
	af_buf_free(&n->text[0]);
	af_buf_free(&n->text[1]);
}
