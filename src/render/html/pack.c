#include "render/html/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"

void html_pack_free(struct html_pack *p)
{
	for (struct html_tree *t = p->first, *next; t; t = next) {
		next = t->next;
		for (uint32_t w = 0; w < t->nr_weights; w++) {
			free(t->weights[w].name);
			free(t->weights[w].unit);
			af_buf_free(&t->weights[w].column);
		}
		af_buf_free(&t->depths);
		free(t->names);
		free(t->label);
		free(t);
	}
	af_strtab_free(&p->names);
	af_strtab_free(&p->modules);
	af_strtab_free(&p->keys);
	free(p->in);
	free(p->order);
	free(p->rank);
	af_buf_free(&p->scratch);
	*p = (struct html_pack){0};
}

/* names */

/* @text on one line: control characters by their picture. The browser sees to invalid UTF-8. */
static void add_line(struct af_buf *b, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c >= 0x20 && c != 0x7f) {
			af_buf_char(b, text[i]);
			continue;
		}
		char picture[3] = {'\xe2', '\x90', (char)(c < 0x20 ? 0x80 + c : 0xa1)};
		af_buf_add(b, picture, sizeof picture);
	}
}

enum { NAME_TAIL = 5 }; /* what stands behind the text */

static uint32_t name_of(struct html_pack *p, const char *text, size_t len, enum af_frame frame,
                        uint32_t key)
{
	struct af_buf *scratch = &p->scratch;

	scratch->len = 0;
	add_line(scratch, text, len);
	af_buf_char(scratch, (char)(1 + frame));
	af_buf_add(scratch, &key, sizeof key);
	return af_strtab_id(&p->names, scratch->data, scratch->len);
}

uint32_t html_pack_name(struct html_pack *p, const char *text, size_t len, enum af_frame frame)
{
	return name_of(p, text, len, frame, 0);
}

static uint32_t line_id(struct af_strtab *of, const char *text)
{
	struct af_buf line = {0};

	add_line(&line, text, strlen(text));
	uint32_t id = line.len ? af_strtab_id(of, line.data, line.len) : 0;
	af_buf_free(&line);
	return id;
}

/* No file has the name that stands for several. */
static void name_in(struct html_pack *p, uint32_t id, const char *module)
{
	uint32_t several = af_strtab_id_z(&p->modules, "\n");
	uint32_t is = *module ? line_id(&p->modules, module) : several, *was = &p->in[id].file;

	*was = *was && *was != is ? several : is;
}

uint32_t html_pack_frame(struct html_pack *p, const struct af_tree *t, uint32_t name)
{
	size_t len;
	const char *text = af_tree_text(t, name, &len), *module = af_tree_module(t, name);
	enum af_frame frame = af_tree_frame(t, name);
	uint32_t key = line_id(&p->keys, af_tree_key(t, name));
	uint32_t id = name_of(p, text, len, frame, key);

	while (p->cap_in <= id) {
		uint32_t nr = p->cap_in;
		AF_GROW(p->in, nr, p->cap_in);
		memset(p->in + nr, 0, (p->cap_in - nr) * sizeof *p->in);
	}
	if (module && frame != AF_FRAME_GPU && frame != AF_FRAME_GPU_INSN)
		name_in(p, id, module);
	if (af_tree_is_qualified(t, name))
		p->in[id].reported = key;
	return id;
}

static uint32_t key_of(const struct af_strtab *names, uint32_t id)
{
	uint32_t key;

	memcpy(&key, names->strings[id] + names->lens[id] - sizeof key, sizeof key);
	return key;
}

static int compare_names(const void *a, const void *b, void *arg)
{
	const struct html_pack *p = arg;
	const struct af_strtab *s = &p->names;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	size_t len_x = s->lens[x] - NAME_TAIL, len_y = s->lens[y] - NAME_TAIL;
	int order = memcmp(s->strings[x], s->strings[y], len_x < len_y ? len_x : len_y);

	if (order)
		return order;
	if (len_x != len_y)
		return len_x < len_y ? -1 : 1;
	if (s->strings[x][len_x] != s->strings[y][len_y])
		return s->strings[x][len_x] - s->strings[y][len_y];
	return strcmp(af_strtab_get(&p->keys, key_of(s, x)), af_strtab_get(&p->keys, key_of(s, y)));
}

uint32_t html_pack_nr_names(const struct html_pack *p)
{
	return p->names.nr ? p->names.nr - 1 : 0; /* without entry 0, the empty string */
}

void html_pack_sort(struct html_pack *p)
{
	uint32_t nr = html_pack_nr_names(p);

	p->order = af_xcalloc((size_t)nr + 1, sizeof *p->order);
	p->rank = af_xcalloc((size_t)nr + 1, sizeof *p->rank);
	for (uint32_t i = 0; i < nr; i++)
		p->order[i] = i + 1;
	qsort_r(p->order, nr, sizeof *p->order, compare_names, p);
	for (uint32_t i = 0; i < nr; i++)
		p->rank[p->order[i]] = i;
}

/* blobs */

void html_base64(struct af_buf *out, const void *data, size_t len)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
		             (left > 2 ? p[i + 2] : 0);
		char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
		                left > 1 ? digits[v >> 6 & 63] : '=',
		                left > 2 ? digits[v & 63] : '='};
		af_buf_add(out, four, 4);
	}
}

/* Those of seven bits that HTML, or a terminal that shows the page, takes for something else. */
static const unsigned char escaped[] = {0, 5, 7, 8, 11, 12, 13, 14, 15, 24, 26, 27, '<', 127};

