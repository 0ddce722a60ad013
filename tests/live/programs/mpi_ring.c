/* mpi_ring STEPS MILLISECONDS: each rank sends to the next and receives, with a pause a step. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	int rank, size, steps = argc > 1 ? atoi(argv[1]) : 10;
	long pause_ns = argc > 2 ? atol(argv[2]) * 1000000 : 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < steps; i++) {
		double mine = rank, theirs = 0;
		MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 7, &theirs, 1, MPI_DOUBLE,
		             (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Allreduce(&mine, &theirs, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		nanosleep(&(struct timespec){pause_ns / 1000000000, pause_ns % 1000000000}, NULL);
	}
	MPI_Finalize();
	return 0;
}
