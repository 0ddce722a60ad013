#include "analyse/callers.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ids.h"
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

/* "gpu:matmul"; "host:matmul" is native, inlined and made at run time. */
static uint32_t hits_by_side(struct af_hits *h, const struct af_tree *t, const char *words)
{
	const char *colon = strchr(words, ':');
	size_t side = colon ? (size_t)(colon - words) : 0;

	if (!side)
		return 0;
	hits_by_name(h, t, colon + 1);
	for (uint32_t i = 1; i < t->nr_names; i++) {
		const char *sides[] = {af_frame_side(af_tree_frame(t, i)),
		                       af_frame_name(af_tree_frame(t, i))};
		bool is = false;
		for (unsigned k = 0; k < 2; k++)
			is |= strlen(sides[k]) == side && !memcmp(sides[k], words, side);
		h->is[i] &= is;
	}
	return hits_count(h, t);
}

static uint32_t hits_by_id(struct af_hits *h, const struct af_tree *t, const char *words)
{
	char id[AF_ID_SIZE];
	size_t len;

	for (uint32_t i = 1; i < t->nr_names; i++) {
		const char *text = af_tree_text(t, i, &len);
		af_function_id(id, af_tree_frame(t, i), text, len);
		h->is[i] = !strcmp(id, words);
	}
	return hits_count(h, t);
}

/* Names may hold NULs and need not end in one: the C library is told where they end. */
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

void af_hits_match(struct af_hits *h, const struct af_tree *t, const char *pattern)
{
	size_t len, nr = strlen(pattern);
	regex_t re;
	bool valid = !regcomp(&re, pattern, REG_EXTENDED | REG_ICASE);

	*h = (struct af_hits){.how = valid ? AF_HITS_PATTERN : AF_HITS_PART};
	h->is = af_xcalloc(t->nr_names + 1, sizeof *h->is);
	for (uint32_t i = 1; i < t->nr_names; i++) {
		const char *text = af_tree_text(t, i, &len);
		h->is[i] =
		    valid ? name_matches(&re, text, len) : name_holds(text, len, pattern, nr);
	}
	if (valid)
		regfree(&re);
	hits_count(h, t);
}

void af_hits_find(struct af_hits *h, const struct af_tree *t, const char *words)
{
	*h = (struct af_hits){.how = AF_HITS_NAME};
	h->is = af_xcalloc(t->nr_names + 1, sizeof *h->is);
	if (hits_by_name(h, t, words) || hits_by_side(h, t, words))
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

/* Those of @of that are on the side @side. */
static struct af_hits hits_on(const struct af_hits *of, const struct af_tree *t, const char *side)
{
	struct af_hits h = {.how = of->how};

	h.is = af_xcalloc(t->nr_names + 1, sizeof *h.is);
	for (uint32_t i = 1; i < t->nr_names; i++)
		h.is[i] = of->is[i] && !strcmp(af_frame_side(af_tree_frame(t, i)), side);
	hits_count(&h, t);
	return h;
}

void af_hits_choose(struct af_hits *h, const struct af_tree *t, uint32_t weight,
                    struct af_buf *said)
{
	struct af_hits best = {0};
	const char *sides[AF_FRAME_END], *chosen = NULL;
	uint64_t most = 0, total, self;
	uint32_t nr = 0, named = 0;
	size_t len;

	for (uint32_t i = 1; h->how == AF_HITS_NAME && i < t->nr_names; i++) {
		const char *side = af_frame_side(af_tree_frame(t, i));
		bool known = !h->is[i];
		for (uint32_t k = 0; k < nr; k++)
			known |= !strcmp(sides[k], side);
		if (h->is[i])
			named = i;
		if (!known)
			sides[nr++] = side;
	}
	for (uint32_t k = 0; nr > 1 && k < nr; k++) {
		struct af_hits one = hits_on(h, t, sides[k]);
		af_hits_weight(t, &one, weight, &total, &self);
		struct af_hits *worse = !chosen || total > most ? &best : &one;
		af_hits_free(worse);
		if (worse == &best) {
			best = one;
			most = total;
			chosen = sides[k];
		}
	}
	if (!chosen)
		return;
	af_hits_free(h);
	*h = best;
	const char *text = af_tree_text(t, named, &len);
	af_buf_fmt(said, "%s:", chosen);
	af_buf_terminal(said, text, len, "");
	for (uint32_t k = 0; k < nr; k++) {
		if (sides[k] == chosen)
			continue;
		af_buf_fmt(said, ", not %s:", sides[k]);
		af_buf_terminal(said, text, len, "");
	}
}

void af_function_words(struct af_buf *b, const struct af_tree *t, const char *text, size_t len,
                       enum af_frame frame)
{
	const char *side = af_frame_side(frame);
	bool several = false;
	size_t nr;

	for (uint32_t i = 1; i < t->nr_names; i++) {
		const char *other = af_tree_text(t, i, &nr);
		several |= nr == len && !memcmp(other, text, len) &&
		           strcmp(af_frame_side(af_tree_frame(t, i)), side) != 0;
	}
	if (several)
		af_buf_fmt(b, "%s:", side);
	af_buf_add(b, text, len);
}

/* Names of @src in @dst, made when first met. */
struct renaming {
	struct af_tree *dst;
	const struct af_tree *src;
	uint32_t *ids; /* 0: not met */
};

static uint32_t rename_to(struct renaming *r, uint32_t name)
{
	size_t len;

	if (!r->ids[name]) {
		const char *text = af_tree_text(r->src, name, &len);
		r->ids[name] = af_tree_name(r->dst, text, len, af_tree_frame(r->src, name), 1);
	}
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
