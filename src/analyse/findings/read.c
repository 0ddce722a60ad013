/* Reading the tables that findings are made of, and the small words of their sentences. */
#include <math.h>
#include <string.h>

#include "analyse/findings/private.h"
#include "analyse/names/name_forms.h"
#include "analyse/tree/callers.h"
#include "base/buf.h"

const struct af_table *findings_table(const struct findings *s, const char *name)
{
	return af_tables_find(s->f, name);
}

uint64_t findings_value(const struct af_cell *cell)
{
	return cell && !cell->unknown ? cell->value : 0;
}

const char *findings_text(const struct af_cell *cell)
{
	return cell && cell->text ? cell->text : "";
}

uint64_t findings_sum(const struct af_table *t, size_t column)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; t && i < t->nr_rows; i++)
		sum += findings_value(&t->cells[(size_t)i * t->nr_columns + column]);
	return sum;
}

const char *findings_share(struct findings *s, uint64_t part, uint64_t whole)
{
	uint64_t share = af_tables_ratio(part, whole, 1e3);

	return af_tables_text(s->f, "%llu.%llu %%", (unsigned long long)(share / 10),
	                      (unsigned long long)(share % 10));
}

/* Tenths of a percent: the standard error of the share that @n of @all samples are. */
static unsigned long long share_error(uint64_t n, uint64_t all)
{
	double part = (double)n / (double)all;

	return (unsigned long long)(sqrt((double)n * (1 - part)) / (double)all * 1000 + 0.5);
}

const char *findings_sampled(struct findings *s, struct finding *x, const struct af_tree *t,
                             struct findings_sum part)
{
	const struct findings_sum all = findings_total(t);
	uint64_t share = af_tables_ratio(part.ns, all.ns, 1e3);
	const char *error = "";

	x->ns = part.ns;
	x->of_ns = all.ns;
	x->of = s->r->has[AF_VIEW_CPU] & AF_HAS_WALL ? "wall-clock time" : "CPU time";
	x->samples = part.samples;
	x->is_sampled = all.samples != 0;
	if (all.samples && part.samples <= all.samples) {
		unsigned long long tenths = share_error(part.samples, all.samples);
		error = af_tables_text(s->f, " ± %llu.%llu", tenths / 10, tenths % 10);
	}
	return af_tables_text(s->f, "%s (%llu.%llu%s %% of %s %s)", af_tables_ns(s->f, part.ns),
	                      (unsigned long long)(share / 10), (unsigned long long)(share % 10),
	                      error, af_tables_ns(s->f, all.ns), x->of);
}

const char *findings_number(struct findings *s, uint64_t n)
{
	if (n < 1000)
		return af_tables_text(s->f, "%llu", (unsigned long long)n);
	return af_tables_text(s->f, "%s,%03llu", findings_number(s, n / 1000),
	                      (unsigned long long)(n % 1000));
}

const char *findings_count(struct findings *s, uint64_t n, const char *what)
{
	return af_tables_text(s->f, "%s %s%s", findings_number(s, n), what, n == 1 ? "" : "s");
}

const char *findings_bytes(struct findings *s, uint64_t n)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
	double value = (double)n;
	unsigned u = 0;

	while (value >= 1000 && u < 6) {
		value /= 1000;
		u++;
	}
	return af_tables_text(s->f, u ? "%.1f %s" : "%.0f %s", value, units[u]);
}

/* The most that it takes in any view. */
static const char *function_words(struct findings *s, const struct af_name_key *f)
{
	const char *words = f->text;
	size_t most = f->len;

	for (int v = 0; v < AF_VIEWS; v++) {
		struct af_buf b = {0};
		if (s->r->trees[v].nr)
			af_function_words(&b, &s->r->trees[v], f);
		if (b.len > most) {
			most = b.len;
			words = af_arena_strdup(&s->f->arena, b.data, b.len);
		}
		af_buf_free(&b);
	}
	return most > f->len ? words : af_arena_strdup(&s->f->arena, f->text, f->len);
}

