/*
 * MPI by dlopen. A handle is an int in MPICH's binary interface and a pointer in Open MPI's: both
 * fit a register, so one prototype serves both. What differs are the values of constants.
 */
#include "reduce/mpi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"

enum { THREAD_FUNNELED = 1, TAG = 77, POLL_FIRST_NS = 50000, POLL_MOST_NS = 5000000 };

/* Constants of MPICH's interface, which Intel MPI, MVAPICH and Cray MPICH share. */
enum {
	MPICH_COMM_WORLD = 0x44000000,
	MPICH_BYTE = 0x4c00010d,
	MPICH_ERRORS_RETURN = 0x54000001,
	MPICH_STATUS_IGNORE = 1
};

struct af_reduce_mpi {
	uintptr_t world, byte, errors_return, status_ignore;
	uint32_t rank, size;
	int (*init_thread)(int *argc, char ***argv, int wanted, int *provided);
	int (*finalize)(void);
	int (*comm_rank)(uintptr_t comm, int *rank);
	int (*comm_size)(uintptr_t comm, int *size);
	int (*comm_set_errhandler)(uintptr_t comm, uintptr_t handler);
	int (*send)(const void *data, int nr, uintptr_t type, int to, int tag, uintptr_t comm);
	int (*recv)(void *data, int nr, uintptr_t type, int from, int tag, uintptr_t comm,
	            uintptr_t status);
	int (*iprobe)(int from, int tag, uintptr_t comm, int *flag, uintptr_t status);
};

static bool mpi_functions(struct af_reduce_mpi *m, void *library)
{
	const struct {
		void *to;
		const char *name;
	} all[] = {
	    {&m->init_thread, "MPI_Init_thread"},
	    {&m->finalize, "MPI_Finalize"},
	    {&m->comm_rank, "MPI_Comm_rank"},
	    {&m->comm_size, "MPI_Comm_size"},
	    {&m->comm_set_errhandler, "MPI_Comm_set_errhandler"},
	    {&m->send, "MPI_Send"},
	    {&m->recv, "MPI_Recv"},
	    {&m->iprobe, "MPI_Iprobe"},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		void *f = dlsym(library, all[i].name);
		if (!f)
			return false;
		*(void **)all[i].to = f;
	}
	return true;
}

static void mpi_constants(struct af_reduce_mpi *m, void *library)
{
	m->world = (uintptr_t)dlsym(library, "ompi_mpi_comm_world");
	if (m->world) {
		m->byte = (uintptr_t)dlsym(library, "ompi_mpi_byte");
		m->errors_return = (uintptr_t)dlsym(library, "ompi_mpi_errors_return");
		m->status_ignore = 0;
		return;
	}
	m->world = MPICH_COMM_WORLD;
	m->byte = MPICH_BYTE;
	m->errors_return = MPICH_ERRORS_RETURN;
	m->status_ignore = MPICH_STATUS_IGNORE;
}

/* The libraries of the launcher that left its mark in the environment come first. */
static void *mpi_library(struct af_reduce_mpi *m, char *why, size_t size)
{
	const char *own = getenv("AFLAME_MPI");
	bool open = getenv("OMPI_COMM_WORLD_SIZE") || !getenv("PMI_RANK");
	const char *names[] = {
	    own && *own ? own : NULL,
	    open ? "libmpi.so.40" : "libmpi.so.12",
	    open ? "libmpi.so.80" : "libmpich.so.12",
	    open ? "libmpi.so.12" : "libmpi_cray.so.12",
	    open ? "libmpich.so.12" : "libmpi.so.40",
	    "libmpi.so",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		/* Open MPI's plug-ins need its symbols. */
		void *library = names[i] ? dlopen(names[i], RTLD_NOW | RTLD_GLOBAL) : NULL;
		if (library && mpi_functions(m, library))
			return library;
		if (own && *own) {
			snprintf(why, size, "%s (AFLAME_MPI) is not an MPI library%s%s", own,
			         library ? "" : ": ", library ? "" : dlerror());
			return NULL;
		}
	}
	snprintf(why, size,
	         "no MPI library was found: set AFLAME_MPI to the libmpi.so of the launcher");
	return NULL;
}

struct af_reduce_mpi *af_reduce_mpi_open(uint32_t nr, char *why, size_t size)
{
	struct af_reduce_mpi *m = af_xcalloc(1, sizeof *m);
	void *library = mpi_library(m, why, size);
	int provided, nr_ranks = 0, rank = 0;

	if (!library) {
		free(m);
		return NULL;
	}
	mpi_constants(m, library);
	if (m->init_thread(NULL, NULL, THREAD_FUNNELED, &provided)) {
		snprintf(why, size, "MPI_Init failed");
		free(m);
		return NULL;
	}
	m->comm_set_errhandler(m->world, m->errors_return);
	m->comm_size(m->world, &nr_ranks);
	m->comm_rank(m->world, &rank);
	m->size = nr_ranks > 0 ? (uint32_t)nr_ranks : 1;
	m->rank = rank > 0 ? (uint32_t)rank : 0;
	/* Another MPI than the launcher's does not know of the other processes. */
	if (nr && m->size != nr) {
		snprintf(why, size,
		         "MPI has %u processes and the launcher %u: it is another MPI. Set "
		         "AFLAME_MPI to the libmpi.so of the launcher (srun: --mpi=pmix)",
		         m->size, nr);
		af_reduce_mpi_close(m);
		return NULL;
	}
	return m;
}

void af_reduce_mpi_close(struct af_reduce_mpi *m)
{
	m->finalize();
	free(m);
}

uint32_t af_reduce_mpi_rank(const struct af_reduce_mpi *m)
{
	return m->rank;
}

uint32_t af_reduce_mpi_size(const struct af_reduce_mpi *m)
{
	return m->size;
}

int af_reduce_mpi_send(struct af_reduce_mpi *m, uint32_t to, const void *data, size_t size)
{
	return m->send(data, (int)size, m->byte, (int)to, TAG, m->world);
}

/* A blocking receive of MPI takes a CPU that another process may read with. */
int af_reduce_mpi_receive(struct af_reduce_mpi *m, uint32_t from, void *data, size_t size)
{
	struct timespec pause = {.tv_nsec = POLL_FIRST_NS};
	int flag = 0;

	for (;;) {
		int rc = m->iprobe((int)from, TAG, m->world, &flag, m->status_ignore);
		if (rc)
			return rc;
		if (flag)
			break;
		nanosleep(&pause, NULL);
		pause.tv_nsec += pause.tv_nsec < POLL_MOST_NS / 2 ? pause.tv_nsec : 0;
	}
	return m->recv(data, (int)size, m->byte, (int)from, TAG, m->world, m->status_ignore);
}
