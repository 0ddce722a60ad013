#include "api/model/rules.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"

/* The words of @text, one after the other with a NUL each, and an empty one at the end. */
static char *words_split(struct af_rules *r, const char *text, size_t len, const char *separators)
{
	char *copy = af_arena_alloc(&r->arena, len + 2);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (!strchr(separators, text[i]))
			copy[n++] = text[i];
		else if (n && copy[n - 1])
			copy[n++] = 0;
	}
	return copy;
}

static int rules_line(struct af_rules *r, char *text, uint32_t line, struct af_err *err)
{
	text[strcspn(text, "#\n")] = 0;
	size_t head = strcspn(text, " \t");
	char *rest = text + head + strspn(text + head, " \t");

	if (!*text || !text[strspn(text, " \t")])
		return 0;
	if (!strncmp(text, "success ", 8)) {
		r->success = strtoll(rest, NULL, 0);
		return 0;
	}
	if (!strncmp(text, "result ", 7)) {
		const char *words = words_split(r, rest, strlen(rest), " \t");
		r->result = words;
		r->result_as = words + strlen(words) + 1;
		return 0;
	}
	if (!strncmp(text, "type ", 5)) {
		const char *words = words_split(r, rest, strlen(rest), " \t");
		AF_GROW(r->types, r->nr_types, r->cap_types);
		r->types[r->nr_types++] = (struct af_rule_type){words, words + strlen(words) + 1};
		return 0;
	}
	if (!strncmp(text, "native ", 7)) {
		r->native = words_split(r, rest, strlen(rest), " \t");
		return 0;
	}
	if (!head || !*rest)
		return af_fail_plain(err, -EINVAL, "%s:%u: a pattern and a word are missing",
		                     r->path, line);
	AF_GROW(r->lines, r->nr_lines, r->cap_lines);
	r->lines[r->nr_lines++] = (struct af_rule_line){
	    .patterns = words_split(r, text, head, ","),
	    .words = words_split(r, rest, strlen(rest), " \t"),
	    .line = line,
	};
	return 0;
}

int af_rules_read(struct af_rules *r, const char *path, struct af_err *err)
{
	scope_free char *text = NULL;
	size_t cap = 0;
	int rc = 0;

	*r = (struct af_rules){0};
	r->path = af_arena_strdup(&r->arena, path, strlen(path));
	FILE *f = fopen(path, "re");
	if (!f)
		return af_fail(err, -errno, "cannot read %s", path);
	for (uint32_t line = 1; !rc && getline(&text, &cap, f) >= 0; line++)
		rc = rules_line(r, text, line, err);
	fclose(f);
	return rc;
}

void af_rules_free(struct af_rules *r)
{
	free(r->types);
	free(r->lines);
	af_arena_free(&r->arena);
	*r = (struct af_rules){0};
}

static const char *text_copy(struct af_rules *r, const char *text, size_t len)
{
	return af_arena_strdup(&r->arena, text, len);
}

/* "count", "@count", "@p.Member", "ranks(comm)" and the like, "3" */
static void factor_read(struct af_rules *r, const char *text, size_t len, struct af_factor *f)
{
	static const struct {
		const char *word;
		enum af_factor_kind kind;
	} of[] = {
	    {"ranks(", AF_FACTOR_RANKS}, {"size(", AF_FACTOR_SIZE},
	    {"sum(", AF_FACTOR_SUM},     {"volume(", AF_FACTOR_VOLUME},
	    {"pixel(", AF_FACTOR_PIXEL}, {"memory(", AF_FACTOR_MEMORY},
	    {"given(", AF_FACTOR_GIVEN},
	};
	const char *dot = memchr(text, '.', len);

	*f = (struct af_factor){0};
	for (unsigned i = 0; i < sizeof of / sizeof *of; i++) {
		size_t word = strlen(of[i].word);
		if (len < word + 2 || strncmp(text, of[i].word, word))
			continue;
		f->kind = of[i].kind;
		f->param = text_copy(r, text + word, len - word - 1);
		return;
	}
	if (text[0] >= '0' && text[0] <= '9') {
		f->number = strtoull(text, NULL, 0);
	} else if (text[0] == '@' && dot) {
		f->kind = AF_FACTOR_MEMBER;
		f->param = text_copy(r, text + 1, (size_t)(dot - text) - 1);
		f->member = text_copy(r, dot + 1, len - (size_t)(dot - text) - 1);
	} else {
		bool at = text[0] == '@';
		f->kind = at ? AF_FACTOR_AT : AF_FACTOR_PARAM;
		f->param = text_copy(r, text + at, len - at);
	}
}

static bool length_read(struct af_rules *r, const char *text, size_t len, struct af_length *l)
{
	const char *end = text + len;

	*l = (struct af_length){0};
	while (text < end) {
		size_t term = strcspn(text, ",");
		if (term > (size_t)(end - text))
			term = (size_t)(end - text);
		if (l->nr_terms == AF_TERMS_MAX || !term)
			return false;
		uint32_t *nr = &l->nr_factors[l->nr_terms];
		for (const char *p = text; p < text + term;) {
			size_t n = strcspn(p, "*");
			if (n > (size_t)(text + term - p))
				n = (size_t)(text + term - p);
			if (*nr == AF_FACTORS_MAX || !n)
				return false;
			factor_read(r, p, n, &l->factors[l->nr_terms][(*nr)++]);
			p += n + 1;
		}
		l->nr_terms++;
		text += term + 1;
	}
	return l->nr_terms > 0;
}

