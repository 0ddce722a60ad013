/*
 * A tool of a program's own, by MPI's profiling interface, as a library or within the program. At
 * its end each rank writes $MPI_TOOL.RANK, a line a function: its name, its calls, and bytes that
 * the program gave, or got of a receive.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEND, RECV, ISEND, IRECV, WAITALL, SENDRECV, ALLREDUCE, ALLTOALLV, BCAST, BARRIER, NR };

static const char *const names[NR] = {
    "MPI_Send",     "MPI_Recv",      "MPI_Isend",     "MPI_Irecv", "MPI_Waitall",
    "MPI_Sendrecv", "MPI_Allreduce", "MPI_Alltoallv", "MPI_Bcast", "MPI_Barrier"};
static long calls[NR], bytes[NR];

static void add(int of, int count, MPI_Datatype type, int rc)
{
	int size = 0;

	calls[of]++;
	if (rc == MPI_SUCCESS && type != MPI_DATATYPE_NULL)
		PMPI_Type_size(type, &size);
	bytes[of] += (long)count * size;
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
	int rc = PMPI_Send(buf, count, type, dest, tag, comm);

	add(SEND, count, type, rc);
	return rc;
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
	MPI_Status own, *to = status == MPI_STATUS_IGNORE ? &own : status;
	int rc = PMPI_Recv(buf, count, type, source, tag, comm, to), got = 0;

	PMPI_Get_count(to, type, &got);
	add(RECV, got, type, rc);
	return rc;
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
	int rc = PMPI_Isend(buf, count, type, dest, tag, comm, request);

	add(ISEND, count, type, rc);
	return rc;
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
	int rc = PMPI_Irecv(buf, count, type, source, tag, comm, request);

	add(IRECV, count, type, rc);
	return rc;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status *statuses)
{
	calls[WAITALL]++;
	return PMPI_Waitall(count, requests, statuses);
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status *status)
{
	int rc = PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
	                       recvtype, source, recvtag, comm, status);

	add(SENDRECV, sendcount, sendtype, rc);
	return rc;
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
	int rc = PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);

	add(ALLREDUCE, count, type, rc);
	return rc;
}

int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[],
                  MPI_Datatype recvtype, MPI_Comm comm)
{
	int rc = PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
	                        rdispls, recvtype, comm);
	int size = 0, sum = 0;

	PMPI_Comm_size(comm, &size);
	for (int i = 0; i < size; i++)
		sum += sendcounts[i];
	add(ALLTOALLV, sum, sendtype, rc);
	return rc;
}

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	int rc = PMPI_Bcast(buf, count, type, root, comm);

	add(BCAST, count, type, rc);
	return rc;
}

int MPI_Barrier(MPI_Comm comm)
{
	calls[BARRIER]++;
	return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
	char path[4096];
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(path, sizeof path, "%s.%d", getenv("MPI_TOOL"), rank);
	FILE *out = fopen(path, "w");
	for (int i = 0; out && i < NR; i++)
		fprintf(out, "%s %ld %ld\n", names[i], calls[i], bytes[i]);
	if (out)
		fclose(out);
	return PMPI_Finalize();
}
