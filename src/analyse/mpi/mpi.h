/* Time inside MPI of many traces together. */
#ifndef AF_ANALYSE_MPI_MPI_H
#define AF_ANALYSE_MPI_MPI_H

struct af_tables;

/*
 * Set the verdicts of the table `mpi` of @f anew, as after several were merged, and add rows to the
 * table `verdict`, which is made where there is none.
 */
void af_mpi_verdicts(struct af_tables *f);

#endif
