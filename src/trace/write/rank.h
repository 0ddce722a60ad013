/*
 * Which of a job's processes one is, as those who start jobs say in its environment. They may be
 * inside of one another, and a variable is inherited by everybody below, so the order matters:
 *
 *	RANK                    torchrun and its kin, where WORLD_SIZE or LOCAL_RANK is there too:
 *	                        mpirun or srun may have started one of them on each host
 *	OMPI_COMM_WORLD_RANK    Open MPI
 *	MV2_COMM_WORLD_RANK     MVAPICH2
 *	MPI_RANKID              Platform MPI
 *	PMI_RANK, PMIX_RANK     MPICH, Intel MPI, whatever speaks PMI or PMIx
 *	PALS_RANKID             HPE Cray's launcher
 *	FLUX_TASK_RANK          Flux
 *	SLURM_PROCID            srun: last, as it is that of a script too that starts the others
 */
#ifndef AF_TRACE_WRITE_RANK_H
#define AF_TRACE_WRITE_RANK_H

#include <stddef.h>

/* The value of variable @name of @environment, or NULL. */
typedef const char *af_rank_get(const void *environment, const char *name);

/*
 * The rank, a number in digits, or NULL: none of the variables is set to one. The text is the
 * environment's. Allocates nothing.
 */
const char *af_rank_find(af_rank_get *get, const void *environment);

/* The same of a process's own, and of @block: NAME=VALUE, each with its NUL, as in /proc. */
const char *af_rank_own(void);
const char *af_rank_of(const char *block, size_t size);

/* A process's own, and in *@name the variable that has it. */
const char *af_rank_own_named(const char **name);

/* The value of variable @name in such a @block, or NULL. */
const char *af_rank_variable(const char *block, size_t size, const char *name);

#endif
