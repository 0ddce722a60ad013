#include "collect/session/filtered.h"

#include <string.h>

#include "collect/session/session.h"

void af_filtered_saw(struct af_recording *r, const struct af_client *g, const char *status)
{
	if (strstr(status, "\nSeccomp:\t2"))
		atomic_store(&r->control->filtered[g->process % AF_FILTERED_SLOTS], g->process);
}

void af_filtered_take(struct af_recording *r, struct af_client *g)
{
	/* The losses that it counted so far; from now on it counts none. */
	if (af_watcher_take(r, g))
		atomic_store(&r->control->forbidden[g->process % AF_FILTERED_SLOTS], 0);
}

void af_filtered_poll(struct af_recording *r)
{
	for (uint32_t k = 0; k < AF_FILTERED_SLOTS; k++) {
		uint32_t process = atomic_load(&r->control->forbidden[k]);
		for (uint32_t i = 0; process && i < r->clients.nr; i++)
			if (r->clients.list[i].process == process && !r->clients.list[i].ended)
				af_filtered_take(r, &r->clients.list[i]);
	}
}
