#include "api/tables/tables.h"

#include <stddef.h>
#include <string.h>

const struct af_api_table *af_api_of(uint16_t kind)
{
	for (const struct af_api_table *const *api = af_apis; *api; api++)
		if (kind >= (*api)->kind && kind - (*api)->kind < (*api)->nr_functions)
			return *api;
	return NULL;
}

const struct af_api_function *af_api_function(uint16_t kind)
{
	const struct af_api_table *api = af_api_of(kind);
	const struct af_api_function *f = api ? &api->functions[kind - api->kind] : NULL;

	return f && f->name ? f : NULL;
}

const struct af_api_table *af_api_named(const char *name)
{
	for (const struct af_api_table *const *api = af_apis; *api; api++)
		if (!strcmp((*api)->name, name))
			return *api;
	return NULL;
}
