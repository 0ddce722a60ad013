#include "analyse/annotate/annotate.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/annotate/private.h"
#include "base/arena.h"
#include "base/system/fs.h"
#include "sym/device/code_store.h"
#include "sym/device/listing.h"
#include "sym/lines/source.h"

enum {
	INSNS_MOST = 1 << 17, /* of a function that are listed */
	WAITS_MOST = 512,     /* instructions whose producers are looked for */
};

uint32_t annotation_column(const struct annotation *a, uint32_t reason)
{
	for (uint32_t i = 0; i < a->nr_reasons; i++)
		if (a->reasons[i] == reason)
			return i;
	return UINT32_MAX;
}

const char *annotation_text(const struct annotation *a, uint32_t offset)
{
	return a->listing ? af_listing_text(a->listing, (uint32_t)a->index, offset) : NULL;
}

static void annotation_open(struct annotation *a)
{
	const struct af_sampled_function *fn = a->function;

	a->index = -1;
	if (!*fn->object) {
		a->missing = "the trace does not have its code";
		return;
	}
	a->code = a->with->codes ? af_code_store_get(a->with->codes, fn->object) : NULL;
	if (!a->code) {
		a->missing = a->with->codes
		                 ? af_tables_text(a->f, "%s",
		                                  af_code_store_reason(a->with->codes, fn->object))
		                 : "the trace does not have its code";
		return;
	}
	a->index = af_code_find(a->code, fn->name, fn->symbol);
	if (a->index < 0)
		a->missing = "the object does not have this function";
	else
		a->listing = af_listing_open(a->code, fn->object);
}

/* instructions */

static void insn_add(struct annotation *a, uint64_t offset)
{
	AF_GROW(a->insns, a->nr_insns, a->cap_insns);
	a->insns[a->nr_insns++] = (struct annotated_insn){
	    .offset = (uint32_t)offset,
	    .line = UINT32_MAX,
	};
}

/*
 * All instructions of the function. If it is too large for that, only those that were sampled are
 * listed.
 */
static void insns_of_code(struct annotation *a)
{
	const struct af_code_function *cf;
	uint64_t step;

	if (a->index < 0)
		return;
	cf = af_code_function(a->code, (uint32_t)a->index);
	/* 1 where instructions do not tell their length: then the text says where they are. */
	step = af_code_next(a->code, (uint32_t)a->index, 0);
	if (cf->size / step > INSNS_MOST * (uint64_t)(step == 1 ? 8 : 1))
		return;
	for (uint64_t at = 0; at < cf->size; at = af_code_next(a->code, (uint32_t)a->index, at))
		if (step > 1 || annotation_text(a, (uint32_t)at))
			insn_add(a, at);
}

