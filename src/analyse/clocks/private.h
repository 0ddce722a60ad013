/*
 * Shared by the files of the room:
 *
 *	clocks.c    the whole way; times are converted
 *	hosts.c     which members have one clock; times of day
 *	calls.c     the functions of MPI that messages depend on
 *	messages.c  the messages of one member, thinned out to a bounded number
 *	receives.c  which message a receive got
 *	match.c     messages of both ends become bounds of two hosts
 *	bounds.c    bounds become a curve, of one line or of several
 *	lines.c     the lines that bounds admit (lines.h)
 *	curve.c     values of a curve; curves follow one another
 *	paths.c     from the reference to all hosts
 *	table.c     the table
 */
#ifndef AF_ANALYSE_CLOCKS_PRIVATE_H
#define AF_ANALYSE_CLOCKS_PRIVATE_H

#include "analyse/clocks/clocks.h"
#include "api/tables/decode.h"
#include "base/keys.h"
#include "base/map.h"

/* Times beyond this are not believed: sums and differences of two stay within 64 bits. */
#define CLOCK_TIME_MAX (INT64_C(1) << 61)

/* Two clocks of Linux differ by no more than this: CLOCK_MONOTONIC is slewed by 500 ppm at most. */
#define CLOCK_DRIFT_MAX 5e-4

/* A bound of the offset @y at the time @x. */
struct clock_point {
	int64_t x, y;
};

struct clock_points {
	struct clock_point *all;
	uint32_t nr, cap;
};

/*
 * Bounds of what is added to a time of host b for a time of host a, by the time of b. Each set of
 * points is thinned out when it has many: the tightest of each part of the time is kept.
 */
struct clock_bounds {
	struct clock_points lower, upper;
	uint64_t messages, collectives;
};

/* A message from a (or from b) that was sent at @sent and received by @received, own clocks. */
void clock_bounds_from_a(struct clock_bounds *b, int64_t sent, int64_t received);
void clock_bounds_from_b(struct clock_bounds *b, int64_t sent, int64_t received);
void clock_bounds_free(struct clock_bounds *b);

/*
 * The curve that the bounds admit, from @begin to @end of host b. False when there are no bounds of
 * both sides, or (*@contradicted) when they admit none.
 */
bool clock_bounds_curve(struct clock_bounds *b, int64_t begin, int64_t end,
                        struct af_clock_curve *curve, bool *contradicted);

/* Offset and bound of a curve at a time. */
struct af_clock_knot clock_curve_at(const struct af_clock_curve *c, int64_t at_ns);

/* Make a → b of b → a. */
void clock_curve_reverse(const struct af_clock_curve *c, struct af_clock_curve *reverse);

/* First @c, then @next: c → b and b → a make c → a. */
void clock_curve_chain(const struct af_clock_curve *c, const struct af_clock_curve *next,
                       struct af_clock_curve *chain);

/* The purpose of a function of MPI. */
enum clock_role {
	CLOCK_ROLE_NONE,
	CLOCK_ROLE_INIT,
	CLOCK_ROLE_SEND,
	CLOCK_ROLE_RECEIVE,
	CLOCK_ROLE_BOTH,      /* the request is of the receive */
	CLOCK_ROLE_MAKE_SEND, /* MPI_Send_init */
	CLOCK_ROLE_MAKE_RECEIVE,
	CLOCK_ROLE_START,
	CLOCK_ROLE_COMPLETE,
	CLOCK_ROLE_FREE,
	CLOCK_ROLE_CANCEL,
	CLOCK_ROLE_PROBE, /* takes a message away from receives: MPI_Mprobe */
	CLOCK_ROLE_DUP,
	CLOCK_ROLE_DROP, /* MPI_Comm_free */
	CLOCK_ROLE_MEET, /* a collective that nobody leaves before all have entered */
};

struct clock_function {
	enum clock_role role;
	int8_t dest, send_tag, source, receive_tag, comm, new_comm, request, status, count, index;
	bool known, is_all; /* MPI_Wait, MPI_Waitall */
};

/* The role and the parameters of a function; found once for each. */
const struct clock_function *clock_function_of(uint32_t number, const struct af_api_function *f);

/* Times of every 2^shift-th, from the first: of messages of a channel, or of collectives. */
struct clock_times {
	int64_t *ns; /* 0: not known */
	uint32_t nr, cap, shift;
};

/* Add the time of number @k; numbers that are left out are ignored. */
void clock_times_put(struct clock_times *t, uint64_t k, int64_t ns);
void clock_times_halve(struct clock_times *t);

