#include "collect/ranks/launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "collect/disk/job.h"
#include "trace/write/rank.h"

/* The variables of each launcher; NULL: it has none. */
static const struct variables {
	const char *rank, *size, *local, *node;
} launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", NULL},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", NULL},
    {"MPI_RANKID", "MPI_NRANKS", "MPI_LOCALRANKID", NULL},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", NULL},
    {"PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", NULL},
    {"PALS_RANKID", "PALS_SIZE", "PALS_LOCAL_RANKID", "PALS_NODEID"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", NULL},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NODEID"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NODEID"},
};

static bool number_of(const char *variable, uint64_t *number)
{
	const char *text = variable ? getenv(variable) : NULL;

	return text && af_digits(text, number);
}

/* PMI and PMIx belong to other launchers, which know more: their numbers fill what is missing. */
static bool lends(const char *name)
{
	return !strcmp(name, "PMI_RANK") || !strcmp(name, "PMIX_RANK");
}

static void launch_add(struct af_launch *l, const struct variables *v)
{
	uint64_t rank;

	if (!number_of(v->rank, &rank) || rank != l->rank)
		return;
	if (!l->has_size)
		l->has_size = number_of(v->size, &l->size) && l->size > l->rank;
	if (!l->has_local)
		l->has_local = number_of(v->local, &l->local);
	if (!l->has_node)
		l->has_node = number_of(v->node, &l->node);
}

void af_launch_find(struct af_launch *l, const struct af_job_rank *job)
{
	const char *name = NULL;

	*l = (struct af_launch){0};
	if (!job->is_rank || !af_rank_own_named(&name) || !af_digits(job->rank, &l->rank))
		return;
	for (size_t own = 2; own-- > 0;)
		for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
			const struct variables *v = &launchers[i];
			bool is_own = !strcmp(v->rank, name);
			if (own ? is_own : !is_own && lends(name))
				launch_add(l, v);
		}
}

bool af_launch_is_first_host(const struct af_launch *l)
{
	if (l->has_node)
		return !l->node;
	return l->has_local ? l->rank == l->local : !l->rank;
}
