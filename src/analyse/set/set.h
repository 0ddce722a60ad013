/*
 * A set: the traces of one job, one a rank, in one folder; or one trace, which is a set of one. A
 * folder that has no rank is a set of runs, if it has traces of any name, or folders of ranks.
 * The members are in the order of their rank, then of their name, whoever lists them.
 *
 *	af_set_open → read the members → af_set_close
 *
 * Listing reads a few kilobytes of each member (its recorder's stream), so that a set of 100,000
 * entries is listed in seconds. A member that cannot be read is listed with the reason.
 */
#ifndef AF_ANALYSE_SET_SET_H
#define AF_ANALYSE_SET_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/table/table.h"
#include "base/arena.h"

struct af_buf;
struct af_cursor;
struct af_err;

enum af_member_state {
	AF_MEMBER_COMPLETE,
	AF_MEMBER_RECOVERED, /* its recorder was killed, and a later command finished it */
	AF_MEMBER_LIVE,      /* it is still being recorded, here or on another host */
	AF_MEMBER_DEAD,      /* of another host, unfinished, and nothing was written for long */
	AF_MEMBER_UNFINISHED,
	AF_MEMBER_UNREADABLE /* see why */
};

/* Names by which members are grouped, beside host and rank: "dp" = "3", from notes "group.dp". */
struct af_member_group {
	const char *key, *value;
};

struct af_member {
	const char *path; /* of the trace's directory */
	const char *name; /* of the directory in the set: "rank-0017", "before/rank-0017" */
	const char
	    *label; /* "rank 17"; of two of one rank "rank 17 (rank-0017b)"; "before rank 17" */
	const char *host, *job_key, *version;
	const char *boot_id; /* or "" */
	uint64_t rank, pid;
	bool has_rank;
	int status; /* as of wait(); valid if has_status */
	bool has_status;
	uint64_t cpu_ns;
	bool has_cpu;
	enum af_member_state state;
	const char *why; /* the state's reason, in words; "" for none */
	bool staged;     /* it lies on @host, which gather has to run on (trace/read/staged.h) */
	const struct af_member_group *groups;
	uint32_t nr_groups;
	uint64_t job_ranks;    /* of the job, recorded or not; 0: not known */
	const char *selection; /* by which ranks were chosen, "--ranks 0-3"; "": all are recorded */
};

struct af_set {
	struct af_arena arena;
	const char *path;
	struct af_member *members;
	uint32_t nr, cap;
	bool single; /* @path is a trace itself: one member */
};

/*
 * List the members of the set at @path. -ENOENT: there is nothing; -ENODATA: it is a folder without
 * a trace. The caller closes the set, also after a failure.
 */
int af_set_open(struct af_set *s, const char *path, struct af_err *err);
void af_set_close(struct af_set *s);

/*
 * Is it a set of runs? No member has a rank then, as the ranks of two runs are not one. The run is
 * the group "run" of each.
 */
static inline bool af_set_is_runs(const struct af_set *s)
{
	return !s->single && s->nr && !s->members[0].has_rank;
}

/* The columns by which every table of members begins. */
#define AF_MEMBER_COLUMNS(C)                                                                       \
	C(rank, "Rank", AF_CELL_COUNT)                                                             \
	C(host, "Host", AF_CELL_TEXT)                                                              \
	C(pid, "Pid", AF_CELL_TEXT)                                                                \
	C(exit_status, "Exit status", AF_CELL_TEXT)                                                \
	C(cpu_time_ns, "CPU time", AF_CELL_NS)                                                     \
	C(state, "State", AF_CELL_TEXT)                                                            \
	C(trace, "Trace", AF_CELL_TEXT)
struct af_member_row {
	AF_MEMBER_COLUMNS(AF_ROW_CELL)
};

/* Fill @row, or the beginning of a longer one, with what is known of @m; texts live as @f does. */
void af_member_cells(struct af_tables *f, const struct af_member *m, struct af_member_row *row);

/*
 * How many of the job's ranks the set has, and why not the others: "2 of the job's 64 ranks were
 * recorded, as --ranks 0-1 asks". False: it has all, or nobody knows how many there are.
 */
bool af_set_lacks(const struct af_set *s, char *text, size_t size);

/* How many members are of a rank that an earlier member is of, too. */
uint32_t af_set_twins(const struct af_set *s);

/* Read the member @i again, as it may have been finished since. */
void af_set_refresh(struct af_set *s, uint32_t i);

/*
 * The list as bytes, so that one process lists for many, and back: -EBADMSG. The caller closes the
 * set that was read, also after a failure.
 */
void af_set_write(const struct af_set *s, struct af_buf *to);
int af_set_read_bytes(struct af_set *s, const void *data, size_t size, struct af_err *err);

/* The same of one member. What is read lives in @arena; from->bad is set where it is damaged. */
void af_member_write(const struct af_member *m, struct af_buf *to);
void af_member_read(struct af_cursor *from, struct af_arena *arena, struct af_member *m);

/* Is @text a number and nothing else? Then it is *@rank. */
bool af_rank_parse(const char *text, uint64_t *rank);

#endif
