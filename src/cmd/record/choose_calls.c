/* Which functions of which APIs are recorded with their arguments: --api NAME:LEVEL. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "api/tables/metadata.h"
#include "api/tables/tables.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/options/nearest.h"
#include "cmd/record/choose.h"
#include "cmd/record/record.h"
#include "collect/session/session.h"

/* The names that people use for APIs, and the tables behind each. */
static const struct {
	const char *name;
	uint32_t apis[2]; /* enum af_api, 0: none */
} families[] = {
    {"cuda", {AF_API_CUDA, AF_API_CUDART}},
    {"opencl", {AF_API_OPENCL}},
    {"mpi", {AF_API_MPI}},
    {"all", {0}},
    {"none", {0}},
};

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

bool af_api_is_chosen(const char *list, const char *name)
{
	return !list || af_api_is_named(list, name) || af_api_is_named(list, "all");
}

static int item_level(const struct item *i, enum af_api_level *level, struct af_err *err)
{
	*level = AF_API_MINIMAL;
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
	return af_fail_plain(err, -EINVAL,
	                     "--api knows cuda, opencl, mpi, all and none, not \"%s\"%s%s%s", name,
	                     best ? ": did you mean " : "", best ? best : "", best ? "?" : "");
}

/* Calls that launch work are what flame graphs need: their events have the stacks. */
static uint8_t function_how(const struct af_api_table *api, const struct af_api_function *f,
                            const struct af_record_options *o)
{
	uint8_t how = AF_HOW_ON;

	if (o->api_stacks || (api->api == AF_API_CUDA && f->level == AF_API_MINIMAL))
		how |= AF_HOW_STACK;
	return f->blocks ? how | AF_HOW_WAITS : how;
}

/* At the level minimal the hooks of the APIs record what is needed; MPI has no others. */
static bool has_events(const struct af_api_table *api, enum af_api_level level,
                       const struct af_session_options *s)
{
	return api->api == AF_API_MPI ? s->mpi_library != NULL : level > AF_API_MINIMAL;
}

static void api_choose(const struct af_api_table *api, enum af_api_level level,
                       const struct af_record_options *o, uint8_t *how)
{
	for (uint32_t i = 0; i < api->nr_functions; i++) {
		const struct af_api_function *f = &api->functions[i];
		bool is_on = f->name && f->level <= level;
		how[api->kind + i - AF_KIND_API] = is_on ? function_how(api, f, o) : 0;
	}
}

static bool family_has(unsigned family, uint32_t api)
{
	bool all = !families[family].apis[0] && !strcmp(families[family].name, "all");

	return all || families[family].apis[0] == api || families[family].apis[1] == api;
}

int af_choose_calls(const struct af_record_options *o, struct af_session_options *s,
                    struct af_err *err)
{
	static uint8_t how[AF_API_KINDS];
	static struct af_buf metadata;
	const char *list = o->api;
	struct item item;

	s->tsc = o->clock && !strcmp(o->clock, "tsc");
	while (item_next(&list, &item)) {
		enum af_api_level level;
		unsigned family;
		int rc = item_family(&item, &family, err);
		if (!rc)
			rc = item_level(&item, &level, err);
		if (rc)
			return rc;
		for (uint32_t i = 0; af_apis[i]; i++) {
			if (!family_has(family, af_apis[i]->api) ||
			    !has_events(af_apis[i], level, s))
				continue;
			api_choose(af_apis[i], level, o, how);
			af_api_metadata(&metadata, af_apis[i]);
		}
	}
	if (!o->api && s->mpi_library) {
		api_choose(af_api_named("mpi"), AF_API_MINIMAL, o, how);
		af_api_metadata(&metadata, af_api_named("mpi"));
	}
	if (metadata.len) {
		s->how = how;
		s->metadata = metadata.data;
	}
	return 0;
}
