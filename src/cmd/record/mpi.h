/* Programs that may use MPI or HIP: only those get the libraries that record their calls. */
#ifndef AF_CMD_RECORD_MPI_H
#define AF_CMD_RECORD_MPI_H

#include <stdbool.h>

/*
 * Are MPI's calls to be recorded in the program @words (NULL where no program is started) and in
 * those that it starts, by the list of --api (or NULL)? They are where the list names mpi; where it
 * leaves the choice to us, if a launcher of MPI has started this process, if the program is one, or
 * if it is linked with an MPI.
 */
bool af_mpi_is_wanted(const char *list, char **words);

/*
 * The same of HIP, whose calls are also recorded if the kernel has AMD's driver of GPUs (/dev/kfd):
 * Python loads HIP's library when it needs it.
 */
bool af_hip_is_wanted(const char *list, char **words);

#endif
