/*
 * The parallel job that a recorder is a part of: the rank that a launcher gave it, a key that tells
 * this job from others, and file names made from these.
 *
 * The key is the launcher's own id of the job, if the launcher's variables have one and belong to
 * this rank: a launcher's rank variable with another number was inherited from an outer job.
 * Otherwise the key is the launcher's process: the nearest ancestor that does not have the rank's
 * variable.
 */
#ifndef AF_COLLECT_DISK_JOB_H
#define AF_COLLECT_DISK_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_err;

struct af_job_rank {
	bool is_rank;      /* a launcher made this process a rank; else rank and key are "none" */
	char rank[16];     /* digits */
	char key[200];     /* "slurm-1234.0": characters that are allowed in every file name */
	char host[128];    /* likewise */
	uint64_t restarts; /* of torchrun's workers, so far: each time the rank begins anew */
};

/*
 * Reads this process's environment and its ancestors. A batch script has SLURM_PROCID without being
 * a rank, so that variable counts only beside SLURM_STEP_ID.
 */
void af_job_find(struct af_job_rank *job);

/*
 * @pattern with %h (host), %r (rank), %p (process id of the recorder), %j (the job's key) and %%
 * replaced. Returns 1 where there was one of them, 0 where not, -EINVAL for another letter,
 * -ENAMETOOLONG.
 */
int af_job_name(char *name, size_t size, const char *pattern, const struct af_job_rank *job,
                struct af_err *err);

#endif