static bool param_shape(struct af_rules *r, const char *how, struct af_param_rule *p)
{
	static const struct {
		const char *word;
		enum af_rule_shape shape;
	} shapes[] = {
	    {"none", AF_SHAPE_NONE}, {"one", AF_SHAPE_ONE},     {"string", AF_SHAPE_STRING},
	    {"zero", AF_SHAPE_ZERO}, {"pairs", AF_SHAPE_PAIRS},
	};
	const struct {
		const char *word;
		bool *flag;
	} flags[] = {
	    {"inout", &p->is_inout},
	    {"in", &p->is_in},
	    {"c-only", &p->is_c_only},
	    {"filled", &p->is_filled},
	};
	size_t len = strlen(how);

	for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		if (!strcmp(how, shapes[i].word)) {
			p->shape = shapes[i].shape;
			return true;
		}
	}
	for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
		if (!strcmp(how, flags[i].word)) {
			*flags[i].flag = true;
			return true;
		}
	}
	if (!strncmp(how, "as:", 3)) {
		p->as = how + 3;
		return true;
	}
	if (how[0] == '[' && how[len - 1] == ']') {
		p->shape = AF_SHAPE_ARRAY;
		return length_read(r, how + 1, len - 2, &p->length);
	}
	if (!strncmp(how, "bytes[", 6) && how[len - 1] == ']') {
		p->shape = AF_SHAPE_BYTES;
		return length_read(r, how + 6, len - 7, &p->length);
	}
	return false;
}

/* Words about the function itself. False: it is none of them. */
static bool function_word(struct af_rules *r, const char *word, struct af_function_rule *out)
{
	if (!strncmp(word, "class:", 6))
		out->category = word + 6;
	else if (!strncmp(word, "level:", 6))
		out->level = word + 6;
	else if (!strncmp(word, "moves:", 6))
		return length_read(r, word + 6, strlen(word + 6), &out->moves);
	else if (!strncmp(word, "op:", 3))
		out->op = word + 3;
	else if (!strncmp(word, "memory:", 7))
		out->memory = word + 7;
	else if (!strncmp(word, "error:", 6))
		out->error = word + 6;
	else if (!strncmp(word, "returns:", 8))
		out->returns = word + 8;
	else if (!strncmp(word, "bytes:", 6))
		return length_read(r, word + 6, strlen(word + 6), &out->bytes);
	else if (!strcmp(word, "never-fails"))
		out->never_fails = true;
	else if (!strcmp(word, "blocks"))
		out->blocks = true;
	else if (!strcmp(word, "safe"))
		out->is_safe = true;
	else if (!strcmp(word, "entry"))
		out->is_entry = true;
	else if (!strcmp(word, "variadic"))
		out->is_variadic = true;
	else if (!strcmp(word, "fortran"))
		out->is_fortran = true;
	else if (!strcmp(word, "no-fortran"))
		out->is_fortran = false;
	else
		return false;
	return true;
}

static int rule_word(struct af_rules *r, const struct af_rule_line *line, const char *word,
                     const struct af_model_function *f, struct af_function_rule *out,
                     struct af_err *err)
{
	const char *colon = strchr(word, ':');

	if (function_word(r, word, out))
		return 0;
	for (uint32_t i = 0; colon && i < f->nr_params; i++) {
		const char *name = f->params[i].name;
		if (strncmp(name, word, (size_t)(colon - word)) || name[colon - word])
			continue;
		if (param_shape(r, colon + 1, &out->params[i]))
			return 0;
		break;
	}
	/* A pattern may match functions that lack the parameter. */
	if (colon && strpbrk(line->patterns, "*?[") && strchr("[bcfnoszpia", colon[1]))
		return 0;
	return af_fail_plain(err, -EINVAL, "%s:%u: %s of %s makes no sense", r->path, line->line,
	                     word, f->name);
}

static bool line_matches(const struct af_rule_line *line, const char *name)
{
	for (const char *p = line->patterns; *p; p += strlen(p) + 1)
		if (!fnmatch(p, name, 0))
			return true;
	return false;
}

int af_rules_apply(struct af_rules *r, const struct af_model_function *f,
                   struct af_function_rule *out, struct af_err *err)
{
	int rc = 0;

	*out = (struct af_function_rule){
	    .params = af_arena_alloc(&r->arena, (f->nr_params + 1) * sizeof *out->params)};
	for (uint32_t i = 0; !rc && i < r->nr_lines; i++) {
		if (!line_matches(&r->lines[i], f->name))
			continue;
		for (const char *w = r->lines[i].words; !rc && *w; w += strlen(w) + 1)
			rc = rule_word(r, &r->lines[i], w, f, out, err);
	}
	return rc;
}
