/* Which functions of which APIs are recorded with their arguments: --api NAME:LEVEL. */
#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/tables/metadata.h"
#include "api/tables/tables.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/options/nearest.h"
#include "cmd/record/choose.h"
#include "cmd/record/record.h"
#include "collect/session/control.h"
#include "collect/session/session.h"

/* The names that people use for APIs, and the tables behind each. */
static const struct {
	const char *name;
	uint32_t apis[2]; /* enum af_api, 0: none */
} families[] = {
    {"cuda", {AF_API_CUDA, AF_API_CUDART}},
    {"opencl", {AF_API_OPENCL}},
    {"mpi", {AF_API_MPI}},
    {"ze", {AF_API_LEVEL_ZERO}},
    {"hip", {AF_API_HIP}},
    {"omp", {AF_API_OPENMP}},
    {"kokkos", {0}},
    {"itt", {0}},
    {"all", {0}},
    {"none", {0}},
};

/* For functions that are switched on later. */
static const struct af_record_options *switched;

enum { FAMILIES = sizeof families / sizeof *families };

static const char *const levels[] = {
    [AF_API_MINIMAL] = "minimal", [AF_API_DEFAULT] = "default", [AF_API_FULL] = "full"};

static bool word_is(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && !memcmp(word, name, len);
}

/* An item of the list: "cuda:full". */
struct item {
	const char *name, *level;
	size_t name_len, level_len;
};

static bool item_next(const char **rest, struct item *i)
{
	if (!*rest)
		return false;
	size_t len = strcspn(*rest, ",");
	const char *colon = memchr(*rest, ':', len);

	*i = (struct item){.name = *rest, .name_len = colon ? (size_t)(colon - *rest) : len};
	if (colon) {
		i->level = colon + 1;
		i->level_len = len - i->name_len - 1;
	}
	*rest = (*rest)[len] ? *rest + len + 1 : NULL;
	return true;
}

bool af_api_is_named(const char *list, const char *name)
{
	struct item i;

	while (item_next(&list, &i))
		if (word_is(i.name, i.name_len, name))
			return true;
	return false;
}

bool af_api_is_traced_by(const char *list, const char *name)
{
	struct item i;

	while (item_next(&list, &i))
		if (i.level && !word_is(i.level, i.level_len, levels[AF_API_MINIMAL]) &&
		    (word_is(i.name, i.name_len, name) || word_is(i.name, i.name_len, "all")))
			return true;
	return false;
}

bool af_api_is_chosen(const char *list, const char *name)
{
	return !list || af_api_is_named(list, name) || af_api_is_named(list, "all");
}

static int item_level(const struct item *i, enum af_api_level usual, enum af_api_level *level,
                      struct af_err *err)
{
	*level = usual;
	if (!i->level)
		return 0;
	for (unsigned l = AF_API_MINIMAL; l <= AF_API_FULL; l++) {
		if (word_is(i->level, i->level_len, levels[l])) {
			*level = l;
			return 0;
		}
	}
	return af_fail_plain(err, -EINVAL,
	                     "--api has the levels minimal, default and full, not \"%.*s\"",
	                     (int)i->level_len, i->level);
}

static int item_family(const struct item *i, unsigned *family, struct af_err *err)
{
	struct af_nearest near;
	char name[32] = "";

	for (*family = 0; *family < FAMILIES; ++*family)
		if (word_is(i->name, i->name_len, families[*family].name))
			return 0;
	memcpy(name, i->name, i->name_len < sizeof name ? i->name_len : sizeof name - 1);
	af_nearest_init(&near, name);
	for (unsigned f = 0; f < FAMILIES; f++)
		af_nearest_offer(&near, families[f].name);
	const char *best = af_nearest_best(&near);
	char known[256] = "";
	for (unsigned f = 0; f < FAMILIES; f++) {
		size_t used = strlen(known);
		snprintf(known + used, sizeof known - used, "%s%s",
		         !f                  ? ""
		         : f + 1 == FAMILIES ? " and "
		                             : ", ",
		         families[f].name);
	}
	return af_fail_plain(err, -EINVAL, "--api knows %s, not \"%s\"%s%s%s", known, name,
	                     best ? ": did you mean " : "", best ? best : "", best ? "?" : "");
}

/* Calls that launch work are what flame graphs need: their events have the stacks. */
static uint8_t function_how(const struct af_api_table *api, const struct af_api_function *f,
                            const struct af_record_options *o)
{
	uint8_t how = AF_HOW_ON;

	if (o->tally_only)
		return f->blocks ? AF_HOW_SUM | AF_HOW_WAITS : AF_HOW_SUM;
	bool has_work =
	    api->api == AF_API_CUDA || api->api == AF_API_LEVEL_ZERO || api->api == AF_API_HIP;

	if (o->api_stacks || (has_work && f->level == AF_API_MINIMAL))
		how |= AF_HOW_STACK;
	if (f->category == AF_CATEGORY_LAUNCH || f->category == AF_CATEGORY_GRAPH_LAUNCH ||
	    f->category == AF_CATEGORY_COPY || f->category == AF_CATEGORY_FILL)
		how |= AF_HOW_LAUNCH;
	return f->blocks ? how | AF_HOW_WAITS : how;
}

static bool is_preloaded(const struct af_api_table *api, const struct af_session_options *s)
{
	return (api->api == AF_API_MPI && s->mpi_library) ||
	       (api->api == AF_API_HIP && s->hip_library);
}

