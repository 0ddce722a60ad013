/* The functions behind ours: where the program's MPI is. */
#include <pthread.h>

#include "inject/api/behind.h"
#include "inject/mpi/mpi.h"

static const char prefix[] = "libmpi";

__thread uint32_t af_mpi_inside;

bool af_api_enter(struct af_api_hook *c, uint16_t kind, uint8_t how, uint64_t sp)
{
	return !af_mpi_inside && af_api_lent->enter(c, kind, how, sp);
}

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
	af_api_borrow();
	af_mpi_values_find();
}

void af_mpi_next(void **slot, const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	void *next = af_mpi_function(name);

	pthread_once(&once, find);
	af_api_attach();
	__atomic_store_n(slot, next ? next : (void *)absent, __ATOMIC_RELEASE);
}
