/*
 * Wrappers that only call the real function: what any recording of calls by a preloaded library
 * costs. For tests/bench/api.
 */
#include <dlfcn.h>
#include <mpi.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
	static int (*next)(MPI_Comm, int *);

	if (!next)
		next = (int (*)(MPI_Comm, int *))dlsym(RTLD_NEXT, "MPI_Comm_rank");
	return next(comm, rank);
}

EXPORT int MPI_Initialized(int *flag)
{
	static int (*next)(int *);

	if (!next)
		next = (int (*)(int *))dlsym(RTLD_NEXT, "MPI_Initialized");
	return next(flag);
}