static int insn_order(const void *a, const void *b)
{
	const struct annotated_insn *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void insns_unite(struct annotation *a)
{
	uint32_t nr = 0;

	AF_SORT(a->insns, a->nr_insns, insn_order);
	for (uint32_t i = 0; i < a->nr_insns; i++)
		if (!nr || a->insns[nr - 1].offset != a->insns[i].offset)
			a->insns[nr++] = a->insns[i];
	a->nr_insns = nr;
}

static void insns_gather(struct annotation *a)
{
	const struct af_sampled_function *fn = a->function;
	uint32_t k = 0;

	insns_of_code(a);
	for (uint32_t i = 0; i < fn->nr; i++)
		if (!i || fn->at[i].offset != fn->at[i - 1].offset)
			insn_add(a, fn->at[i].offset);
	insns_unite(a);
	for (uint32_t i = 0; i < a->nr_insns; i++) {
		struct annotated_insn *insn = &a->insns[i];
		insn->first = k;
		for (; k < fn->nr && fn->at[k].offset == insn->offset; k++) {
			insn->samples += fn->at[k].samples;
			insn->time_ns += fn->at[k].time_ns;
		}
		insn->nr = k - insn->first;
	}
}

static int rank_order(const void *a, const void *b, void *arg)
{
	const struct annotated_insn *insns = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (insns[x].samples != insns[y].samples)
		return insns[x].samples < insns[y].samples ? 1 : -1;
	return x < y ? -1 : x > y;
}

static int line_rank_order(const void *a, const void *b, void *arg)
{
	const struct annotated_line *lines = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (lines[x].samples != lines[y].samples)
		return lines[x].samples < lines[y].samples ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* Indices of @nr things in the order of @compare, which gets @things. */
static uint32_t *ranked(uint32_t nr, int (*compare)(const void *, const void *, void *),
                        void *things)
{
	uint32_t *order = af_xcalloc(nr + 1ull, sizeof *order);

	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	if (nr)
		qsort_r(order, nr, sizeof *order, compare, things);
	return order;
}

static void insns_rank(struct annotation *a)
{
	uint32_t *order = ranked(a->nr_insns, rank_order, a->insns);

	for (uint32_t i = 0; i < a->nr_insns && a->insns[order[i]].samples > 0; i++) {
		a->insns[order[i]].rank = i + 1;
		if (i < WAITS_MOST && a->index >= 0)
			annotation_waits(a, &a->insns[order[i]]);
	}
	free(order);
}

/* lines */

/*
 * PoCL compiles a program's text from a temporary file, which is gone afterwards: the trace has the
 * text.
 */
static void source_of_program(struct annotation *a, const char *file)
{
	const char *source = a->function->source, *slash = strrchr(file, '/');
	struct af_file text;

	if (!a->with->codes || !a->with->sources || !*source || !slash ||
	    strncmp(slash, "/tempfile", strlen("/tempfile")) != 0)
		return;
	if (!af_code_store_map(a->with->codes, source, &text))
		af_source_bind(a->with->sources, file, &text);
}

static uint32_t line_at(struct annotation *a, const char *file, uint32_t number)
{
	uint64_t text = af_strtab_id_z(&a->files, file);
	bool fresh;
	uint64_t *slot = af_map_at(&a->by_line, text << 32 | number, &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	*slot = a->nr_lines;
	AF_GROW(a->lines, a->nr_lines, a->cap_lines);
	source_of_program(a, file);
	a->lines[a->nr_lines] = (struct annotated_line){
	    .file = af_tables_text(a->f, "%s", file),
	    .number = number,
	    .function = "",
	};
	return a->nr_lines++;
}

static void line_count(struct annotation *a, uint32_t line, uint32_t insn)
{
	struct annotated_line *l = &a->lines[line];

	if (l->counted == insn + 1)
		return;
	l->counted = insn + 1;
	l->with_inlined += a->insns[insn].samples;
}

/*
 * The instruction's own line gets its samples, and so do the lines at which its calls were inlined.
 */
static void insn_lines(struct annotation *a, uint32_t i)
{
	struct af_code_frame frames[AF_CODE_FRAMES];
	struct annotated_insn *insn = &a->insns[i];
	uint32_t nr = a->index < 0 ? 0
	                           : af_code_frames(a->code, (uint32_t)a->index, insn->offset,
	                                            frames, AF_CODE_FRAMES);

	for (uint32_t k = 0; k < nr; k++) {
		if (!frames[k].file || !frames[k].line)
			continue;
		uint32_t line = line_at(a, frames[k].file, frames[k].line);
		line_count(a, line, i);
		if (k)
			continue;
		insn->line = line;
		a->lines_known = true;
		a->ptx |= frames[k].file == AF_CODE_PTX;
		if (frames[k].function && !*a->lines[line].function)
			a->lines[line].function = af_tables_text(a->f, "%s", frames[k].function);
	}
	if (insn->line == UINT32_MAX)
		return;
	struct annotated_line *l = &a->lines[insn->line];
	l->samples += insn->samples;
	l->time_ns += insn->time_ns;
	for (uint32_t k = insn->first; k < insn->first + insn->nr; k++) {
		uint32_t column = annotation_column(a, a->function->at[k].reason);
		if (column != UINT32_MAX)
			l->reasons[column] += a->function->at[k].samples;
	}
}

const char *annotation_source(struct annotation *a, const char *file, uint32_t line, size_t *len)
{
	const char *text = NULL;

	if (!strcmp(file, AF_CODE_PTX))
		text = af_code_ptx(a->code, line);
	else if (a->with->sources)
		return af_source_line(a->with->sources, file, line, len);
	*len = text ? strlen(text) : 0;
	return text;
}

/* Lines around those that have samples, as far as the file has them. */
static void lines_around(struct annotation *a)
{
	uint32_t nr = a->nr_lines, context = a->with->context < 3 ? a->with->context : 3;
	size_t len;

	for (uint32_t i = 0; i < nr; i++) {
		const char *file = a->lines[i].file;
		uint32_t number = a->lines[i].number;
		uint32_t first = number > context ? number - context : 1;
		if (!(a->lines[i].with_inlined > 0))
			continue;
		for (uint32_t k = first; k <= number + context && k >= first; k++)
			if (annotation_source(a, file, k, &len))
				line_at(a, file, k);
	}
}

/* Files by their samples: number them so. */
static void lines_order_files(struct annotation *a, const uint32_t *order)
{
	uint32_t nr = 0;
	struct af_keys seen = {0};

	for (uint32_t i = 0; i < a->nr_lines; i++) {
		struct annotated_line *l = &a->lines[order[i]];
		bool fresh;
		uint64_t *slot = af_keys_at(&seen, AF_KEY_TEXT(l->file), &fresh);
		if (fresh)
			*slot = nr++;
		l->file_order = (uint32_t)*slot;
	}
	af_keys_free(&seen);
}

static int line_place_order(const void *a, const void *b, void *arg)
{
	const struct annotated_line *lines = arg;
	const struct annotated_line *x = &lines[*(const uint32_t *)a];
	const struct annotated_line *y = &lines[*(const uint32_t *)b];

	if (x->file_order != y->file_order)
		return x->file_order < y->file_order ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void lines_sort(struct annotation *a)
{
	uint32_t *order = ranked(a->nr_lines, line_rank_order, a->lines);
	struct annotated_line *sorted = af_xcalloc(a->nr_lines + 1ull, sizeof *sorted);
	uint32_t *place = af_xcalloc(a->nr_lines + 1ull, sizeof *place);

	for (uint32_t i = 0; i < a->nr_lines && a->lines[order[i]].samples > 0; i++)
		a->lines[order[i]].rank = i + 1;
	lines_order_files(a, order);
	free(order);
	order = ranked(a->nr_lines, line_place_order, a->lines);
	for (uint32_t i = 0; i < a->nr_lines; i++) {
		sorted[i] = a->lines[order[i]];
		place[order[i]] = i;
	}
	for (uint32_t i = 0; i < a->nr_insns; i++)
		if (a->insns[i].line != UINT32_MAX)
			a->insns[i].line = place[a->insns[i].line];
	free(a->lines);
	a->lines = sorted;
	free(order);
	free(place);
}

void af_annotate(struct af_tables *f, const struct af_sampled *s, uint32_t function,
                 const struct af_annotate_with *with)
{
	struct annotation a = {.f = f,
	                       .s = s,
	                       .function = &s->functions[function],
	                       .with = with,
	                       .nr_reasons = ANNOTATE_REASONS};

	annotation_open(&a);
	annotation_kernel(&a);
	af_sampled_reasons(s, function, a.reasons, &a.nr_reasons, f);
	insns_gather(&a);
	insns_rank(&a);
	for (uint32_t i = 0; i < a.nr_insns; i++)
		insn_lines(&a, i);
	lines_around(&a);
	lines_sort(&a);
	annotation_tables(&a);
	af_listing_close(a.listing);
	free(a.insns);
	free(a.lines);
	af_map_free(&a.by_line);
	af_strtab_free(&a.files);
}
