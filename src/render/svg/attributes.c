#include "render/svg/attributes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "render/text/label.h"

/* A piece of the file. */
struct piece {
	const char *s;
	size_t len;
};

enum { ATTRIBUTES_MAX = 100 }; /* of a frame */

/* The parts of the parser return what is wrong with the line, or NULL. */

static bool piece_is(struct piece p, const char *text)
{
	return p.len == strlen(text) && !memcmp(p.s, text, p.len);
}

/* The piece before @c, which is taken off @rest; all of it when there is no @c. */
static struct piece piece_until(struct piece *rest, char c)
{
	const char *found = rest->len ? memchr(rest->s, c, rest->len) : NULL;
	size_t len = found ? (size_t)(found - rest->s) : rest->len;
	struct piece p = {rest->s, len}, after = {rest->s + len, rest->len - len};

	rest->s = found ? after.s + 1 : after.s;
	rest->len = found ? after.len - 1 : 0;
	return p;
}

static struct piece piece_trim(struct piece p)
{
	while (p.len && p.s[0] == ' ')
		p.s++, p.len--;
	while (p.len && p.s[p.len - 1] == ' ')
		p.len--;
	return p;
}

static void add_utf8(struct af_buf *b, uint32_t c)
{
	if (c < 0x80) {
		af_buf_char(b, (char)c);
		return;
	}
	int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
	af_buf_char(b, (char)(lead[more] | c >> 6 * more));
	while (more--)
		af_buf_char(b, (char)(0x80 | (c >> 6 * more & 0x3f)));
}

