/*
 * The clocks of the hosts of a set. Each trace has the CLOCK_MONOTONIC of its host. The reference
 * is that of the set's first member, as its processes see it; times of the others become times of
 * the reference by an offset that changes with time, and whose error is known:
 *
 *	af_set_clocks_read → { af_set_clocks_convert }* → af_set_clocks_table → af_set_clocks_free
 *
 * Members with one boot id have one clock, apart from the offsets of their time namespaces, which
 * the recorder notes. Between hosts the offset comes from messages of MPI that both ends recorded:
 * a message is received after it was sent, so each is a bound, and those of both directions enclose
 * the line (offset and drift) between two convex hulls (A. Duda et al., "Estimating global time in
 * distributed systems", ICDCS 1987). Collectives bound it in the same way: nobody leaves
 * MPI_Barrier before the last has entered. Where the bounds admit no line, the time is halved until
 * they do. Hosts that have no messages with the reference are reached over others. Without messages
 * there is only the time of day of both hosts, whose error is not known.
 */
#ifndef AF_ANALYSE_CLOCKS_CLOCKS_H
#define AF_ANALYSE_CLOCKS_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/set/set.h"
#include "analyse/table/table.h"

struct af_err;

/* The error is not known. */
#define AF_CLOCK_UNKNOWN UINT64_MAX

enum af_clock_by {
	AF_CLOCK_BY_REFERENCE, /* it is the reference, or a process of the same host has it */
	AF_CLOCK_BY_MESSAGES,  /* messages and collectives with the reference */
	AF_CLOCK_BY_PATH,      /* the same, over other hosts */
	AF_CLOCK_BY_REALTIME,  /* by the time of day of both hosts */
	AF_CLOCK_BY_NOTHING    /* there is nothing to know it by */
};

/* At this time of the host, what is added for the reference's time, and the possible error. */
struct af_clock_knot {
	int64_t at_ns, offset_ns;
	uint64_t bound_ns; /* or AF_CLOCK_UNKNOWN */
};

enum { AF_CLOCK_KNOTS = 64 };

/* Between knots, offset and bound are interpolated; there is at least one knot. */
struct af_clock_curve {
	struct af_clock_knot knots[AF_CLOCK_KNOTS];
	uint32_t nr;
	double drift; /* of the offset, before the first knot and behind the last */
	double loose; /* how much the bound grows there with each nanosecond */
};

struct af_set_host {
	const char *name, *boot_id; /* "" without one */
	uint32_t nr_members, first; /* the first of its members */
	int64_t begin_ns, end_ns;   /* of its traces, by its clock */
	enum af_clock_by by;
	uint32_t via;                   /* for AF_CLOCK_BY_PATH: the host before it on the path */
	uint64_t messages, collectives; /* that bound its clock against the one before it */
	bool contradicted; /* messages were received before they were sent: none is used */
	struct af_clock_curve curve;
};

struct af_set_member_clock {
	uint32_t host;
	int64_t namespace_ns; /* its CLOCK_MONOTONIC less that of its host */
	bool unread;          /* its trace could not be read: it has the clock of its host's name */
};

struct af_set_clocks {
	struct af_arena arena;
	struct af_set_host *hosts;           /* the first is the reference */
	struct af_set_member_clock *members; /* as in the set */
	uint32_t nr_hosts, nr_members;
};

/*
 * Find the clocks of the members of @s, which is borrowed for the call. Where all are of one host
 * only a few kilobytes of each trace are read, else the calls of MPI of up to 512 members, evenly
 * of all hosts. Members that cannot be read are skipped. -ENODATA: @s has no member.
 */
int af_set_clocks_read(struct af_set_clocks *c, const struct af_set *s, struct af_err *err);
void af_set_clocks_free(struct af_set_clocks *c);

/*
 * The time of the reference when the clock of member @member stood at @time_ns, from 0 to
 * the largest time that there is. *@bound_ns (may be NULL) is the possible error, or
 * AF_CLOCK_UNKNOWN.
 */
uint64_t af_set_clocks_convert(const struct af_set_clocks *c, uint32_t member, uint64_t time_ns,
                               uint64_t *bound_ns);

/* The largest bound of two hosts of the set, between whose times a figure lies. */
uint64_t af_set_clocks_bound(const struct af_set_clocks *c, uint32_t member, uint32_t other);

/*
 * The table `clocks`, of a row for each host. Offsets and drifts have a sign (`change`). A host
 * whose clock is only known by the time of day has no bounds.
 */
#define AF_CLOCK_COLUMNS(C)                                                                        \
	C(host, "Host", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)                                      \
	C(boot_id, "Boot id", AF_CELL_TEXT, .show = AF_SHOW_NEVER)                                 \
	C(members, "Ranks", AF_CELL_COUNT, .show = AF_SHOW_ALWAYS)                                 \
	C(offset_ns, "Offset", AF_CELL_NS, .show = AF_SHOW_ALWAYS, .change = true)                 \
	C(drift_ppb, "Drift, ppb", AF_CELL_COUNT, .show = AF_SHOW_ALWAYS, .change = true)          \
	C(bound_begin_ns, "Error: begin", AF_CELL_NS, .show = AF_SHOW_ALWAYS)                      \
	C(bound_middle_ns, "Middle", AF_CELL_NS, .show = AF_SHOW_ALWAYS)                           \
	C(bound_end_ns, "End", AF_CELL_NS, .show = AF_SHOW_ALWAYS)                                 \
	C(messages, "Messages", AF_CELL_COUNT, .show = AF_SHOW_USED)                               \
	C(collectives, "Collectives", AF_CELL_COUNT, .show = AF_SHOW_USED)                         \
	C(known_by, "Known by", AF_CELL_TEXT, .show = AF_SHOW_ALWAYS)
struct af_clock_row {
	AF_CLOCK_COLUMNS(AF_ROW_CELL)
};

/* Add the table to @f: of one row where all members are of one host. */
void af_set_clocks_table(const struct af_set_clocks *c, struct af_tables *f);

#endif
