/*
 * The job that a recorder is a part of: which rank a launcher made it, what tells this job from
 * others, and file names made of that.
 *
 * The key is the launcher's own id of the job where its variables have one, and they are of this
 * rank: a launcher's rank variable that has another number was inherited from an outer job. Else
 * it is the launcher's process: the nearest ancestor that does not have the rank's variable.
 */
#ifndef AF_COLLECT_DISK_JOB_H
#define AF_COLLECT_DISK_JOB_H

#include <stdbool.h>
#include <stddef.h>

struct af_err;

struct af_job_rank {
	bool is_rank;   /* a launcher made this process a rank; else rank and key are "none" */
	char rank[16];  /* digits */
	char key[200];  /* "slurm-1234.0": characters that a file name can have everywhere */
	char host[128]; /* likewise */
};

/*
 * From this process's environment and its ancestors. A batch script has SLURM_PROCID without being
 * a rank: that variable counts beside SLURM_STEP_ID only.
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
