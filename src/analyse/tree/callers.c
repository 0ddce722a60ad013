#include "analyse/tree/callers.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/ids.h"
#include "analyse/tree/module_key.h"
#include "base/arena.h"

static uint32_t hits_count(struct af_hits *h, const struct af_tree *t)
{
	h->nr = 0;
	for (uint32_t i = 1; i < t->nr_names; i++)
		h->nr += h->is[i];
	return h->nr;
}

static uint32_t hits_by_name(struct af_hits *h, const struct af_tree *t, const char *words)
{
	size_t nr = strlen(words), len;

	for (uint32_t i = 1; i < t->nr_names; i++) {
		const char *text = af_tree_text(t, i, &len);
		h->is[i] = len == nr && !memcmp(text, words, len);
	}
	return hits_count(h, t);
}

/* "libx.so!" before a name of @frame: of any version, and with its folder or not. */
static bool is_module(const char *words, size_t len, enum af_frame frame, const char *key)
{
	struct af_buf as = {0}, reported = {0};

	af_buf_add(&reported, words, len);
	af_buf_char(&reported, 0);
	af_module_key(&as, frame, reported.data, NULL);
	bool is = strlen(key) == as.len && (!as.len || !memcmp(as.data, key, as.len));
	af_buf_free(&reported);
	af_buf_free(&as);
	return is;
}

/* "NAME", "libx.so!NAME"; "!NAME" is one of no module. */
static bool is_spelled(const struct af_tree *t, uint32_t name, const char *words)
{
	size_t len, nr = strlen(words);
	const char *text = af_tree_text(t, name, &len);

	if (nr < len || memcmp(words + nr - len, text, len) != 0)
		return false;
	return nr == len ||
	       (words[nr - len - 1] == '!' &&
	        is_module(words, nr - len - 1, af_tree_frame(t, name), af_tree_key(t, name)));
}

/* Past "gpu:" or, of native, inlined and made at run time, "host:"; NULL: another's side. */
static const char *past_side(const char *words, enum af_frame frame)
{
	const char *sides[] = {af_frame_side(frame), af_frame_name(frame)};

	for (unsigned k = 0; k < 2; k++) {
		size_t len = strlen(sides[k]);
		if (!strncmp(words, sides[k], len) && words[len] == ':')
			return words + len + 1;
	}
	return NULL;
}

static uint32_t hits_spelled(struct af_hits *h, const struct af_tree *t, const char *words)
{
	for (uint32_t i = 1; i < t->nr_names; i++) {
		const char *rest = past_side(words, af_tree_frame(t, i));
		h->is[i] = is_spelled(t, i, words) || (rest && is_spelled(t, i, rest));
	}
	return hits_count(h, t);
}

/* "python:": all functions of the side. */
static uint32_t hits_by_side(struct af_hits *h, const struct af_tree *t, const char *words)
{
	for (uint32_t i = 1; i < t->nr_names; i++) {
		const char *rest = past_side(words, af_tree_frame(t, i));
		h->is[i] = rest && !*rest;
	}
	return hits_count(h, t);
}

static uint32_t hits_by_id(struct af_hits *h, const struct af_tree *t, const char *words)
{
	char id[AF_ID_SIZE];

	for (uint32_t i = 1; i < t->nr_names; i++) {
		af_name_id(id, t, i);
		h->is[i] = !strcmp(id, words);
	}
	return hits_count(h, t);
}

static bool is_same_function(const struct af_tree *t, uint32_t a, uint32_t b)
{
	size_t len_a, len_b;
	const char *x = af_tree_text(t, a, &len_a), *y = af_tree_text(t, b, &len_b);

	return len_a == len_b && !memcmp(x, y, len_a) &&
	       !strcmp(af_frame_side(af_tree_frame(t, a)), af_frame_side(af_tree_frame(t, b))) &&
	       !strcmp(af_tree_key(t, a), af_tree_key(t, b));
}

void af_hits_function(struct af_hits *h, const struct af_tree *t, uint32_t name)
{
	*h = (struct af_hits){.how = AF_HITS_NAME};
	h->is = af_xcalloc(t->nr_names + 1, sizeof *h->is);
	for (uint32_t i = 1; i < t->nr_names; i++)
		h->is[i] = is_same_function(t, i, name);
	hits_count(h, t);
}