struct findings_name findings_name(struct findings *s, const struct af_tree *t, uint32_t name)
{
	const struct af_name_key f = af_name_key_of(t, name);
	char *id = af_arena_alloc(&s->f->arena, AF_ID_SIZE);
	size_t len;
	const char *text = af_tree_label(t, name, &len);

	af_name_id(id, t, name);
	return (struct findings_name){af_arena_strdup(&s->f->arena, text, len),
	                              function_words(s, &f), id};
}

struct findings_name findings_called(struct findings *s, const char *text, enum af_frame frame)
{
	const struct af_name_key f = {text, strlen(text), frame, "", false};
	char *id = af_arena_alloc(&s->f->arena, AF_ID_SIZE);
	size_t len;

	for (int v = 0; v < AF_VIEWS; v++) {
		const struct af_tree *t = &s->r->trees[v];
		for (uint32_t i = 1; i < t->nr_names; i++) {
			const char *label = af_tree_label(t, i, &len);
			if (af_tree_frame(t, i) == frame && len == f.len &&
			    !memcmp(label, text, len))
				return findings_name(s, t, i);
		}
	}
	af_function_id(id, frame, text, f.len, "");
	return (struct findings_name){text, function_words(s, &f), id};
}

const char *findings_link(struct findings *s, const char *head, const char *key, const char *value)
{
	struct af_buf b = {0};

	af_buf_fmt(&b, "%s%s%s=", head, strcmp(head, "#") ? "&" : "", key);
	for (const char *c = value; *c; c++) {
		bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
		             (*c >= 'A' && *c <= 'Z') || strchr("-_.*", *c);
		if (plain)
			af_buf_char(&b, *c);
		else if (*c == ' ')
			af_buf_char(&b, '+');
		else
			af_buf_fmt(&b, "%%%02X", (unsigned char)*c);
	}
	const char *text = af_tables_text(s->f, "%.*s", (int)b.len, b.data);
	af_buf_free(&b);
	return text;
}

/* @name with a backslash before each character that a pattern would interpret. */
static void add_letters(struct af_buf *b, const char *name, const char *special)
{
	for (const char *c = name; *c; c++) {
		if (strchr(special, *c))
			af_buf_char(b, '\\');
		af_buf_char(b, *c);
	}
}

const char *findings_exactly(struct findings *s, const char *name)
{
	struct af_buf b = {0};

	af_buf_char(&b, '^');
	add_letters(&b, name, ".*+?^${}()|[]\\");
	af_buf_char(&b, '$');
	const char *text = af_tables_text(s->f, "%.*s", (int)b.len, b.data);
	af_buf_free(&b);
	return text;
}

/* A quote would end the shell's word, so the pattern has a dot in its place. */
const char *findings_pattern(struct findings *s, const char *name)
{
	struct af_buf b = {0};

	af_buf_char(&b, '\'');
	add_letters(&b, name, ".*+?^${}()|[\\");
	for (size_t i = 1; i < b.len; i++)
		if (b.data[i] == '\'')
			b.data[i] = '.';
	af_buf_char(&b, '\'');
	const char *text = af_tables_text(s->f, "%.*s", (int)b.len, b.data);
	af_buf_free(&b);
	return text;
}

enum { SHORT_MOST = 72 };

const char *findings_short(struct findings *s, const char *name)
{
	struct af_buf b = {0};

	if (strlen(name) <= SHORT_MOST)
		return name;
	af_name_fit(&b, name, strlen(name), SHORT_MOST);
	const char *text = af_tables_text(s->f, "%s", b.data);
	af_buf_free(&b);
	return text;
}

const char *findings_quoted(struct findings *s, const char *name)
{
	struct af_buf b = {0};

	af_buf_word(&b, name);
	const char *text = af_tables_text(s->f, "%.*s", (int)b.len, b.data);
	af_buf_free(&b);
	return text;
}
