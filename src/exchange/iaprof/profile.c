#include "exchange/iaprof/profile.h"

#include <stdlib.h>
#include <string.h>

#include "exchange/builder/builder.h"

#define INTERVAL_NS UINT64_C(10000000) /* iaprof's default */

void iaprof_profile_open(struct iaprof_profile *p, struct af_builder *d, uint32_t number)
{
	*p = (struct iaprof_profile){
	    .builder = d, .strings = {.builder = d}, .number = number, .window = UINT32_MAX};
}

bool iaprof_number(const char *text, int base, uint64_t *value)
{
	char *end;

	if (base == 16 && text[0] == '0' && text[1] == 'x')
		text += 2;
	if (!*text || strlen(text) > 20 ||
	    strspn(text, base == 16 ? "0123456789abcdefABCDEF" : "0123456789") != strlen(text))
		return false;
	*value = strtoull(text, &end, base);
	return true;
}

bool iaprof_seconds(const char *text, uint64_t *ns)
{
	uint64_t whole = 0, unit = 1000000000;
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 10)
		return false;
	for (; digits--; text++)
		whole = whole * 10 + (uint64_t)(*text - '0');
	*ns = whole * unit;
	if (*text == '.')
		while (*++text >= '0' && *text <= '9')
			*ns += (uint64_t)(*text - '0') * (unit /= 10);
	return !*text;
}

uint32_t iaprof_known(const struct iaprof_profile *p, uint32_t name)
{
	static const char *const none[] = {"[unknown file]", "<unknown>", "[failed decode]"};
	const char *text = af_strtab_get(&p->builder->names, name);

	for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
		if (!strcmp(text, none[i]))
			return 0;
	return name;
}

void iaprof_symbol(struct iaprof_profile *p, uint32_t name)
{
	const char *text = af_strtab_get(&p->builder->names, name), *at = strrchr(text, ' ');
	uint64_t line;

	p->state.symbol = name;
	p->state.line = 0;
	if (!at || at - text < 6 || memcmp(at - 5, " line", 5) != 0 ||
	    !iaprof_number(at + 1, 10, &line) || line > INT32_MAX)
		return;
	p->state.line = (uint32_t)line;
	p->state.symbol = af_builder_name(p->builder, text, (size_t)(at - 5 - text));
}

/*
 * A thread's comm is what iaprof knows of a process: each pid and comm is a process of its own, as
 * in its pictures.
 */
static uint32_t process_of(struct iaprof_profile *p, uint32_t pid, uint32_t comm)
{
	struct af_builder *d = p->builder;
	bool fresh;
	uint64_t *slot = af_map_at(&p->by_process, (uint64_t)pid << 32 | comm, &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	uint64_t *comms = af_map_at(&p->nr_comms, pid, NULL);
	/* A space of the file's own, one for each further comm. */
	uint32_t space = p->number + 1 + ((uint32_t)(*comms)++ << 20);
	uint32_t process = af_builder_process(d, space, pid);
	d->processes[process].api = AF_API_LEVEL_ZERO;
	d->processes[process].exe =
	    comm || pid ? comm : af_builder_name(d, "[unknown process]", 17);
	af_builder_device(d, space, 0, "Intel GPU", 9);
	*slot = process;
	return process;
}

/* In the space of each pid's first comm: of the others the device is the same. */
void iaprof_device_note(struct iaprof_profile *p, uint32_t key, const char *value)
{
	af_builder_device_note(p->builder, p->number + 1, 0, af_strtab_get(&p->builder->names, key),
	                       value);
}

/* Samples that come before any interval does get one that ends when that begins. */
static uint32_t window_now(struct iaprof_profile *p)
{
	if (p->window == UINT32_MAX)
		p->window = af_builder_window(p->builder, 0, 0);
	return p->window;
}

void iaprof_stall(struct iaprof_profile *p, uint64_t offset, uint32_t reason, uint64_t count)
{
	struct af_builder *d = p->builder;
	const struct iaprof_state *s = &p->state;

	if (!count)
		return;
	if (offset > UINT32_MAX || count > UINT32_MAX) {
		d->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return;
	}
	uint32_t process = process_of(p, s->pid, s->comm);
	uint32_t code = af_builder_code(d, &(struct af_builder_code){process, s->symbol, s->file});
	uint32_t node = iaprof_stack_join(d, s->ustack, s->kstack);
	if (s->insn || s->line)
		af_builder_insn(
		    d, &(struct af_builder_insn){code, (uint32_t)offset, s->insn, s->line});
	af_builder_stall(d, &(struct af_builder_stall){.window = window_now(p),
	                                               .process = process,
	                                               .launch = af_builder_launch(d, code, node),
	                                               .offset = (uint32_t)offset,
	                                               .reason = reason,
	                                               .count = (uint32_t)count});
	p->given += count;
}

/* The device's sums minus those of its kernels are in code that iaprof does not know. */
static void interval_close(struct iaprof_profile *p)
{
	uint64_t other = p->metered > p->given ? p->metered - p->given : 0;

	if (other)
		af_builder_stall(p->builder,
		                 &(struct af_builder_stall){
				     .window = window_now(p),
				     .process = process_of(p, 0, 0),
				     .count = other > UINT32_MAX ? UINT32_MAX : (uint32_t)other});
	p->given = p->metered = 0;
}

bool iaprof_interval(struct iaprof_profile *p, uint64_t nth, const uint64_t *end_ns)
{
	struct af_builder_stalls *s = &p->builder->stalls;
	/* Those of 2025 did not tell when. */
	uint64_t to_ns =
	    end_ns ? *end_ns : (nth < INT64_MAX / INTERVAL_NS ? nth + 1 : 0) * INTERVAL_NS;
	uint64_t start_ns = p->last_ns;

	interval_close(p);
	if (!start_ns || start_ns > to_ns)
		start_ns = to_ns > INTERVAL_NS ? to_ns - INTERVAL_NS : 0;
	if (!p->last_ns && p->window != UINT32_MAX)
		s->windows[p->window] = (struct af_builder_window){start_ns, start_ns};
	uint32_t window = af_builder_window(p->builder, start_ns, to_ns);
	if (window == UINT32_MAX)
		return false;
	p->window = window;
	p->last_ns = to_ns;
	return true;
}

void iaprof_profile_close(struct iaprof_profile *p)
{
	interval_close(p);
	iaprof_strings_free(&p->strings);
	af_map_free(&p->by_process);
	af_map_free(&p->nr_comms);
}
