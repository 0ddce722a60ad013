/* The few functions of MPI that reducing needs, of whichever MPI the launcher belongs to. */
#ifndef AF_REDUCE_MPI_H
#define AF_REDUCE_MPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_reduce_mpi;

/*
 * Load and start the MPI of the job that @nr processes are of (0: not known). NULL: there is none
 * that knows of it, and @why, of @size bytes, has the reason.
 */
struct af_reduce_mpi *af_reduce_mpi_open(uint32_t nr, char *why, size_t size);
void af_reduce_mpi_close(struct af_reduce_mpi *m);

/* This process among all, and how many these are. */
uint32_t af_reduce_mpi_rank(const struct af_reduce_mpi *m);
uint32_t af_reduce_mpi_size(const struct af_reduce_mpi *m);

/* Messages of at most AF_REDUCE_MOST bytes, in order: 0 or the number of MPI's error. */
enum { AF_REDUCE_MOST = 1 << 26 };
int af_reduce_mpi_send(struct af_reduce_mpi *m, uint32_t to, const void *data, size_t size);
int af_reduce_mpi_receive(struct af_reduce_mpi *m, uint32_t from, void *data, size_t size);

#endif