/* Names may hold NULs and need not end in one: the C library gets their length. */
static bool name_matches(const regex_t *re, const char *text, size_t len)
{
	regmatch_t part = {.rm_so = 0, .rm_eo = (regoff_t)len};

	return !regexec(re, text, 1, &part, REG_STARTEND);
}

static bool name_holds(const char *text, size_t len, const char *part, size_t nr)
{
	for (size_t at = 0; nr && at + nr <= len; at++)
		if (!strncasecmp(text + at, part, nr))
			return true;
	return false;
}

void af_pattern_open(struct af_pattern *p, const char *text)
{
	p->text = text;
	p->valid = !regcomp(&p->re, text, REG_EXTENDED | REG_ICASE);
}

bool af_pattern_is(const struct af_pattern *p, const char *name, size_t len)
{
	return p->valid ? name_matches(&p->re, name, len)
	                : name_holds(name, len, p->text, strlen(p->text));
}

void af_pattern_close(struct af_pattern *p)
{
	if (p->valid)
		regfree(&p->re);
}

void af_hits_match(struct af_hits *h, const struct af_tree *t, const char *pattern)
{
	struct af_pattern p;
	size_t len;

	af_pattern_open(&p, pattern);
	*h = (struct af_hits){.how = p.valid ? AF_HITS_PATTERN : AF_HITS_PART};
	h->is = af_xcalloc(t->nr_names + 1, sizeof *h->is);
	for (uint32_t i = 1; i < t->nr_names; i++) {
		const char *text = af_tree_text(t, i, &len);
		h->is[i] = af_pattern_is(&p, text, len);
	}
	af_pattern_close(&p);
	hits_count(h, t);
}

void af_hits_find(struct af_hits *h, const struct af_tree *t, const char *words)
{
	*h = (struct af_hits){.how = AF_HITS_NAME};
	h->is = af_xcalloc(t->nr_names + 1, sizeof *h->is);
	if (hits_by_name(h, t, words) || hits_spelled(h, t, words))
		return;
	h->how = AF_HITS_SIDE;
	if (hits_by_side(h, t, words))
		return;
	h->how = AF_HITS_ID;
	if (af_is_function_id(words) && hits_by_id(h, t, words))
		return;
	af_hits_free(h);
	af_hits_match(h, t, words);
}

void af_hits_free(struct af_hits *h)
{
	free(h->is);
	h->is = NULL;
}

/* By node: is it, or is a frame above it, one that is meant? */
static uint8_t *hits_inside(const struct af_tree *t, const struct af_hits *h)
{
	uint8_t *inside = af_xcalloc(t->nr + 1, sizeof *inside);

	for (uint32_t n = 1; n < t->nr; n++)
		inside[n] = inside[t->nodes[n].parent] | h->is[t->nodes[n].name];
	return inside;
}

static bool is_outermost(const struct af_tree *t, const uint8_t *inside, uint32_t n)
{
	return inside[n] && !inside[t->nodes[n].parent];
}

