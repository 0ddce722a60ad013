/* Programs that may use MPI or HIP: only those get the libraries that record their calls. */
#ifndef AF_CMD_RECORD_MPI_H
#define AF_CMD_RECORD_MPI_H

#include "cmd/record/record.h"

struct af_err;
struct af_session_options;

/*
 * Let MPI's calls be recorded (mpi_library of @s) in the program @words (NULL where no program is
 * started) and in those that it starts, if the list of --api names mpi; where it leaves the choice
 * to us, if a launcher of MPI has started this process, if the program is one, or if it is linked
 * with an MPI. An error only where the list names mpi and our library is missing.
 */
int af_mpi_choose(const struct af_record_options *o, char **words, struct af_session_options *s,
                  struct af_err *err);

/*
 * The same of HIP, whose calls are also recorded in programs that are linked with ROCTX, and if the
 * kernel has AMD's driver of GPUs (/dev/kfd): Python loads HIP's library when it needs it.
 */
int af_hip_choose(const struct af_record_options *o, char **words, struct af_session_options *s,
                  struct af_err *err);

#endif
