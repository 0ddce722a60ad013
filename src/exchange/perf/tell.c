/*
 * Hands over, in order of time, what was kept of a perf.data: processes as they appear, and their
 * samples.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/builder.h"
#include "exchange/perf/data.h"
#include "exchange/perf/text.h"

enum { NAME_MAX_BYTES = 128, KERNEL_DEPTH = 127 }; /* of kernel.perf_event_max_stack */

static int kept_order(const void *a, const void *b)
{
	const struct perf_kept *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int reported_order(const void *a, const void *b)
{
	const struct perf_reported *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Whether @name is the event @wanted, which may lack modifiers: cycles also means cycles:u. */
static bool is_wanted(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	return !strncmp(name, wanted, len) && (!name[len] || name[len] == ':');
}

/* The requested event; else the first with call chains, else the first with samples. */
static uint32_t event_choose(const struct perf_data *p)
{
	char name[NAME_MAX_BYTES];
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < p->file.nr_attrs; i++) {
		const struct perf_sums *s = &p->sums[i];
		perf_attr_name(&p->file, i, name, sizeof name);
		if (p->builder->event && s->samples && is_wanted(name, p->builder->event))
			return i;
		if (!p->builder->event && s->samples &&
		    (best == UINT32_MAX || (s->chains && !p->sums[best].chains)))
			best = i;
	}
	return best;
}

/* Notes which event is used, and which are not. */
static void event_say(const struct perf_data *p, const char *how)
{
	char name[NAME_MAX_BYTES], others[512] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < p->file.nr_attrs; i++) {
		if (i == p->used || !p->sums[i].samples)
			continue;
		perf_attr_name(&p->file, i, name, sizeof name);
		int n = snprintf(others + used, sizeof others - used, "%s%s (%" PRIu64 " samples)",
		                 used ? ", " : "; not used, --event takes one: ", name,
		                 p->sums[i].samples);
		used += (size_t)n < sizeof others - used ? (size_t)n : sizeof others - used - 1;
	}
	perf_attr_name(&p->file, p->used, name, sizeof name);
	af_builder_note(p->builder, "import.event", "%s: %" PRIu64 " samples, %s%s", name,
	                p->sums[p->used].samples, how, others);
}

/*
 * Sets the weight: the period of a clock is CPU time, that of any other event a count. Notes which
 * it is.
 */
static const char *weights_say(struct perf_data *p)
{
	const struct perf_attr *a = &p->file.attrs[p->used];
	char name[NAME_MAX_BYTES];

	if (perf_attr_is_time(a))
		return "which weigh their periods";
	perf_attr_name(&p->file, p->used, name, sizeof name);
	name[perf_event_unit(name, strlen(name))] = 0;
	af_builder_count_unit(p->builder, name);
	return "which weigh how often that happened: no CPU time";
}

/* Splits a chain into the kernel's part and the process's, and makes return addresses one less. */
struct parts {
	uint64_t kernel[AF_BUILDER_DEPTH], user[AF_BUILDER_DEPTH];
	uint32_t nr_kernel, nr_user;
	bool bad;
};

static void part_add(struct perf_data *p, uint64_t *pcs, uint32_t *nr, uint64_t pc)
{
	if (*nr == AF_BUILDER_DEPTH)
		p->builder->unused[AF_BUILDER_DEPTH_UNUSED]++;
	else if (pc)
		pcs[(*nr)++] = pc;
}

static void chain_part(struct perf_data *p, const struct perf_chain *c, struct parts *to)
{
	uint64_t context = PERF_CONTEXT_USER;
	bool first = true;

	to->nr_kernel = to->nr_user = 0;
	to->bad = false;
	for (uint32_t i = 0; i < c->nr; i++) {
		uint64_t pc = p->words[c->first + i];
		if (pc >= PERF_CONTEXT_MAX) {
			context = pc;
			first = true;
			continue;
		}
		pc -= !first && pc;
		first = false;
		if (context == PERF_CONTEXT_KERNEL)
			part_add(p, to->kernel, &to->nr_kernel, pc);
		else if (context == PERF_CONTEXT_USER && pc >> 63)
			to->bad = true; /* a frame pointer that was none: so is what it led to */
		else if (context == PERF_CONTEXT_USER && !to->bad)
			part_add(p, to->user, &to->nr_user, pc);
		else if (context == PERF_CONTEXT_USER)
			continue;
		else
			p->builder->unused[AF_BUILDER_VM_UNUSED]++;
	}
}

