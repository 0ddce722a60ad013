/* Which kernels are annotated: those of most time, or those of a name. */
#include <string.h>

#include "analyse/annotate/annotate.h"
#include "analyse/annotate/sampled.h"
#include "analyse/query/query.h"
#include "sym/device/code_store.h"
#include "sym/lines/source.h"

enum { MATCHES_MOST = 1000 };

#define MATCH_COLUMNS(C)                                                                           \
	C(kernel, "Kernel", AF_CELL_TEXT)                                                          \
	C(samples, "Samples", AF_CELL_COUNT)                                                       \
	C(time_ns, "Time", AF_CELL_NS, AF_SHOW_USED)                                               \
	C(symbol, "Symbol", AF_CELL_TEXT)                                                          \
	C(object, "Object", AF_CELL_TEXT, AF_SHOW_NEVER)
struct match_row {
	MATCH_COLUMNS(AF_ROW_CELL)
};

/* Lists the functions that the name may mean, if it means several. */
static void matches_table(struct af_tables *f, const struct af_sampled *s, const uint32_t *found,
                          uint32_t nr)
{
	static const struct af_column columns[] = {MATCH_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, "matches", "Kernels with samples", columns);

	for (uint32_t i = 0; i < nr; i++) {
		const struct af_sampled_function *fn = &s->functions[found ? found[i] : i];
		struct match_row *c = af_table_row(f, t);
		c->kernel.text = af_tables_text(f, "%s", fn->shown);
		c->samples.value = af_tables_count(fn->samples);
		c->time_ns.value = af_tables_count(fn->time_ns);
		c->symbol.text = af_tables_text(f, "%s", fn->name);
		c->object.text = af_tables_text(f, "%s", fn->object);
	}
}

/* True if the functions at @found have the same name. A kernel may be compiled more than once. */
static bool same_name(const struct af_sampled *s, const uint32_t *found, uint32_t nr)
{
	for (uint32_t i = 1; i < nr; i++)
		if (strcmp(s->functions[found[i]].name, s->functions[found[0]].name) != 0)
			return false;
	return true;
}

/* "3 more with other code, the next is spin@e15b6105" */
static const char *others_text(const struct af_sampled *s, struct af_tables *f,
                               const uint32_t *found, uint32_t nr)
{
	const struct af_sampled_function *next = &s->functions[found[1]];

	if (!*next->object)
		return af_tables_text(f, "%u more with other code", nr - 1);
	return af_tables_text(f, "%u more with other code, the next is %s@%.8s", nr - 1, next->name,
	                      next->object);
}

/* The objects of one trace or, in a set, those of the trace that a kernel is of. */
struct kernel_codes {
	struct af_code_store *one, *opened;
	const char *dir; /* of that */
};

static struct af_code_store *codes_of(struct kernel_codes *c, const struct af_sampled_function *fn)
{
	if (!*fn->trace)
		return c->one;
	if (!c->dir || strcmp(c->dir, fn->trace) != 0) {
		af_code_store_close(c->opened);
		c->dir = fn->trace;
		if (af_code_store_open(&c->opened, c->dir, NULL))
			c->opened = NULL;
	}
	return c->opened;
}

void af_annotate_kernels(const struct af_sampled *s, const struct af_query *query,
                         struct af_code_store *codes, struct af_tables *f)
{
	uint32_t found[MATCHES_MOST], most = query->kernels ? query->kernels : 1;
	uint32_t nr_all = s->nr_functions;
	struct kernel_codes from = {.one = codes};
	struct af_annotate_with with = {.context = query->context, .most = query->rows};

	if (!nr_all)
		return;
	uint32_t nr = af_sampled_match(s, query->kernel, found, MATCHES_MOST);
	if (nr > 1 && same_name(s, found, nr < MATCHES_MOST ? nr : MATCHES_MOST)) {
		with.others = others_text(s, f, found, nr);
		nr = 1;
	}
	if (query->kernel && nr != 1) {
		nr = nr < MATCHES_MOST ? nr : MATCHES_MOST;
		matches_table(f, s, nr ? found : NULL, nr ? nr : nr_all);
		f->last->note = nr ? NULL : "none of that name";
		return;
	}
	with.codes = codes_of(&from, &s->functions[query->kernel ? found[0] : 0]);
	af_source_open(&with.sources, query->sources,
	               with.codes && af_code_store_is_here(with.codes));
	for (uint32_t i = 0; i < most && (query->kernel ? i < nr : i < nr_all); i++) {
		uint32_t function = query->kernel ? found[i] : i;
		with.codes = codes_of(&from, &s->functions[function]);
		af_annotate(f, s, function, &with);
	}
	af_source_close(with.sources);
	af_code_store_close(from.opened);
}
