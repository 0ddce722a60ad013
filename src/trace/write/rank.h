/*
 * Which process of a parallel job this is (its rank), from the variables that job launchers set.
 * Launchers may run inside one another, and every process below inherits their variables, so the
 * order matters:
 *
 *	RANK                    torchrun and its kin, where WORLD_SIZE or LOCAL_RANK is there too:
 *	                        mpirun or srun may have started one of them on each host
 *	OMPI_COMM_WORLD_RANK    Open MPI
 *	MV2_COMM_WORLD_RANK     MVAPICH2
 *	MPI_RANKID              Platform MPI
 *	PMI_RANK, PMIX_RANK     MPICH, Intel MPI, and others that speak PMI or PMIx
 *	PALS_RANKID             HPE Cray's launcher
 *	FLUX_TASK_RANK          Flux
 *	SLURM_PROCID            srun: last, because a script that starts the others has it too
 */
#ifndef AF_TRACE_WRITE_RANK_H
#define AF_TRACE_WRITE_RANK_H

#include <stddef.h>

/* The value of variable @name of @environment, or NULL. */
typedef const char *af_rank_get(const void *environment, const char *name);

/*
 * The rank, a number in digits, or NULL when none of the variables is a number. The text belongs to
 * the environment. Allocates nothing.
 */
const char *af_rank_find(af_rank_get *get, const void *environment);

/*
 * The rank of this process, and by a @block of NAME=VALUE strings, each with its NUL, as in
 * /proc/PID/environ.
 */
const char *af_rank_own(void);
const char *af_rank_of(const char *block, size_t size);

/* The rank of this process; *@name is the variable that has it. */
const char *af_rank_own_named(const char **name);

/* The value of variable @name in such a @block, or NULL. */
const char *af_rank_variable(const char *block, size_t size, const char *name);

#endif
