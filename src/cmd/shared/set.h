/*
 * Loads the traces of a set, and merges their results: commands that call af_load() get those of
 * all ranks. A rank that cannot be read is named with the reason, and the rest is answered.
 */
#ifndef AF_CMD_SHARED_SET_H
#define AF_CMD_SHARED_SET_H

#include "analyse/pass/pass.h"
#include "analyse/set/merge.h"
#include "analyse/set/set.h"

struct af_buf;
struct af_cursor;
struct af_err;
struct af_ranks;

/* The rows of option tables of commands that keep members apart. */
#define AF_BY_WORDS "host|rank|device|process|run"

/*
 * The word of --by: host, rank, device, process, run, group:KEY; *@group is KEY or NULL. NULL:
 * AF_BY_NOTHING. -EINVAL: the word is none of these.
 */
int af_by_parse(const char *word, enum af_merge_by *by, const char **group, struct af_err *err);

/* -EINVAL: the word is invalid, or @dir, which is read, is no set. */
int af_by_check(const char *word, bool is_set, const char *dir, struct af_err *err);

/* Put the word of --by into @query. */
int af_by_query(const char *word, struct af_query *query, struct af_err *err);

/*
 * Make the member @i of @set ready to be read: finishes what a killed recorder left. NULL: it can
 * be read; else the reason why not, which lives as long as the set.
 */
const char *af_set_prepare(struct af_set *set, uint32_t i);

/*
 * The sum of members, in the order in which they come: their results as those of one trace, and the
 * ranks beside each other. A zeroed one is of nobody's interest: nothing is added to it.
 */
struct af_set_sum {
	struct af_merge *m;
	struct af_ranks *ranks; /* NULL: they are not compared */
	const struct af_merge_how *how;
};

/* A sum of nothing. @how is the caller's, and lives as long. The caller closes it. */
void af_set_sum_open(struct af_set_sum *s, const struct af_merge_how *how, bool compares);
void af_set_sum_close(struct af_set_sum *s);

/* Add a member. @r stays the caller's, less a view that only the comparison needed. */
void af_set_sum_add(struct af_set_sum *s, const struct af_member *who, struct af_results *r);

/* Forget all members. */
void af_set_sum_empty(struct af_set_sum *s);

/* The sum as bytes, for another process; and the next such bytes added to it, or -EBADMSG. */
void af_set_sum_write(const struct af_set_sum *s, struct af_buf *to);
int af_set_sum_read(struct af_set_sum *s, struct af_cursor *from, struct af_err *err);

/* Times of half a trace are held against nothing: the reason why it is not whole, or NULL. */
const char *af_set_not_whole(const struct af_member *who, const struct af_results *r);

/*
 * The results of all members of @set, with the table of functions and findings. It prints on
 * standard error for how many members they stand, and which are missing. -ENODATA: no member can be
 * read. The caller closes the results.
 */
int af_set_load(struct af_set *set, const struct af_query *query, struct af_results *r,
                struct af_err *err);

/*
 * The same for a part of a set, with that line only where a member is missing. -ENODATA: none of
 * its members can be read, and the message says why.
 */
int af_set_load_part(struct af_set *set, const struct af_query *query, struct af_results *r,
                     struct af_err *err);

/*
 * Prints that line: @m, before its end, stands for so many of the members of @path. -ENODATA,
 * without a line: for none.
 */
int af_set_report(const char *path, const struct af_merge *m, struct af_err *err);

#endif
