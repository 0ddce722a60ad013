/* The sum of members of a set: their merged results, and the ranks beside each other. */
#include <errno.h>

#include "analyse/ranks/ranks.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "cmd/shared/set.h"

void af_set_sum_open(struct af_set_sum *s, const struct af_merge_how *how, bool compares)
{
	*s = (struct af_set_sum){
	    .how = how, .m = af_merge_open(how), .ranks = compares ? af_ranks_open() : NULL};
}

void af_set_sum_close(struct af_set_sum *s)
{
	af_merge_close(s->m);
	af_ranks_close(s->ranks);
	*s = (struct af_set_sum){0};
}

const char *af_set_not_whole(const struct af_member *who, const struct af_results *r)
{
	if (who->state == AF_MEMBER_DEAD || who->state == AF_MEMBER_UNFINISHED)
		return *who->why ? who->why : "its recording did not end";
	return r->damage[0] ? r->damage : NULL;
}

/* Keep its profile, and leave of the results what the answer is made of. */
static void rank_take(struct af_set_sum *s, const struct af_member *who, struct af_results *r)
{
	if (!af_set_not_whole(who, r))
		af_ranks_add(s->ranks, who, r);
	if (s->how->query.answers & 1 << AF_VIEW_GPU)
		return;
	af_tree_close(&r->trees[AF_VIEW_GPU]);
	r->trees[AF_VIEW_GPU] = (struct af_tree){0};
	r->has[AF_VIEW_GPU] = 0;
}

void af_set_sum_add(struct af_set_sum *s, const struct af_member *who, struct af_results *r)
{
	if (s->ranks)
		rank_take(s, who, r);
	af_merge_add(s->m, who, r);
}

void af_set_sum_empty(struct af_set_sum *s)
{
	const struct af_merge_how *how = s->how;
	bool compares = s->ranks;

	if (!s->m)
		return;
	af_set_sum_close(s);
	af_set_sum_open(s, how, compares);
}

/* A part of the bytes, behind their number. */
static void part_write(struct af_buf *to, struct af_buf *part)
{
	af_buf_leb128(to, part->len);
	if (part->len)
		af_buf_add(to, part->data, part->len);
	af_buf_free(part);
	*part = (struct af_buf){0};
}

void af_set_sum_write(const struct af_set_sum *s, struct af_buf *to)
{
	struct af_buf part = {0};

	if (s->ranks)
		af_ranks_write(s->ranks, &part);
	part_write(to, &part);
	if (s->m)
		af_merge_write(s->m, &part);
	part_write(to, &part);
}

int af_set_sum_read(struct af_set_sum *s, struct af_cursor *from, struct af_err *err)
{
	uint64_t nr_ranks = af_cursor_uleb(from);
	const uint8_t *ranks = af_cursor_bytes(from, nr_ranks);
	uint64_t nr = af_cursor_uleb(from);
	const uint8_t *merge = af_cursor_bytes(from, nr);

	if (from->bad)
		return af_fail_plain(err, -EBADMSG, "the results of another process are damaged");
	int rc = s->ranks ? af_ranks_read(s->ranks, ranks, nr_ranks, err) : 0;
	return rc || !s->m ? rc : af_merge_read(s->m, merge, nr, err);
}
