/* The functions behind ours: where the program's MPI is. */
#include <pthread.h>

#include "inject/mpi/mpi.h"

static const char prefix[] = "libmpi";

void *af_mpi_function(const char *name)
{
	return af_api_behind_us(prefix, name);
}

void *af_mpi_data(const char *name)
{
	return af_api_anywhere(prefix, name);
}

/* MPI_ERR_OTHER of MPICH; not MPI_SUCCESS to anybody. */
static int absent(void)
{
	return 15;
}

static void find(void)
{
	af_mpi_values_find();
	af_api_borrow();
}

void af_mpi_next(void **slot, const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	void *next = af_mpi_function(name);

	pthread_once(&once, find);
	__atomic_store_n(slot, next ? next : (void *)absent, __ATOMIC_RELEASE);
}
