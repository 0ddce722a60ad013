/* Rows that name the programs whose allocations were recorded, and why others were not. */
#include <string.h>

#include "analyse/passes/allocations.h"

/* The note of the process, or of the one that it was forked from. NULL: libaflame was not there. */
static const char *allocations_note(const struct af_world *w, uint32_t process)
{
	for (uint32_t tries = 0; process && process < w->nr_processes && tries < 64; tries++) {
		const char *note = af_process_note(&w->processes[process], "allocations");
		if (note)
			return note;
		process = w->processes[process].parent;
	}
	return NULL;
}

static const char *unseen_text(struct af_tables *f, const struct af_process *p, const char *note)
{
	const char *name = strrchr(p->exe, '/') ? strrchr(p->exe, '/') + 1 : p->exe;

	if (!note)
		return af_tables_text(f, "%s cannot load libaflame-alloc.so", name);
	return af_tables_text(f, "%s calls the malloc of %s", name, *note ? note : "its own");
}

void af_allocations_rows(struct af_tables *f, struct af_table *t, const struct af_world *w)
{
	uint32_t seen = 0, unseen = 0, first = 0;

	if (!af_world_note(w, "collector.alloc"))
		return;
	for (uint32_t i = 1; i < w->nr_processes; i++) {
		const char *note = allocations_note(w, i);
		if (!w->processes[i].start_ns)
			continue;
		if (note && !strcmp(note, "seen")) {
			seen++;
			continue;
		}
		first = unseen++ ? first : i;
	}
	af_pair_row(f, t, "allocations", "allocations",
	            af_tables_text(f, "of %u program%s", seen, seen == 1 ? "" : "s"));
	if (!unseen)
		return;
	const char *why = unseen_text(f, &w->processes[first], allocations_note(w, first));
	af_pair_row(f, t, "allocations_unseen", "allocations not seen",
	            af_tables_text(f, "%u program%s: %s%s", unseen, unseen == 1 ? "" : "s", why,
	                           unseen > 1 ? ", …" : ""));
}
