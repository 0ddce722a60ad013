/*
 * Samples of instructions by kernel: which reasons kernels stall for, and the kernels that are
 * asked for, or the heaviest, in full.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/annotate/annotate.h"
#include "analyse/annotate/sampled.h"
#include "analyse/pass/pass.h"
#include "analyse/world/code_names.h"
#include "analyse/world/device_name.h"
#include "base/arena.h"
#include "sym/device/code_store.h"

/* The kernel and function of each code, found once. */
struct annotated_code {
	bool known;
	uint32_t function; /* of af_sampled */
	uint64_t shift;    /* of its offsets in that function */
};

/* Which program each kernel of each process is of. */
struct annotated {
	struct af_map programs;
};

struct gathering {
	const struct annotated *self;
	const struct af_world *w;
	struct af_results *out;
	struct af_code_store *store;
	struct af_sampled sampled;
	struct annotated_code *codes;
};

/*
 * The text that the launch group's kernel was compiled of, as an object's name, "" when there is
 * none.
 */
static const char *program_source(const struct gathering *g,
                                  const struct af_launch_group *launch_group)
{
	const struct af_world *w = g->w;
	const uint64_t *program = af_map_get(
	    &g->self->programs, (uint64_t)launch_group->is.process << 32 | launch_group->is.kernel);

	for (uint32_t i = 1; program && i < w->nr_programs; i++)
		if (w->programs[i].process == launch_group->is.process &&
		    w->programs[i].id == *program && w->programs[i].form == AF_OBJECT_SOURCE)
			return w->programs[i].object;
	return "";
}

/*
 * The function that samples of @code are counted for: the kernel that contains it, where the object
 * shows that; @offset is an address when the code has no name.
 */
static struct annotated_code code_place(struct gathering *g, const struct af_attributed *at,
                                        const struct af_launch_group *launch_group)
{
	const struct af_device_code *dc = &g->w->codes[at->code];
	uint32_t program = af_world_code_program(g->w, at->code);
	struct af_sampled_function names = {
	    .name = af_strtab_get(&g->w->strings, dc->name),
	    .shown = dc->shown,
	    .object = program ? g->w->programs[program].object : "",
	    .device = af_device_name(&g->out->tables, g->w, launch_group->is.process,
	                             launch_group->is.device),
	    .source = program_source(g, launch_group),
	    .symbol = dc->symbol,
	};
	const char *object = names.object;
	struct af_code *code = *object && g->store ? af_code_store_get(g->store, object) : NULL;
	uint64_t shift = 0;
	int i = -1;

	if (code && *names.name)
		i = af_code_find(code, names.name, dc->symbol);
	else if (code)
		i = af_code_find_address(code, at->offset, &shift);
	if (i >= 0) {
		const struct af_code_function *f = af_code_function(code, (uint32_t)i);
		const struct af_code_function *holder = af_code_function(code, f->holder);
		shift = *names.name ? f->start - holder->start : 0 - holder->start;
		names.name = holder->name;
		names.shown = holder->shown;
		names.symbol = holder->symbol;
	}
	return (struct annotated_code){true, af_sampled_function(&g->sampled, &names), shift};
}

static void gather(struct gathering *g, const struct af_attributed *at)
{
	const struct af_attribution *a = g->out->attribution;

	if (!at->code || !at->parts)
		return;
	struct annotated_code *known = &g->codes[at->code], place = *known;
	bool named = *af_strtab_get(&g->w->strings, g->w->codes[at->code].name) != 0;
	if (!place.known)
		place = code_place(g, at, &a->launch_groups[at->launch_group]);
	if (named)
		*known = place;
	uint64_t offset = at->offset + place.shift;
	const struct af_sampled_at sample = {
	    .offset = offset <= UINT32_MAX ? (uint32_t)offset : UINT32_MAX,
	    .reason =
		af_sampled_reason(&g->sampled, at->stall ? g->w->stalls[at->stall].name : NULL),
	    .samples = (double)at->parts / AF_ATTRIBUTION_PARTS,
	    .idle = (double)at->latency_parts / AF_ATTRIBUTION_PARTS,
	    .time_ns = (double)at->time_ns,
	};
	af_sampled_add(&g->sampled, place.function, &sample,
	               (double)at->exact_parts / (double)at->parts);
}

static void annotated_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct annotated *a = self;
	struct af_ev_kernel fixed;

	if (af_event_decode(ev, &fixed, sizeof fixed, NULL))
		*af_map_at(&a->programs, (uint64_t)ev->process << 32 | fixed.kernel, NULL) =
		    fixed.program;
}

static void annotated_close(void *self)
{
	struct annotated *a = self;

	af_map_free(&a->programs);
}

static void annotated_finish(void *self, const struct af_world *w, struct af_results *out)
{
	const struct af_attribution *a = out->attribution;
	struct gathering g = {.self = self, .w = w, .out = out};

	if (!a)
		return;
	g.store = af_code_names_store(out->code_names);
	g.codes = af_xcalloc(w->nr_codes + 1ull, sizeof *g.codes);
	for (uint32_t i = 0; i < a->nr_found; i++)
		gather(&g, &a->found[i]);
	af_sampled_finish(&g.sampled);
	if (out->query.answers & (AF_ANSWER_TABLES | AF_ANSWER_STALLS))
		af_sampled_tables(&g.sampled, g.store, &out->tables);
	free(g.codes);
	if (out->query.answers & AF_ANSWER_ANNOTATE && out->query.merges) {
		out->kernels = af_xcalloc(1, sizeof *out->kernels);
		*out->kernels = g.sampled;
		out->kernels_close = af_sampled_close;
		return;
	}
	if (out->query.answers & AF_ANSWER_ANNOTATE)
		af_annotate_kernels(&g.sampled, &out->query, g.store, &out->annotated);
	af_sampled_free(&g.sampled);
}

const struct af_pass_ops af_pass_annotated = {
    .name = "annotated",
    .question = "Which instructions are kernels at, and why do they stall?",
    .answers = AF_ANSWER_TABLES | AF_ANSWER_STALLS | AF_ANSWER_ANNOTATE,
    .attributes = AF_ANSWER_TABLES | AF_ANSWER_STALLS | AF_ANSWER_ANNOTATE,
    .state_size = sizeof(struct annotated),
    .wants = 1ull << AF_KIND_KERNEL,
    .event = annotated_event,
    .finish = annotated_finish,
    .close = annotated_close,
};
