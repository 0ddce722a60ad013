#include "cmd/calls/choice.h"

#include <fnmatch.h>

#include "api/tables/tables.h"
#include "cmd/options/nearest.h"
#include "trace/layout.h"

uint32_t af_call_choice_add(struct af_call_choice *c, const char *pattern)
{
	uint32_t nr = 0;

	for (const struct af_api_table *const *api = af_apis; *api; api++)
		for (uint32_t i = 0; i < (*api)->nr_functions; i++) {
			const char *name = (*api)->functions[i].name;
			if (!name || fnmatch(pattern, name, 0))
				continue;
			uint32_t bit = (*api)->kind + i - AF_KIND_API;
			c->chosen[bit / 8] |= (uint8_t)(1 << bit % 8);
			nr++;
		}
	return nr;
}

void af_call_choice_offer(struct af_nearest *near)
{
	for (const struct af_api_table *const *api = af_apis; *api; api++)
		for (uint32_t i = 0; i < (*api)->nr_functions; i++)
			if ((*api)->functions[i].name)
				af_nearest_offer(near, (*api)->functions[i].name);
}

bool af_call_choice_has(const struct af_call_choice *c, uint16_t kind)
{
	uint32_t bit = (uint32_t)kind - AF_KIND_API;

	return c->all || c->chosen[bit / 8] >> bit % 8 & 1;
}
