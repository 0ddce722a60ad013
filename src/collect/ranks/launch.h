/*
 * The facts that a launcher's variables give about a rank besides its number: how many ranks the
 * job has, which rank it is on its host, and the number of that host. Every rank knows them without
 * asking another.
 */
#ifndef AF_COLLECT_RANKS_LAUNCH_H
#define AF_COLLECT_RANKS_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

struct af_job_rank;

struct af_launch {
	bool has_size, has_local, has_node;
	uint64_t rank;
	uint64_t size;  /* ranks of the job */
	uint64_t local; /* number of this rank on its host */
	uint64_t node;  /* number of its host in the job */
};

/*
 * Reads the environment. Of launchers inside one another only those count that gave this process
 * the number @job->rank. Where @job is no rank, nothing is known.
 */
void af_launch_find(struct af_launch *l, const struct af_job_rank *job);

/*
 * Is this rank on the first host? By the host's number or, where the launcher gives none, by the
 * rank: on the first host it equals its number there, if ranks are placed host by host. Where
 * neither is known, only rank 0 is.
 */
bool af_launch_is_first_host(const struct af_launch *l);

#endif
