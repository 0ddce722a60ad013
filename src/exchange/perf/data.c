/*
 * perf.data (file.h) to a builder. Records are stored by CPU and only roughly in order of time, the
 * meaning of one depends on those before it, and names of events and build-ids come last. So
 * everything is kept (40 bytes a sample, each call chain once) and handed over when the file is
 * complete.
 */
#include "exchange/perf/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/builder.h"
#include "exchange/source/source.h"

bool af_import_is_perf(const char *text, size_t len)
{
	return perf_file_is(text, len);
}

static bool is_chain(const struct perf_data *p, uint64_t i, const void *words, uint32_t nr)
{
	const struct perf_chain *c = &p->chains[i];

	return c->nr == nr && !memcmp(p->words + c->first, words, nr * sizeof *p->words);
}

static uint32_t chain_of(struct perf_data *p, const void *words, uint32_t nr)
{
	uint64_t hash = af_scatter_bytes(words, nr * sizeof *p->words);
	bool fresh;

	uint64_t *slot = af_map_at(&p->by_chain, hash, &fresh);
	while (!fresh && !is_chain(p, *slot, words, nr))
		slot = af_map_at(&p->by_chain, ++hash, &fresh);
	if (!fresh)
		return (uint32_t)*slot;
	*slot = p->nr_chains;
	AF_GROW(p->chains, p->nr_chains, p->cap_chains);
	p->chains[p->nr_chains] = (struct perf_chain){p->nr_words, nr};
	AF_ROOM(p->words, p->nr_words + nr, p->cap_words);
	memcpy(p->words + p->nr_words, words, nr * sizeof *p->words);
	p->nr_words += nr;
	return p->nr_chains++;
}

static uint32_t copy_of(struct perf_data *p, const struct perf_sample *s)
{
	struct perf_copy c = {
	    .registers = p->file.attrs[s->attr].registers,
	    .stack_size = s->stack_size,
	    .stack_cut = s->stack_cut,
	    .at = p->copied.len,
	};
	size_t words = (size_t)__builtin_popcountll(c.registers) * sizeof(uint64_t);

	if (!s->registers || !s->stack)
		return 0;
	/*
	 * Samples wait until all mappings are known, and a compressed file may have any number of
	 * them.
	 */
	if (p->nr_copies == INT32_MAX || p->copied.len + words + c.stack_size > PERF_COPIES_BYTES) {
		p->nr_beyond++;
		return 0;
	}
	af_buf_add(&p->copied, s->registers, words);
	af_buf_add(&p->copied, s->stack, c.stack_size);
	AF_GROW(p->copies, p->nr_copies, p->cap_copies);
	p->copies[p->nr_copies++] = c;
	return p->nr_copies;
}

static void take_sample(struct perf_data *p, const struct perf_record *r)
{
	struct perf_sample s;
	struct perf_kept kept;

	if (!perf_sample_parse(&p->file, r, &s)) {
		p->builder->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return;
	}
	if (!(p->file.attrs[s.attr].sample_type & PERF_TIME))
		s.time_ns = p->last_ns + 1;
	p->last_ns = s.time_ns;
	if (!af_builder_times(p->builder, s.time_ns, 0))
		return;
	const uint64_t alone[] = {(r->misc & PERF_MODE_MASK) == PERF_MODE_KERNEL
	                              ? PERF_CONTEXT_KERNEL
	                              : PERF_CONTEXT_USER,
	                          s.ip};
	kept = (struct perf_kept){.time_ns = s.time_ns,
	                          .period = s.period,
	                          .pid = s.pid,
	                          .tid = s.tid,
	                          .cpu = s.cpu,
	                          .attr = s.attr,
	                          .copy = copy_of(p, &s),
	                          .chain = s.nr ? chain_of(p, s.chain, (uint32_t)s.nr)
	                                        : chain_of(p, alone, 2)};
	AF_GROW(p->samples, p->nr_samples, p->cap_samples);
	p->samples[p->nr_samples++] = kept;
}

static void take_reported(struct perf_data *p, const struct perf_record *r)
{
	struct perf_reported reported = {.time_ns = p->last_ns,
	                                 .at = p->reported_bytes.len,
	                                 .type = r->type,
	                                 .misc = r->misc,
	                                 .size = (uint32_t)r->size,
	                                 .number = (uint32_t)p->nr_reported};

	/* An impossible time counts as no time. */
	if (perf_record_time(&p->file, r, &reported.time_ns) && reported.time_ns >> 63)
		reported.time_ns = p->last_ns;
	af_buf_add(&p->reported_bytes, r->body, r->size);
	AF_GROW(p->reported, p->nr_reported, p->cap_reported);
	p->reported[p->nr_reported++] = reported;
}

static void take_record(struct perf_data *p, const struct perf_record *r)
{
	switch (r->type) {
	case PERF_SAMPLE:
		take_sample(p, r);
		break;
	case PERF_MMAP:
	case PERF_MMAP2:
	case PERF_COMM:
	case PERF_FORK:
	case PERF_KSYMBOL:
		take_reported(p, r);
		break;
	case PERF_LOST:
		p->builder->lost += r->size >= 16 ? perf_u64(r->body + 8) : 0;
		break;
	case PERF_LOST_SAMPLES:
		p->builder->lost += r->size >= 8 ? perf_u64(r->body) : 0;
		break;
	}
}

static void data_close(struct perf_data *p)
{
	perf_file_close(&p->file);
	free(p->samples);
	free(p->reported);
	free(p->words);
	free(p->chains);
	free(p->sums);
	free(p->copies);
	af_buf_free(&p->copied);
	af_buf_free(&p->reported_bytes);
	af_map_free(&p->by_chain);
	af_map_free(&p->stacks);
}

static void event_missed(const struct perf_data *p, char *complaint, size_t size)
{
	char names[512] = "", name[128];
	size_t used = 0;

	for (uint32_t i = 0; i < p->file.nr_attrs && used < sizeof names; i++) {
		perf_attr_name(&p->file, i, name, sizeof name);
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
		                         name);
	}
	snprintf(complaint, size, "no samples of event %s; events: %s", p->builder->event, names);
}

void af_import_perf(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                    char *complaint, size_t size)
{
	struct perf_data p = {.builder = d};
	struct perf_record r;

	if (perf_file_open(&p.file, in))
		do {
			while (perf_file_next(&p.file, &r))
				take_record(&p, &r);
		} while (perf_file_more(&p.file));
	if (*p.file.complaint || p.file.unfinished)
		d->damaged++;
	snprintf(complaint, size, "%s%s%s", p.file.complaint,
	         *p.file.complaint && p.file.unfinished ? "; " : "",
	         p.file.unfinished ? "perf was killed as it recorded: used to its end" : "");
	if (p.nr_samples && !perf_data_tell(&p, number))
		event_missed(&p, complaint, size);
	data_close(&p);
}