static uint32_t user_stop(const struct perf_attr *a, const struct parts *parts)
{
	uint32_t most = a->max_stack ? a->max_stack : KERNEL_DEPTH, nr = parts->nr_user;

	if (parts->bad)
		return AF_STOP_BAD_FRAME;

	if (!(a->sample_type & PERF_CALLCHAIN) || (a->sample_type & PERF_STACK_USER && nr == 1))
		return AF_STOP_NOT_WALKED;
	return nr >= most ? AF_STOP_TOO_DEEP : AF_STOP_FRAME_POINTERS;
}

/* The stacks of @chain in @epoch: the kernel's first, then the process's. */
static uint64_t stacks_of(struct perf_data *p, uint32_t chain, uint32_t epoch)
{
	const struct perf_attr *a = &p->file.attrs[p->used];
	struct parts parts;
	bool fresh;
	uint64_t *slot = af_map_at(&p->stacks, (uint64_t)chain << 32 | epoch, &fresh);

	if (!fresh)
		return *slot;
	chain_part(p, &p->chains[chain], &parts);
	uint64_t both = 0;
	if (parts.nr_kernel)
		both = (uint64_t)af_builder_stack(
			   p->builder, parts.kernel, parts.nr_kernel, 0,
			   a->sample_type & PERF_CALLCHAIN ? AF_STOP_COMPLETE : AF_STOP_NOT_WALKED)
		       << 32;
	if (parts.nr_user)
		both |= af_builder_stack(p->builder, parts.user, parts.nr_user, epoch,
		                         user_stop(a, &parts));
	return *slot = both;
}

/* The process's stack, unwound now that all mappings are known; 0: it cannot be unwound. */
static uint32_t unwound(struct perf_data *p, const struct perf_kept *s, uint32_t epoch)
{
	uint64_t pcs[AF_BUILDER_DEPTH];
	enum af_stop stop;

	if (!s->copy)
		return 0;
	const struct perf_copy *c = &p->copies[s->copy - 1];
	const uint8_t *bytes = (const uint8_t *)p->copied.data + c->at;
	uint32_t nr = perf_unwind(p->unwinder, s->pid, c, bytes, pcs, AF_BUILDER_DEPTH, &stop);
	return nr ? af_builder_stack(p->builder, pcs, nr, epoch, stop) : 0;
}

static void tell_sample(struct perf_data *p, const struct perf_kept *s)
{
	const struct perf_attr *a = &p->file.attrs[s->attr];
	bool time = perf_attr_is_time(a);
	struct af_builder *d = p->builder;
	uint32_t epoch;
	uint32_t process = perf_images_process(&p->images, s->pid, &epoch);
	uint32_t thread = af_builder_thread(d, process, s->tid);

	if (thread == UINT32_MAX)
		return;
	uint32_t name = perf_images_thread(&p->images, s->pid, s->tid);
	if (name)
		d->threads[thread].name = name;
	uint64_t both = stacks_of(p, s->chain, epoch);
	uint32_t user = unwound(p, s, epoch);
	if (user)
		both = both >> 32 << 32 | user;
	const struct af_builder_sample sample = {.time_ns = s->time_ns,
	                                         .thread = thread,
	                                         .node = (uint32_t)both,
	                                         .kernel_node = (uint32_t)(both >> 32),
	                                         .cpu = s->cpu,
	                                         .weight_ns = time ? s->period
	                                                      : a->by_rate && a->rate
	                                                          ? 1000000000 / a->rate
	                                                          : 0,
	                                         .count = s->period,
	                                         .counted = !time};
	af_builder_sample(d, &sample);
}

static void tell_record(struct perf_data *p, const struct perf_reported *reported)
{
	const struct perf_record r = {reported->type, reported->misc,
	                              (const uint8_t *)p->reported_bytes.data + reported->at,
	                              reported->size};
	struct perf_mmap m;
	struct perf_comm c;
	struct perf_ksymbol k;

	if (r.type == PERF_COMM && perf_comm_parse(&r, &c))
		perf_images_comm(&p->images, &c);
	else if ((r.type == PERF_MMAP || r.type == PERF_MMAP2) && perf_mmap_parse(&r, &m))
		perf_images_map(&p->images, &m);
	else if (r.type == PERF_KSYMBOL && perf_ksymbol_parse(&r, &k))
		perf_images_ksymbol(&p->images, &k);
	else if (r.type == PERF_FORK && r.size >= 16)
		perf_images_fork(&p->images, perf_u32(r.body), perf_u32(r.body + 4),
		                 perf_u32(r.body + 8), perf_u32(r.body + 12));
}

