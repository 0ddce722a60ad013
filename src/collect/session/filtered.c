#include "collect/session/filtered.h"

#include <string.h>

#include "collect/session/session.h"

void af_filtered_saw(struct af_recording *r, const struct af_guest *g, const char *status)
{
	if (strstr(status, "\nSeccomp:\t2"))
		atomic_store(&r->control->filtered[g->process % AF_FILTERED_SLOTS], g->process);
}

void af_filtered_take(struct af_recording *r, struct af_guest *g)
{
	/* What it counted as lost so far; from now on nothing is. */
	if (af_watcher_take(r, g))
		atomic_store(&r->control->forbidden[g->process % AF_FILTERED_SLOTS], 0);
}

void af_filtered_look(struct af_recording *r)
{
	for (uint32_t k = 0; k < AF_FILTERED_SLOTS; k++) {
		uint32_t process = atomic_load(&r->control->forbidden[k]);
		for (uint32_t i = 0; process && i < r->door.nr; i++)
			if (r->door.guests[i].process == process && !r->door.guests[i].ended)
				af_filtered_take(r, &r->door.guests[i]);
	}
}
