/* Which ranks of a job left no trace in its set, and why. */
#include <stdio.h>

#include "analyse/set/private.h"
#include "base/buf.h"

/* "3, 9-11, …": the ranks below @all that no member has; members are in the order of ranks. */
static void absent_text(const struct af_set *s, uint64_t all, struct af_list *to)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i <= s->nr; i++) {
		const struct af_member *m = i < s->nr ? &s->members[i] : NULL;
		if (m && !m->has_rank)
			continue;
		uint64_t is = m && m->rank < all ? m->rank : all;
		if (is > next)
			af_list_add(to, NULL, next, is - 1);
		next = is + 1 > next ? is + 1 : next;
	}
}

bool af_set_lacks(const struct af_set *s, char *text, size_t size)
{
	const char *selection = "";
	uint64_t all = 0, nr = 0, last = UINT64_MAX;

	for (uint32_t i = 0; i < s->nr; i++) {
		const struct af_member *m = &s->members[i];
		if (m->job_ranks > all)
			all = m->job_ranks;
		if (m->selection && *m->selection)
			selection = m->selection;
		nr += m->has_rank && m->rank != last;
		last = m->has_rank ? m->rank : last;
	}
	if (nr >= all)
		return false;
	if (*selection) {
		snprintf(text, size, "%llu of the job's %llu ranks were recorded, as %s asks",
		         (unsigned long long)nr, (unsigned long long)all, selection);
		return true;
	}
	struct af_list l = {0};
	absent_text(s, all, &l);
	snprintf(
	    text, size,
	    "%llu of the job's %llu ranks left no trace here: %s; they have not begun yet, ran "
	    "unrecorded (their standard error tells why), or were not copied",
	    (unsigned long long)(all - nr), (unsigned long long)all,
	    l.text.data ? l.text.data : "");
	af_buf_free(&l.text);
	return true;
}
