/* Instruction samples of many traces added up, and as bytes for another process. */
#include <stdlib.h>
#include <string.h>

#include "analyse/annotate/sampled.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"

void af_sampled_close(struct af_sampled *s)
{
	if (s)
		af_sampled_free(s);
	free(s);
}

/* By the reason of @from, that of @to. The caller frees it. */
static uint32_t *reasons_join(struct af_sampled *to, const struct af_sampled *from)
{
	uint32_t *as = af_xcalloc(from->nr_reasons + 1ull, sizeof *as);

	for (uint32_t i = 0; i < from->nr_reasons; i++)
		as[i] = af_sampled_reason(to, af_strtab_get(&from->strings, from->reasons[i]));
	return as;
}

void af_sampled_join(struct af_sampled *to, const struct af_sampled *from, const char *trace)
{
	uint32_t *as = reasons_join(to, from);

	for (uint32_t i = 0; i < from->nr_functions; i++) {
		struct af_sampled_function names = from->functions[i];
		names.trace = trace ? trace : names.trace;
		uint32_t function = af_sampled_function(to, &names);
		struct af_sampled_function *f = &to->functions[function];
		f->samples += names.samples;
		f->exact += names.exact;
		f->time_ns += names.time_ns;
		for (uint32_t k = 0; k < names.nr; k++) {
			AF_GROW(f->at, f->nr, f->cap);
			f->at[f->nr] = names.at[k];
			f->at[f->nr++].reason = as[names.at[k].reason];
		}
		af_sampled_function_finish(f);
	}
	free(as);
}

static void write_text(struct af_buf *to, const char *text)
{
	size_t len = strlen(text);

	af_buf_leb128(to, len);
	af_buf_add(to, text, len);
}

static const char *read_text(struct af_sampled *s, struct af_cursor *from)
{
	uint64_t len = af_cursor_uleb(from);
	const void *text = af_cursor_bytes(from, len);

	return text ? af_strtab_get(&s->strings, af_strtab_id(&s->strings, text, (size_t)len)) : "";
}

static void write_reals(struct af_buf *to, const double *all, size_t nr)
{
	af_buf_add(to, all, nr * sizeof *all);
}

static void read_reals(struct af_cursor *from, double *all, size_t nr)
{
	const void *data = af_cursor_bytes(from, nr * sizeof *all);

	if (data)
		memcpy(all, data, nr * sizeof *all);
}

static void write_function(const struct af_sampled_function *f, struct af_buf *to)
{
	const char *const texts[] = {f->name, f->shown, f->object, f->device, f->source, f->trace};
	const double sums[] = {f->samples, f->exact, f->time_ns};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		write_text(to, texts[i]);
	af_buf_leb128(to, f->symbol);
	write_reals(to, sums, 3);
	af_buf_leb128(to, f->nr);
	for (uint32_t i = 0; i < f->nr; i++) {
		const double at[] = {f->at[i].samples, f->at[i].idle, f->at[i].time_ns};
		af_buf_leb128(to, f->at[i].offset);
		af_buf_leb128(to, f->at[i].reason);
		write_reals(to, at, 3);
	}
}

void af_sampled_write(const struct af_sampled *s, struct af_buf *to)
{
	af_buf_leb128(to, s->nr_reasons);
	for (uint32_t i = 0; i < s->nr_reasons; i++)
		write_text(to, af_strtab_get(&s->strings, s->reasons[i]));
	af_buf_leb128(to, s->nr_functions);
	for (uint32_t i = 0; i < s->nr_functions; i++)
		write_function(&s->functions[i], to);
}

/* Nothing of it is added twice: af_sampled_function() finds one that is there. */
static void read_function(struct af_sampled *s, struct af_cursor *from)
{
	struct af_sampled_function names = {0};
	const char **const texts[] = {&names.name,   &names.shown,  &names.object,
	                              &names.device, &names.source, &names.trace};
	double sums[3] = {0};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		*texts[i] = read_text(s, from);
	names.symbol = (uint32_t)af_cursor_uleb(from);
	read_reals(from, sums, 3);
	uint64_t nr = af_cursor_uleb(from);
	if (from->bad)
		return;
	uint32_t function = af_sampled_function(s, &names);
	struct af_sampled_function *f = &s->functions[function];
	f->samples += sums[0];
	f->exact += sums[1];
	f->time_ns += sums[2];
	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		struct af_sampled_at at = {.offset = (uint32_t)af_cursor_uleb(from)};
		at.reason = (uint32_t)af_cursor_uleb(from);
		read_reals(from, sums, 3);
		from->bad |= at.reason >= s->nr_reasons;
		at.samples = sums[0];
		at.idle = sums[1];
		at.time_ns = sums[2];
		AF_GROW(f->at, f->nr, f->cap);
		f->at[f->nr++] = at;
	}
	f->nr -= from->bad && f->nr;
}

void af_sampled_read(struct af_sampled *s, struct af_cursor *from)
{
	uint64_t nr = af_cursor_uleb(from);

	for (uint64_t i = 0; i < nr && !from->bad; i++)
		from->bad |= af_sampled_reason(s, read_text(s, from)) != i;
	nr = af_cursor_uleb(from);
	for (uint64_t i = 0; i < nr && !from->bad; i++)
		read_function(s, from);
}