/* Messages of one direction with one peer, tag and communicator. */
struct clock_channel {
	uint32_t comm, peer;
	int32_t tag;
	bool sends, broken; /* broken: the order is not certain */
	uint32_t tid;       /* the thread that has used it */
	uint64_t nr;
	struct clock_times times;
};

/* Collectives of one communicator and function: when each was entered and left. */
struct clock_meeting {
	uint32_t comm, function;
	uint64_t nr;
	struct clock_times enter, leave;
};

enum { CLOCK_MEETINGS = 8, CLOCK_TIMES = 16384, CLOCK_CHANNELS = 4096, CLOCK_MEETINGS_KEPT = 512 };

/* A member's messages with other hosts. */
struct clock_messages {
	struct af_keys by_key; /* of channels: comm, peer, tag, direction */
	struct clock_channel *channels;
	uint32_t nr_channels, cap_channels;
	uint32_t sparse; /* of the tags, one in 2^sparse is kept */
	uint64_t nr_times, most_times;
	const struct af_set_clocks *clocks; /* borrowed: only messages to other hosts are kept */
	const struct af_map *by_rank;
	uint32_t host;
	struct clock_meeting meetings[CLOCK_MEETINGS];
	uint32_t nr_meetings;
};
void clock_messages_free(struct clock_messages *m);

/* The channel, or NULL where its tag is left out. @tid uses it. */
struct clock_channel *clock_channel_of(struct clock_messages *m, uint32_t comm, uint32_t peer,
                                       int32_t tag, bool sends, uint32_t tid);

/* The same without making one. */
struct clock_channel *clock_channel_find(const struct clock_messages *m, uint32_t comm,
                                         uint32_t peer, int32_t tag, bool sends);

/* A collective that nobody leaves before all have entered: the next of its function. */
void clock_meeting_put(struct clock_messages *m, uint32_t comm, uint32_t function, int64_t enter,
                       int64_t leave);

/* Put the time of the @k-th of a channel. */
void clock_channel_put(struct clock_messages *m, struct clock_channel *c, uint64_t k, int64_t ns);

/* Receives of one process that are posted, in the order of their post. */
struct clock_receives;
struct clock_receives *clock_receives_new(struct clock_messages *to);
void clock_receives_free(struct clock_receives *r);

enum { CLOCK_ANY_SOURCE = -2, CLOCK_PROC_NULL = -1, CLOCK_ANY_TAG = -1 };

/* One that is posted. Its number is for what follows. */
uint64_t clock_receive_post(struct clock_receives *r, uint32_t comm, int32_t source, int32_t tag,
                            uint32_t tid);
/* It is complete at @ns; of a message from @source with @tag, or of what it wanted (ANY: lost). */
void clock_receive_complete(struct clock_receives *r, uint64_t receive, int32_t source, int32_t tag,
                            int64_t ns);
/* It is over and nobody knows when, or perhaps without a message (@cancelled). */
void clock_receive_lost(struct clock_receives *r, uint64_t receive, bool cancelled);
/* From now on the order of receives is not certain. */
void clock_receives_break(struct clock_receives *r);

/*
 * Read the messages of the trace at @path, of one rank, as far as none of its events was lost.
 * False when it has none.
 */
bool clock_messages_read(struct clock_messages *m, const char *path);

/* A pair of hosts with what bounds them. */
struct clock_link {
	uint32_t a, b; /* a < b */
	uint64_t messages, collectives;
	bool contradicted;
	struct af_clock_curve curve; /* b → a */
};

struct clock_links {
	struct clock_link *all;
	uint32_t nr, cap;
};

/* An anchor of the time of day. */
struct clock_anchor {
	int64_t mono_ns, real_ns;
};

/* The results of all steps on the way. */
struct clock_work {
	struct af_set_clocks *c;
	const struct af_set *s;
	struct clock_anchor (*anchors)[2]; /* of each host: the first and the last */
	bool *has_anchors;
	bool *lost;                     /* of each member: its messages are not all recorded */
	struct clock_messages *members; /* of each */
	struct af_map by_rank;          /* rank → member, plus 1; 0: several have it */
	struct clock_links links;
};

/* Members to hosts, their spans and anchors. */
void clock_hosts_find(struct clock_work *w);

/* All links that messages and collectives give. */
void clock_links_find(struct clock_work *w);

/* The curve of each host. */
void clock_paths_find(struct clock_work *w);

#endif