/* The character that the XML reference at @p means and how long that is; 0: it is none. */
static size_t reference(struct piece p, uint32_t *c)
{
	static const struct {
		const char *text;
		char c;
	} named[] = {
	    {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
	char digits[12] = "", *end;

	for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
		size_t len = strlen(named[i].text);
		if (p.len >= len && !memcmp(p.s, named[i].text, len)) {
			*c = (unsigned char)named[i].c;
			return len;
		}
	}
	struct piece rest = p, text = piece_until(&rest, ';');
	if (text.len < 3 || text.len >= sizeof digits || text.s[1] != '#' || text.len == p.len)
		return 0;
	bool hex = text.s[2] == 'x';
	memcpy(digits, text.s + 2 + hex, text.len - 2 - hex);
	if (!digits[0] ||
	    strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") != strlen(digits))
		return 0;
	unsigned long value = strtoul(digits, &end, hex ? 16 : 10);
	if (!value || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	*c = (uint32_t)value;
	return text.len + 1;
}

/* @p with its references replaced, in the arena; *@control tells of a control character. */
static const char *attributes_text(struct af_attributes *a, struct piece p, bool *control)
{
	struct af_buf b = {0};

	for (size_t i = 0; i < p.len;) {
		uint32_t c;
		size_t used = 0;
		if (p.s[i] == '&')
			used = reference((struct piece){p.s + i, p.len - i}, &c);
		if (used)
			add_utf8(&b, c);
		else
			af_buf_char(&b, p.s[i]);
		i += used ? used : 1;
	}
	*control = false;
	for (size_t i = 0; i < b.len; i++)
		*control |= (unsigned char)b.data[i] < ' ' || b.data[i] == 0x7f;
	const char *text = af_arena_strdup(&a->arena, b.len ? b.data : "", b.len);
	af_buf_free(&b);
	return text;
}

static bool is_xml_name(struct piece p)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

	for (size_t i = 0; i < p.len; i++)
		if (!p.s[i] || (!strchr(first, p.s[i]) && !(i && strchr("0123456789-.", p.s[i]))))
			return false;
	return p.len;
}

/* Would a browser fetch something to show this CSS? An escape could spell any of it. */
static bool css_loads(const char *value)
{
	if (strchr(value, '\\') || strcasestr(value, "image(") || strcasestr(value, "image-set(") ||
	    strcasestr(value, "src("))
		return true;
	while ((value = strcasestr(value, "url("))) {
		value += strlen("url(");
		value += strspn(value, " '\"");
		if (*value != '#')
			return true;
	}
	return false;
}

static bool href_runs(const char *href)
{
	static const char *const schemes[] = {"javascript:", "vbscript:", "data:"};

	href += strspn(href, " ");
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
		if (!strncasecmp(href, schemes[i], strlen(schemes[i])))
			return true;
	return false;
}

static const char *add_attribute(struct af_attributes *a, struct af_frame_attributes *f,
                                 bool of_link, struct piece name, struct piece value)
{
	bool control;

	if (!is_xml_name(name))
		return "not the name of an attribute";
	if (name.len >= 2 && !strncasecmp(name.s, "on", 2))
		return "no scripts (on…) here";
	if (piece_is(name, "xmlns") || piece_is(name, "href") || piece_is(name, "target") ||
	    piece_is(name, "data-frame"))
		return "href and target stand alone, xmlns and data-frame are taken";
	const char *text = attributes_text(a, value, &control);
	if (control)
		return "a control character";
	bool opaque = name.len > 5 && (!memcmp(name.s, "data-", 5) || !memcmp(name.s, "aria-", 5));
	if (!opaque && css_loads(text))
		return "nothing that is loaded (url) here";
	if (!*text)
		return NULL;

	struct af_attribute *same = f->first, **end = &f->first;
	int nr = 0;
	for (; same && (same->of_link != of_link || !piece_is(name, same->name)); nr++) {
		end = &same->next;
		same = same->next;
	}
	if (nr >= ATTRIBUTES_MAX)
		return "too many attributes";
	if (!same) {
		same = *end = af_arena_alloc(&a->arena, sizeof *same);
		same->name = af_arena_strdup(&a->arena, name.s, name.len);
		same->of_link = of_link;
	}
	same->value = text;
	return NULL;
}

/* g_extra and a_extra: attributes as they stand in XML. */
static const char *add_extra(struct af_attributes *a, struct af_frame_attributes *f, bool of_link,
                             struct piece text)
{
	const char *fault = NULL;

	for (text = piece_trim(text); text.len && !fault; text = piece_trim(text)) {
		struct piece name = piece_trim(piece_until(&text, '='));
		text = piece_trim(text);
		char quote = text.len ? text.s[0] : 0;
		if ((quote != '"' && quote != '\'') || !memchr(text.s + 1, quote, text.len - 1))
			return "g_extra and a_extra take NAME=\"VALUE\" …";
		piece_until(&text, quote);
		fault = add_attribute(a, f, of_link, name, piece_until(&text, quote));
	}
	return fault;
}

/* href, target */
static const char *add_alone(struct af_attributes *a, const char **where, struct piece value)
{
	bool control;
	const char *text = attributes_text(a, value, &control);

	*where = *text ? text : NULL;
	return control ? "a control character" : NULL;
}

static const char *add_href(struct af_attributes *a, struct af_frame_attributes *f,
                            struct piece value)
{
	const char *fault = add_alone(a, &f->href, value);

	if (!fault && f->href && href_runs(f->href))
		fault = "no scripts (javascript:, vbscript:, data:) here";
	return fault;
}

static const char *add_pair(struct af_attributes *a, struct af_frame_attributes *f,
                            struct piece pair)
{
	struct piece value = pair, name = piece_until(&value, '=');
	bool lines; /* a title may have several */

	if (name.len == pair.len)
		return "no = between attribute and value";
	if (piece_is(name, "title")) {
		const char *text = attributes_text(a, value, &lines);
		f->title = *text ? text : NULL;
		return NULL;
	}
	if (piece_is(name, "href"))
		return add_href(a, f, value);
	if (piece_is(name, "target"))
		return add_alone(a, &f->target, value);
	if (piece_is(name, "g_extra") || piece_is(name, "a_extra"))
		return add_extra(a, f, name.s[0] == 'a', value);
	return add_attribute(a, f, false, name, value);
}

static uint32_t attributes_id(struct af_attributes *a, const char *text, size_t len,
                              enum af_frame frame)
{
	struct af_buf key = {0};

	af_label_key(&key, text, len, frame);
	uint32_t id = af_strtab_id(&a->names, key.len ? key.data : "", key.len);
	AF_REACH(a->frames, id, a->cap);
	af_buf_free(&key);
	return id;
}

static const char *add_line(struct af_attributes *a, struct piece line)
{
	struct piece rest = line, name = piece_until(&rest, '\t');
	struct af_frame_attributes *f = af_arena_alloc(&a->arena, sizeof *f);
	const char *fault = NULL;

	if (name.len == line.len)
		return "no tab after the name";
	while (rest.len && !fault) {
		struct piece pair = piece_until(&rest, '\t');
		if (pair.len)
			fault = add_pair(a, f, pair);
	}
	uint32_t id = attributes_id(a, name.s, name.len, AF_FRAME_NATIVE); /* may move frames */
	a->frames[id] = f;
	return fault;
}

int af_attributes_open(struct af_attributes *a, const char *data, size_t size, const char *path,
                       struct af_err *err)
{
	struct piece rest = {data, size};

	*a = (struct af_attributes){0};
	for (uint64_t nr = 1; rest.len; nr++) {
		struct piece line = piece_until(&rest, '\n');
		if (line.len && line.s[line.len - 1] == '\r')
			line.len--;
		const char *fault = line.len ? add_line(a, line) : NULL;
		if (!fault)
			continue;
		struct af_buf shown = {0};
		af_buf_terminal(&shown, line.s, line.len < 100 ? line.len : 100, "");
		af_fail_plain(err, -EINVAL, "%s:%llu: %s: %s", path, (unsigned long long)nr, fault,
		              shown.data);
		af_buf_free(&shown);
		return -EINVAL;
	}
	return 0;
}

const struct af_frame_attributes *af_attributes_get(struct af_attributes *a, const char *text,
                                                    size_t len, enum af_frame frame)
{
	uint32_t id = attributes_id(a, text, len, frame);
	return a->frames[id];
}

void af_attributes_close(struct af_attributes *a)
{
	af_arena_free(&a->arena);
	af_strtab_free(&a->names);
	free(a->frames);
	*a = (struct af_attributes){0};
}
