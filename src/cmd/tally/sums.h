/*
 * The sums that `aflame tally` shows: calls of APIs, and the tables of device work, of one trace or
 * of the members of a set.
 *
 *	a zeroed struct with its group → { tally_sums_read | tally_sums_join }* → tally_sums_free
 */
#ifndef AF_CMD_TALLY_SUMS_H
#define AF_CMD_TALLY_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/table/table.h"
#include "analyse/tally/tally.h"

struct af_buf;
struct af_err;
struct af_member;

/* The tables of device work, in their order, and what a row of each is about. */
enum { TALLY_PARTS = 4 };
extern const struct tally_part {
	const char *table, *key;
} tally_parts[TALLY_PARTS];

/* Memory is never added up over devices and processes: peaks are not at the same time. */
bool tally_folds(const char *table);

struct tally_group {
	enum af_tally_group group;
	bool apart;  /* by device */
	bool energy; /* joules are read, too */
};

enum { TALLY_NAMED = 64 }; /* members that are named; all are counted */

/* A member that has no part in the sums, or only a part of it is there. */
struct tally_missing {
	const char *member, *why;
	bool damaged; /* what can be read of it is counted */
};

struct tally_sums {
	struct tally_group by;
	struct af_tally calls;
	struct af_tables works;     /* the rows of all traces: kernels, copies, memory */
	uint32_t kept[TALLY_PARTS]; /* rows of each when equal ones were last made one */
	uint64_t nr_members, nr_missing, nr_damaged;
	struct af_arena texts;
	struct tally_missing missing[TALLY_NAMED];
	uint32_t nr_named;
	uint32_t threads; /* that read a trace, of which others may read other members; 0: one */
};

/* Free what @s holds; its group stays. */
void tally_sums_free(struct tally_sums *s);

/*
 * Add the trace @dir to @s, which is empty; @who names it. It is finished first if its recorder was
 * killed. Any thread.
 */
int tally_sums_read(struct tally_sums *s, const char *dir, const char *who, struct af_err *err);

/* The same of one that is being recorded, as far as it is on disk. */
int tally_sums_read_live(struct tally_sums *s, const char *dir, const char *who,
                         struct af_err *err);

/* Count the member @who as one that could not be read. */
void tally_sums_missing(struct tally_sums *s, const char *who, const char *why);

/* Add @later, whose members come behind those of @s. */
void tally_sums_join(struct tally_sums *s, const struct tally_sums *later);

/* The sums as bytes for another process, and those of a later one added. */
void tally_sums_write(const struct tally_sums *s, struct af_buf *to);
int tally_sums_join_bytes(struct tally_sums *s, const void *data, size_t size, struct af_err *err);

/* A table of device work with a row for what the group keeps apart, and its total, in @f. */
struct af_table *tally_sums_work(const struct tally_sums *s, unsigned part, struct af_tables *f);

#endif
