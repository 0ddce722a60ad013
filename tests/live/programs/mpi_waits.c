/*
 * Rank 0 works for 0.2 s before each of three messages, for which rank 1 has receives open: two of
 * MPI_Irecv, and one of MPI_Recv_init. A fourth receive is never completed.
 */
#include <mpi.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void work(double seconds)
{
	double end = now() + seconds;

	while (now() < end)
		;
}

int main(int argc, char **argv)
{
	int rank, numbers[7] = {0}, never;
	MPI_Request request, again;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Recv_init(numbers, 7, MPI_INT, 0, 2, MPI_COMM_WORLD, &again);
	for (int i = 0; i < 3; i++) {
		if (!rank) {
			work(0.2);
			MPI_Send(numbers, i < 2 ? 7 : 3, MPI_INT, 1, i < 2 ? 1 : 2, MPI_COMM_WORLD);
		} else if (i < 2) {
			MPI_Irecv(numbers, 7, MPI_INT, i ? MPI_ANY_SOURCE : 0, 1, MPI_COMM_WORLD,
			          &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		} else {
			MPI_Start(&again);
			MPI_Wait(&again, MPI_STATUS_IGNORE);
		}
	}
	if (rank)
		MPI_Irecv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &request);
	MPI_Request_free(&again);
	MPI_Finalize();
	return 0;
}
