#include "analyse/idle/verdict.h"

#include <stddef.h>

/* Is @part of @all at least so many percent? Sums of times of a run are far below 2^57. */
static bool reaches(uint64_t part, uint64_t all, uint64_t percent)
{
	return (unsigned __int128)part * 100 >= (unsigned __int128)all * percent;
}

/* The larger part of what is decided together. */
static enum idle_verdict verdict_of(const uint64_t shares_ns[IDLE_SHARES], enum idle_verdict v)
{
	if (v == IDLE_VERDICT_LAUNCH && shares_ns[IDLE_SHARE_HOST] > shares_ns[IDLE_SHARE_LAUNCHES])
		return IDLE_VERDICT_HOST;
	if (v == IDLE_VERDICT_INPUT && shares_ns[IDLE_SHARE_OFF] > shares_ns[IDLE_SHARE_INPUT])
		return IDLE_VERDICT_OFF;
	return v;
}

enum idle_verdict idle_verdict(const uint64_t shares_ns[IDLE_SHARES])
{
	const uint64_t held_ns[IDLE_VERDICTS] = {
	    [IDLE_VERDICT_LAUNCH] = shares_ns[IDLE_SHARE_LAUNCHES] + shares_ns[IDLE_SHARE_HOST],
	    [IDLE_VERDICT_COPY] = shares_ns[IDLE_SHARE_COPIES] + shares_ns[IDLE_SHARE_COPY],
	    [IDLE_VERDICT_SYNC] = shares_ns[IDLE_SHARE_SYNC],
	    [IDLE_VERDICT_MPI] = shares_ns[IDLE_SHARE_MPI],
	    [IDLE_VERDICT_INPUT] = shares_ns[IDLE_SHARE_INPUT] + shares_ns[IDLE_SHARE_OFF],
	    [IDLE_VERDICT_UNSEEN] = shares_ns[IDLE_SHARE_UNSEEN],
	};
	uint64_t busy_ns = shares_ns[IDLE_SHARE_KERNELS] + shares_ns[IDLE_SHARE_QUEUED],
		 rest_ns = 0;

	for (int v = 0; v < IDLE_VERDICTS; v++)
		rest_ns += held_ns[v];
	if (reaches(busy_ns, busy_ns + rest_ns, AF_IDLE_BUSY_PERCENT))
		return IDLE_VERDICT_BUSY;
	for (int v = IDLE_VERDICT_LAUNCH; v <= IDLE_VERDICT_UNSEEN; v++)
		if (!reaches(rest_ns - held_ns[v], rest_ns, 100 - AF_IDLE_MOST_PERCENT))
			return verdict_of(shares_ns, (enum idle_verdict)v);
	return IDLE_VERDICT_MIXED;
}

const char *idle_verdict_text(enum idle_verdict v, bool is_gpu)
{
	static const char *const texts[IDLE_VERDICTS] = {
	    [IDLE_VERDICT_BUSY] = "device-bound", [IDLE_VERDICT_LAUNCH] = "launch-bound",
	    [IDLE_VERDICT_COPY] = "copy-bound",   [IDLE_VERDICT_SYNC] = "sync-bound",
	    [IDLE_VERDICT_INPUT] = "input-bound", [IDLE_VERDICT_UNSEEN] = "not explained",
	    [IDLE_VERDICT_HOST] = "host-bound",   [IDLE_VERDICT_OFF] = "blocked",
	    [IDLE_VERDICT_MPI] = "MPI-bound",     [IDLE_VERDICT_MIXED] = "mixed",
	};

	return v == IDLE_VERDICT_BUSY && is_gpu ? "GPU-bound" : texts[v];
}