/* Append the character for @seven, or for it and the @after of one that is escaped. */
static size_t add_seven(char *to, unsigned seven, unsigned after)
{
	const unsigned char *found = memchr(escaped, (int)seven, sizeof escaped);

	if (!found) {
		to[0] = (char)seven;
		return 1;
	}
	unsigned code = 256 + (unsigned)(found - escaped) * 128 + after;
	to[0] = (char)(0xc0 | code >> 6);
	to[1] = (char)(0x80 | (code & 63));
	return 2;
}

/* The next seven bits of @data, 0 beyond its end. */
static unsigned next_seven(const unsigned char *data, size_t len, size_t *bit)
{
	size_t at = *bit / 8;
	unsigned pair = at < len ? (unsigned)data[at] << 8 : 0;

	if (at + 1 < len)
		pair |= data[at + 1];
	pair = pair >> (9 - *bit % 8) & 127;
	*bit += 7;
	return pair;
}

void html_text(struct af_buf *out, const void *data, size_t len)
{
	char *text = af_xrealloc(NULL, len * 16 / 7 + 4);
	size_t bit = 0, nr = 1;

	while (bit < len * 8) {
		unsigned seven = next_seven(data, len, &bit);
		size_t added = add_seven(text + nr, seven, 0);
		if (added > 1)
			added = add_seven(text + nr, seven, next_seven(data, len, &bit));
		nr += added;
	}
	text[0] = (char)('0' + (bit / 8 - len));
	af_buf_add(out, text, nr);
	free(text);
}

void html_section_head(uint8_t head[HTML_SECTION_HEAD], uint64_t size)
{
	for (int i = 0; i < HTML_SECTION_HEAD; i++)
		head[i] = (uint8_t)(size >> 8 * i);
}

static void add_section(struct af_buf *b, const struct af_buf *section)
{
	uint8_t head[HTML_SECTION_HEAD];

	html_section_head(head, section->len);
	af_buf_add(b, head, sizeof head);
	if (section->len)
		af_buf_add(b, section->data, section->len);
}

/*
 * Varints, as a section of all first bytes, then all second ones, …: bytes that mean the same
 * stand together, and deflate finds that those are few.
 */
static void add_planes(struct af_buf *b, const struct af_buf *varints)
{
	size_t ends[10] = {0}, len = varints->len, at = 0;
	struct af_buf planes = {.data = af_xrealloc(NULL, len + 1), .len = len};

	for (size_t i = 0, plane = 0; i < len; i++) {
		ends[plane]++;
		plane = (unsigned char)varints->data[i] > 127 ? plane + 1 : 0;
	}
	for (int plane = 0; plane < 10; plane++) {
		size_t starts = at;
		at += ends[plane];
		ends[plane] = starts;
	}
	for (size_t i = 0, plane = 0; i < len; i++) {
		planes.data[ends[plane]++] = varints->data[i];
		plane = (unsigned char)varints->data[i] > 127 ? plane + 1 : 0;
	}
	add_section(b, &planes);
	free(planes.data);
}

int html_pack_plain(const void *plain, size_t size, struct af_buf *out)
{
	z_stream z = {0};

	if (deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	size_t room = deflateBound(&z, size);
	unsigned char *packed = af_xrealloc(NULL, room);
	z.next_in = (unsigned char *)plain;
	z.avail_in = (uInt)size;
	z.next_out = packed;
	z.avail_out = (uInt)room;
	int end = deflate(&z, Z_FINISH);
	if (end == Z_STREAM_END)
		html_text(out, packed, room - z.avail_out);
	deflateEnd(&z);
	free(packed);
	return end == Z_STREAM_END ? 0 : -ENOMEM;
}

static int add_deflated(struct af_buf *out, const struct af_buf *plain)
{
	return html_pack_plain(plain->data, plain->len, out);
}

/* The strings from @first on. */
static void add_lines(struct af_buf *b, const struct af_strtab *of, uint32_t first)
{
	struct af_buf lines = {0};

	for (uint32_t i = first; i < of->nr; i++) {
		if (i > first)
			af_buf_char(&lines, '\n');
		af_buf_add(&lines, of->strings[i], of->lens[i]);
	}
	add_section(b, &lines);
	af_buf_free(&lines);
}

int html_pack_names(const struct html_pack *p, struct af_buf *out)
{
	uint32_t nr = html_pack_nr_names(p);
	struct af_buf plain = {0}, text = {0}, frames = {0}, in = {0}, reported = {0};

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t id = p->order[i];
		const char *name = p->names.strings[id];
		size_t len = p->names.lens[id] - NAME_TAIL;
		if (i)
			af_buf_char(&text, '\n');
		af_buf_add(&text, name, len);
		af_buf_char(&frames, (char)(name[len] - 1));
		af_buf_leb128(&in, id < p->cap_in ? p->in[id].file : 0);
		af_buf_leb128(&reported, id < p->cap_in ? p->in[id].reported : 0);
	}
	add_section(&plain, &text);
	add_section(&plain, &frames);
	add_planes(&plain, &in);
	add_lines(&plain, &p->modules, 2);
	add_planes(&plain, &reported);
	add_lines(&plain, &p->keys, 1);
	int rc = add_deflated(out, &plain);
	af_buf_free(&plain);
	af_buf_free(&text);
	af_buf_free(&frames);
	af_buf_free(&in);
	af_buf_free(&reported);
	return rc;
}

int html_pack_bytes(const struct af_buf *bytes, struct af_buf *out)
{
	struct af_buf plain = {0};

	add_section(&plain, bytes);
	int rc = add_deflated(out, &plain);
	af_buf_free(&plain);
	return rc;
}

int html_pack_sections(const struct af_buf *columns, uint32_t nr, struct af_buf *out)
{
	struct af_buf plain = {0};

	for (uint32_t i = 0; i < nr; i++)
		add_planes(&plain, &columns[i]);
	int rc = add_deflated(out, &plain);
	af_buf_free(&plain);
	return rc;
}
