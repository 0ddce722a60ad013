/*
 * Two ranks that pass messages in all ways in which the order is certain, so many times: a blocking
 * receive from anywhere, non-blocking ones whose statuses nobody wants, both at once. They meet in
 * five barriers, and then receive in an order that is none of the sender's.
 */
#include <mpi.h>
#include <stdlib.h>

static void talk(int rank, int other)
{
	MPI_Request requests[4];
	int out[2] = {rank, rank}, in[2];

	if (!rank)
		MPI_Send(out, 1, MPI_INT, other, 7, MPI_COMM_WORLD);
	MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank)
		MPI_Send(out, 1, MPI_INT, other, 7, MPI_COMM_WORLD);
	for (int i = 0; i < 2; i++) {
		MPI_Irecv(&in[i], 1, MPI_INT, other, 8, MPI_COMM_WORLD, &requests[i]);
		MPI_Isend(&out[i], 1, MPI_INT, other, 8, MPI_COMM_WORLD, &requests[2 + i]);
	}
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
	MPI_Sendrecv(out, 1, MPI_INT, other, 3, in, 1, MPI_INT, other, 3, MPI_COMM_WORLD,
	             MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	int rank, nr = argc > 1 ? atoi(argv[1]) : 10, out = 1, in;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < nr; i++)
		talk(rank, 1 - rank);
	for (int i = 0; i < 5; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	if (!rank) {
		MPI_Send(&out, 1, MPI_INT, 1, 20, MPI_COMM_WORLD);
		MPI_Send(&out, 1, MPI_INT, 1, 21, MPI_COMM_WORLD);
	} else {
		MPI_Recv(&in, 1, MPI_INT, 0, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(&in, 1, MPI_INT, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	return 0;
}