static void sum_add(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

void af_hits_weight(const struct af_tree *t, const struct af_hits *h, uint32_t weight,
                    uint64_t *total, uint64_t *self)
{
	uint8_t *inside = hits_inside(t, h);

	*total = *self = 0;
	for (uint32_t n = 1; n < t->nr; n++) {
		if (is_outermost(t, inside, n))
			sum_add(total, t->total[weight][n]);
		if (h->is[t->nodes[n].name])
			sum_add(self, t->self[weight][n]);
	}
	free(inside);
}

static void reported_function(struct af_buf *b, const struct af_tree *t, uint32_t name)
{
	const struct af_name_key f = af_name_key_of(t, name);
	struct af_buf words = {0};

	af_function_words(&words, t, &f);
	af_buf_terminal(b, words.data, words.len, "");
	af_buf_free(&words);
}

/* One name of each function that is meant; the caller frees them. */
static uint32_t *functions_meant(const struct af_hits *h, const struct af_tree *t, uint32_t *nr)
{
	uint32_t *names = NULL, cap = 0;

	*nr = 0;
	for (uint32_t i = 1; i < t->nr_names; i++) {
		bool known = !h->is[i];
		for (uint32_t k = 0; k < *nr && !known; k++)
			known = is_same_function(t, names[k], i);
		if (known)
			continue;
		AF_GROW(names, *nr, cap);
		names[(*nr)++] = i;
	}
	return names;
}

enum { FUNCTIONS_REPORTED = 4 }; /* more are counted */

void af_hits_choose(struct af_hits *h, const struct af_tree *t, uint32_t weight,
                    struct af_buf *reported)
{
	uint32_t nr = 0, best = 0, *names = NULL, others = 0;
	uint64_t most = 0, total, self;

	if (h->how == AF_HITS_NAME)
		names = functions_meant(h, t, &nr);
	for (uint32_t k = 0; nr > 1 && k < nr; k++) {
		struct af_hits one;
		af_hits_function(&one, t, names[k]);
		af_hits_weight(t, &one, weight, &total, &self);
		af_hits_free(&one);
		if (total > most) {
			most = total;
			best = k;
		}
	}
	if (nr > 1) {
		af_hits_free(h);
		af_hits_function(h, t, names[best]);
		reported_function(reported, t, names[best]);
	}
	for (uint32_t k = 0; nr > 1 && k < nr; k++) {
		if (k == best || others++ >= FUNCTIONS_REPORTED)
			continue;
		af_buf_str(reported, ", not ");
		reported_function(reported, t, names[k]);
	}
	if (others > FUNCTIONS_REPORTED)
		af_buf_fmt(reported, ", nor %u others", others - FUNCTIONS_REPORTED);
	free(names);
}

struct af_name_key af_name_key_of(const struct af_tree *t, uint32_t name)
{
	struct af_name_key f = {.frame = af_tree_frame(t, name),
	                        .module = af_tree_key(t, name),
	                        .qualified = af_tree_is_qualified(t, name)};

	f.text = af_tree_text(t, name, &f.len);
	return f;
}

void af_function_words(struct af_buf *b, const struct af_tree *in, const struct af_name_key *f)
{
	const char *side = af_frame_side(f->frame);
	bool other_side = false, other_key = f->qualified, both = false;
	size_t len;

	for (uint32_t i = 1; i < in->nr_names; i++) {
		const char *text = af_tree_text(in, i, &len);
		if (len != f->len || memcmp(text, f->text, len) != 0)
			continue;
		bool here = !strcmp(af_frame_side(af_tree_frame(in, i)), side);
		bool same = !strcmp(af_tree_key(in, i), f->module);
		other_side |= !here;
		other_key |= here && !same;
		both |= !here && same;
	}
	if (other_side && (both || !other_key))
		af_buf_fmt(b, "%s:", side);
	if (other_key)
		af_buf_fmt(b, "%s!", f->module);
	af_buf_add(b, f->text, f->len);
}

/* Names of @src in @dst, made when first met. */
struct renaming {
	struct af_tree *dst;
	const struct af_tree *src;
	uint32_t *ids; /* 0: not met */
};

static uint32_t rename_to(struct renaming *r, uint32_t name)
{
	if (!r->ids[name])
		r->ids[name] = af_tree_name_like(r->dst, r->src, name, 1);
	return r->ids[name];
}

static struct renaming renaming_open(struct af_tree *dst, const struct af_tree *src)
{
	af_tree_open(dst, src->weights, src->nr_weights);
	dst->saturated = src->saturated;
	return (struct renaming){dst, src, af_xcalloc(src->nr_names + 1, sizeof(uint32_t))};
}

void af_tree_callers(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h)
{
	struct renaming names = renaming_open(dst, src);
	uint8_t *inside = hits_inside(src, h);

	for (uint32_t n = 1; n < src->nr; n++) {
		if (!is_outermost(src, inside, n))
			continue;
		uint32_t at = 0;
		for (uint32_t up = src->nodes[n].parent; up; up = src->nodes[up].parent)
			at = af_tree_child(dst, at, rename_to(&names, src->nodes[up].name));
		for (uint32_t w = 0; w < src->nr_weights; w++)
			af_tree_add(dst, at, w, src->total[w][n]);
	}
	free(inside);
	free(names.ids);
	af_tree_finish(dst);
}

void af_tree_callees(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h)
{
	struct renaming names = renaming_open(dst, src);
	uint8_t *inside = hits_inside(src, h);
	uint32_t *to = af_xcalloc(src->nr + 1, sizeof *to);

	for (uint32_t n = 1; n < src->nr; n++) {
		if (!inside[n])
			continue;
		if (!is_outermost(src, inside, n))
			to[n] = af_tree_child(dst, to[src->nodes[n].parent],
			                      rename_to(&names, src->nodes[n].name));
		for (uint32_t w = 0; w < src->nr_weights; w++)
			af_tree_add(dst, to[n], w, src->self[w][n]);
	}
	free(to);
	free(inside);
	free(names.ids);
	af_tree_finish(dst);
}