/*
 * At the level minimal the hooks of the APIs record what is needed; MPI and HIP have no others, and
 * wrappers only where their library is preloaded.
 */
static bool has_events(const struct af_api_table *api, enum af_api_level level,
                       const struct af_session_options *s)
{
	if (api->api == AF_API_LEVEL_ZERO && !s->ze_library)
		return false;
	return is_preloaded(api, s) ||
	       (level > AF_API_MINIMAL && api->api != AF_API_MPI && api->api != AF_API_HIP);
}

static void api_choose(const struct af_api_table *api, enum af_api_level level,
                       const struct af_record_options *o, uint8_t *how)
{
	for (uint32_t i = 0; i < api->nr_functions; i++) {
		const struct af_api_function *f = &api->functions[i];
		bool is_on = f->name && f->level <= level;
		how[api->kind + i - AF_KIND_API] = is_on ? function_how(api, f, o) : 0;
	}
	/* The number 0 stands for functions that are newer than the model. */
	if (!o->tally_only && !api->functions[0].name)
		how[api->kind - AF_KIND_API] = AF_HOW_ON;
}

static bool family_has(unsigned family, uint32_t api)
{
	bool all = !families[family].apis[0] && !strcmp(families[family].name, "all");

	return all || families[family].apis[0] == api || families[family].apis[1] == api;
}

/* An API of which no function was recorded from the start has no wrappers. */
static bool is_traced(const struct af_recording *r, const struct af_api_table *api)
{
	for (uint32_t i = 0; r->options->how && i < api->nr_functions; i++)
		if (r->options->how[api->kind + i - AF_KIND_API])
			return true;
	return false;
}

/*
 * Switch the functions of @api that match. A note in the trace has an earlier time than the first
 * call that is missing. Returns the number of functions.
 */
static uint32_t switch_api(struct af_recording *r, const struct af_api_table *api,
                           const char *pattern, bool on)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < api->nr_functions; i++) {
		const struct af_api_function *f = &api->functions[i];
		if (!f->name || fnmatch(pattern, f->name, 0))
			continue;
		if (!nr++)
			af_session_note(r, "calls.switched", "%s: %s %s", api->name,
			                on ? "on" : "off", pattern);
		af_control_put_how(r, (uint16_t)(api->kind + i),
		                   on ? function_how(api, f, switched) : 0);
	}
	return nr;
}

static uint32_t nr_matching(const struct af_api_table *api, const char *pattern)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < api->nr_functions; i++)
		nr += api->functions[i].name && !fnmatch(pattern, api->functions[i].name, 0);
	return nr;
}

bool af_switch_calls(struct af_recording *r, const char *words, char *text, size_t size)
{
	bool on = !strncmp(words, "on ", 3);
	const char *pattern = words + (on ? 3 : 4);
	uint32_t nr = 0, left = 0;

	if (!on && strncmp(words, "off ", 4)) {
		snprintf(text, size, "api takes on or off, and a name or pattern: api off clGet*");
		return false;
	}
	for (const struct af_api_table *const *api = af_apis; *api; api++) {
		if (is_traced(r, *api))
			nr += switch_api(r, *api, pattern, on);
		else
			left += nr_matching(*api, pattern);
	}
	if (nr)
		snprintf(text, size, "%u functions are %s", nr, on ? "on" : "off");
	else if (left)
		snprintf(text, size,
		         "%u functions match, but their API is not traced: record with "
		         "--api NAME:default or NAME:full",
		         left);
	else
		snprintf(text, size, "no function is called %s: `aflame api list` has all",
		         pattern);
	return nr > 0;
}

int af_choose_calls(const struct af_record_options *o, struct af_session_options *s,
                    struct af_err *err)
{
	static uint8_t how[AF_API_KINDS];
	static struct af_buf metadata;
	const char *list = o->api ? o->api : o->tally_only ? "all" : NULL;
	/* Hooks of the level minimal make events, and sums are to have all that matters. */
	enum af_api_level usual = o->tally_only ? AF_API_DEFAULT : AF_API_MINIMAL;
	struct item item;
	uint32_t traced = 0; /* a bit for each of af_apis: an API may be named twice */

	switched = o;
	s->switch_calls = af_switch_calls;
	s->system_clock = o->clock && !strcmp(o->clock, "system");
	while (item_next(&list, &item)) {
		enum af_api_level level;
		unsigned family;
		int rc = item_family(&item, &family, err);
		if (!rc)
			rc = item_level(&item, usual, &level, err);
		if (rc)
			return rc;
		for (uint32_t i = 0; af_apis[i]; i++) {
			if (!family_has(family, af_apis[i]->api) ||
			    !has_events(af_apis[i], level, s))
				continue;
			api_choose(af_apis[i], level, o, how);
			traced |= 1u << i;
		}
	}
	for (uint32_t i = 0; af_apis[i]; i++) {
		if (!o->api && !(traced >> i & 1) && is_preloaded(af_apis[i], s)) {
			api_choose(af_apis[i], AF_API_MINIMAL, o, how);
			traced |= 1u << i;
		}
		if (traced >> i & 1)
			af_api_metadata(&metadata, af_apis[i]);
	}
	s->how = traced ? how : NULL;
	s->metadata = o->tally_only ? NULL : metadata.data; /* sums need no layouts of calls */
	return 0;
}
