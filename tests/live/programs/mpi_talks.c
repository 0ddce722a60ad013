/*
 * Two ranks that talk, with all calls that mpi_tool.c counts. The status is 55. With an argument,
 * rank 1 says that it waits, for a message that never comes.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static double numbers[1000], others[1000];

static void point_to_point(int rank)
{
	MPI_Status statuses[2];
	MPI_Request requests[2];

	for (int i = 0; i < 10; i++) {
		if (!rank)
			MPI_Send(numbers, 100, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
		else
			MPI_Recv(others, 1000, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG,
			         MPI_COMM_WORLD, i % 2 ? MPI_STATUS_IGNORE : statuses);
	}
	for (int i = 0; i < 5; i++) {
		MPI_Irecv(others, 1000, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[0]);
		MPI_Isend(numbers, 50 + i, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[1]);
		MPI_Waitall(2, requests, i % 2 ? MPI_STATUSES_IGNORE : statuses);
	}
	MPI_Sendrecv(numbers, 3, MPI_CHAR, 1 - rank, 1, others, 10, MPI_CHAR, 1 - rank, 1,
	             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(numbers, 1, MPI_FLOAT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void collectives(int rank)
{
	int counts[2] = {3, 5}, mine[2] = {rank ? 5 : 3, rank ? 5 : 3}, places[2] = {0, 100};
	MPI_Datatype strided;
	MPI_Comm halves;

	MPI_Allreduce(MPI_IN_PLACE, others, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, others, 4, MPI_DOUBLE, MPI_COMM_WORLD);
	MPI_Alltoallv(numbers, mine, places, MPI_INT, others, counts, places, MPI_INT,
	              MPI_COMM_WORLD);
	MPI_Type_vector(10, 2, 4, MPI_FLOAT, &strided);
	MPI_Type_commit(&strided);
	MPI_Bcast(numbers, 3, strided, 0, MPI_COMM_WORLD);
	MPI_Type_free(&strided);
	/* Only the root's arguments mean something here. */
	MPI_Gather(numbers, 7, MPI_INT, others, rank ? 0 : 7, rank ? MPI_DATATYPE_NULL : MPI_INT, 0,
	           MPI_COMM_WORLD);
	MPI_Scatter(numbers, rank ? 0 : 9, rank ? MPI_DATATYPE_NULL : MPI_INT, others, 9, MPI_INT,
	            0, MPI_COMM_WORLD);
	MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &halves);
	MPI_Comm_set_name(halves, "halves");
	MPI_Barrier(halves);
	MPI_Comm_free(&halves);
}

int main(int argc, char **argv)
{
	int rank, failed;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc > 1 && rank) {
		printf("waiting %d\n", (int)getpid());
		fflush(stdout);
		MPI_Recv(numbers, 4, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	if (argc > 1)
		sleep(60);
	point_to_point(rank);
	collectives(rank);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	failed = MPI_Send(numbers, 1, MPI_INT, 99, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
	MPI_Pcontrol(2, 1.5, "more", 3, 4, 5, 6, 7);
	printf("rank %d: %d\n", rank, failed);
	MPI_Finalize();
	return 55;
}
