/*
 * Which recorder of a job reads the telemetry of a host. The ranks of a job on one host see the
 * same counters: one of them holds the job's claim there and reads, the others wait for it to end.
 * A recorder that is no rank reads in any case.
 */
#ifndef AF_COLLECT_TELEMETRY_CLAIM_H
#define AF_COLLECT_TELEMETRY_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

struct af_job_rank;

struct telemetry_claim {
	int fd; /* while it is held; else -1 */
	bool held;
};

/* Take the claim of @job, unless another one holds it, into @c->held, and return that. */
bool telemetry_claim_take(struct telemetry_claim *c, const struct af_job_rank *job);

/* Another rank may have it now. Nothing where it is not held. */
void telemetry_claim_drop(struct telemetry_claim *c);

#endif