static void sums_make(struct perf_data *p)
{
	p->sums = af_xcalloc(p->file.nr_attrs, sizeof *p->sums);
	for (uint64_t i = 0; i < p->nr_samples; i++) {
		struct perf_kept *s = &p->samples[i];
		const struct perf_attr *a = &p->file.attrs[s->attr];
		if (!(a->sample_type & PERF_PERIOD))
			s->period = a->by_rate || !a->rate ? 1 : a->rate;
		p->sums[s->attr].samples++;
		p->sums[s->attr].chains += !!(a->sample_type & PERF_CALLCHAIN);
		p->sums[s->attr].periods += s->period;
	}
}

/* The identity of the kernel and of its boot, by which its symbols are found. */
static void say_kernel(const struct perf_data *p)
{
	const struct perf_images *im = &p->images;
	char hex[2 * PERF_BUILD_ID_MAX + 1] = "";

	if (!im->kernel_id || !im->kernel_text)
		return;
	const struct perf_build_id *b = &im->build_ids[im->kernel_id - 1];
	for (uint32_t i = 0; i < b->len; i++)
		snprintf(hex + 2 * i, 3, "%02x", b->id[i]);
	af_builder_note(p->builder, "kernel.build-id", "%s", hex);
	af_builder_note(p->builder, "kernel.text", "%" PRIx64 " %s", im->kernel_text,
	                af_strtab_get(&p->builder->names, im->kernel_symbol));
}

static void say_host(const struct perf_data *p)
{
	const struct perf_file *f = &p->file;
	static const char *const keys[] = {"import.host", "import.kernel", "import.command"};
	const uint32_t texts[] = {f->host, f->release, f->command};

	for (int i = 0; i < 3; i++)
		if (texts[i])
			af_builder_note(p->builder, keys[i], "%s",
			                af_strtab_get(&f->names, texts[i]));
}

static void tell_all(struct perf_data *p)
{
	uint64_t next = 0;

	event_say(p, weights_say(p));
	for (uint64_t i = 0; i < p->nr_samples; i++) {
		const struct perf_kept *s = &p->samples[i];
		while (next < p->nr_reported && p->reported[next].time_ns <= s->time_ns)
			tell_record(p, &p->reported[next++]);
		if (s->attr == p->used)
			tell_sample(p, s);
		else
			p->builder->unused[AF_BUILDER_EVENTS_UNUSED]++;
	}
	say_kernel(p);
	say_host(p);
	if (!(p->file.attrs[p->used].sample_type & PERF_TIME))
		af_builder_note(p->builder, "import.times",
		                "the file has none: samples are in their order, 1 ns apart");
}

/* Notes on stack memory: how much was used, and how to record more of it. */
static void say_unwound(const struct perf_data *p)
{
	const struct perf_unwinder *u = p->unwinder;
	char cut[128] = "", missing[96] = "", beyond[96] = "";

	if (!u || !u->stacks)
		return;
	if (p->nr_beyond)
		snprintf(beyond, sizeof beyond,
		         "; %" PRIu64 " more are not: 4 GiB of stacks are kept of a file",
		         p->nr_beyond);
	if (u->cut)
		snprintf(cut, sizeof cut,
		         "; %" PRIu64 " are longer than what was copied of them, of which "
		         "perf record --call-graph dwarf,65528 takes most",
		         u->cut);
	if (u->missing)
		snprintf(missing, sizeof missing, "; %" PRIu64 " end in a file that is not at hand",
		         u->missing);
	af_builder_note(p->builder, "import.unwound", "%" PRIu64 " stacks%s%s%s", u->stacks, cut,
	                missing, beyond);
}

bool perf_data_tell(struct perf_data *p, uint32_t space)
{
	struct af_builder *d = p->builder;

	sums_make(p);
	p->used = event_choose(p);
	if (p->used == UINT32_MAX) {
		d->unused[AF_BUILDER_EVENTS_UNUSED] += p->nr_samples;
		return false;
	}
	d->epoch_ns = p->file.epoch_ns;
	AF_SORT(p->samples, p->nr_samples, kept_order);
	AF_SORT(p->reported, p->nr_reported, reported_order);
	perf_images_open(&p->images, d, space, &p->file);
	if (p->nr_copies)
		p->unwinder = perf_unwind_open(&p->images, &p->file);
	tell_all(p);
	say_unwound(p);
	perf_unwind_close(p->unwinder);
	perf_images_free(&p->images);
	return true;
}
