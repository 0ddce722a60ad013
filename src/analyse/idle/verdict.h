/*
 * The verdict: one word for the bottleneck of a device, and the figures behind it. docs/gpu.md
 * explains each figure and the thresholds.
 */
#ifndef AF_ANALYSE_IDLE_VERDICT_H
#define AF_ANALYSE_IDLE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

/* Where the time from a device's first work to its last went. V(NAME, title, text) */
#define AF_IDLE_SHARES(V, C)                                                                       \
	V(C, KERNELS, kernels, "Kernels", "kernels")                                               \
	V(C, COPIES, only_copies, "Only copies", "only copies")                                    \
	V(C, QUEUED, queued, "Queued", "work launched before")                                     \
	V(C, LAUNCHES, launching, "Launching", "launches and code between them")                   \
	V(C, HOST, host, "Host", "host code")                                                      \
	V(C, COPY, copying, "Copying", "in copy calls")                                            \
	V(C, SYNC, waiting, "Waiting", "after and in waits")                                       \
	V(C, MPI, mpi, "MPI", "inside MPI")                                                        \
	V(C, INPUT, input, "Input", "loading data")                                                \
	V(C, OFF, blocked, "Blocked", "off the CPU")                                               \
	V(C, UNSEEN, not_seen, "Not seen", "not seen")

enum idle_share {
#define AF_V(C, NAME, key, title, text) IDLE_SHARE_##NAME,
	AF_IDLE_SHARES(AF_V, 0)
#undef AF_V
	    IDLE_SHARES
};

enum idle_verdict {
	IDLE_VERDICT_BUSY,
	IDLE_VERDICT_LAUNCH,
	IDLE_VERDICT_HOST,
	IDLE_VERDICT_COPY,
	IDLE_VERDICT_SYNC,
	IDLE_VERDICT_MPI,
	IDLE_VERDICT_INPUT,
	IDLE_VERDICT_OFF,
	IDLE_VERDICT_UNSEEN,
	IDLE_VERDICT_MIXED,
	IDLE_VERDICTS
};

enum {
	AF_IDLE_BUSY_PERCENT = 80, /* of the time kernels ran or waited for the device: busy */
	AF_IDLE_MOST_PERCENT = 50, /* of the rest one cause has more: it is the verdict */
	/*
	 * Between launches of a loop there is less: in a longer gap of a device the host did
	 * something else, and faster launches would not help.
	 */
	AF_IDLE_LONG_NS = 1000000
};

/* The verdict on a device, by nanoseconds of its time in each share. */
enum idle_verdict idle_verdict(const uint64_t shares_ns[IDLE_SHARES]);

/* "launch-bound"; of a busy device that is no GPU "device-bound". */
const char *idle_verdict_text(enum idle_verdict v, bool is_gpu);

#endif
