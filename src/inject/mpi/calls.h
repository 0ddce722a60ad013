/*
 * Around the generated wrappers of MPI's functions: what they need beside api.h. The functions of
 * api.h come from libaflame.so (shared.h).
 */
#ifndef AF_INJECT_MPI_CALLS_H
#define AF_INJECT_MPI_CALLS_H

#include "inject/mpi/mpi.h"

#define AF_API_EXPORT __attribute__((visibility("default")))

#define AF_API_NEXT(slot, name)                                                                    \
	do {                                                                                       \
		if (__builtin_expect(!__atomic_load_n((slot), __ATOMIC_RELAXED), 0))               \
			af_mpi_next((slot), (name));                                               \
	} while (0)

/* Hooks inside of MPI have stacks that lead through the wrapper: its frame is MPI's. */
#undef AF_API_REGS
#define AF_API_REGS(c) AF_REGS_CALLER(&(c)->regs)

/* Five more in registers, and those of floating point: what a call of MPI_Pcontrol may have. */
#define MORE_PARAMS                                                                                \
	uint64_t m1, uint64_t m2, uint64_t m3, uint64_t m4, uint64_t m5, double d0, double d1,     \
	    double d2, double d3, double d4, double d5, double d6, double d7
#define MORE_ARGS m1, m2, m3, m4, m5, d0, d1, d2, d3, d4, d5, d6, d7

#define AF_API_NATIVE(c, type) (&af_mpi_natives[(c)->variant][AF_MPI_##type])
#define AF_API_FILLED(c, type, place, own) af_mpi_status((place), (own))

#define AF_API_STORED(type, value) AF_MPI_STORED_##type(value)
#define AF_MPI_STORED_MPI_Comm(v) af_mpi_handle(v)
#define AF_MPI_STORED_MPI_Datatype(v) af_mpi_handle(v)
#define AF_MPI_STORED_MPI_Op(v) af_mpi_handle(v)
#define AF_MPI_STORED_MPI_Win(v) af_mpi_handle(v)
#define AF_MPI_STORED_MPI_Request(v) af_mpi_handle(v)
#define AF_MPI_STORED_MPI_Info(v) af_mpi_handle(v)
#define AF_MPI_STORED_MPI_Errhandler(v) af_mpi_handle(v)
#define AF_MPI_STORED_MPI_Group(v) af_mpi_handle(v)
#define AF_MPI_STORED_MPI_Message(v) af_mpi_handle(v)
#define AF_MPI_STORED_MPI_Session(v) af_mpi_handle(v)
#define AF_MPI_STORED_MPI_File(v) (v)
#define AF_MPI_STORED_MPI_rank(v) af_mpi_rank(v)
#define AF_MPI_STORED_MPI_lock_type(v) af_mpi_lock_type(v)
#define AF_MPI_STORED_MPI_win_mode(v) ((uint32_t)af_mpi_win_mode((int32_t)(v)))
#define AF_MPI_STORED_MPI_error_code(v) af_mpi_error_code(v)

#define AF_API_FORTRAN(type, at) AF_MPI_FORTRAN_##type(at)
#define AF_MPI_FORTRAN_HANDLE(type, at) af_mpi_from_fortran(AF_MPI_##type, *(const int32_t *)(at))
#define AF_MPI_FORTRAN_MPI_Comm(at) AF_MPI_FORTRAN_HANDLE(MPI_Comm, at)
#define AF_MPI_FORTRAN_MPI_Datatype(at) AF_MPI_FORTRAN_HANDLE(MPI_Datatype, at)
#define AF_MPI_FORTRAN_MPI_Op(at) AF_MPI_FORTRAN_HANDLE(MPI_Op, at)
#define AF_MPI_FORTRAN_MPI_Win(at) AF_MPI_FORTRAN_HANDLE(MPI_Win, at)
#define AF_MPI_FORTRAN_MPI_Request(at) AF_MPI_FORTRAN_HANDLE(MPI_Request, at)
#define AF_MPI_FORTRAN_MPI_Info(at) AF_MPI_FORTRAN_HANDLE(MPI_Info, at)
#define AF_MPI_FORTRAN_MPI_Errhandler(at) AF_MPI_FORTRAN_HANDLE(MPI_Errhandler, at)
#define AF_MPI_FORTRAN_MPI_Group(at) AF_MPI_FORTRAN_HANDLE(MPI_Group, at)
#define AF_MPI_FORTRAN_MPI_Message(at) AF_MPI_FORTRAN_HANDLE(MPI_Message, at)
#define AF_MPI_FORTRAN_MPI_Session(at) AF_MPI_FORTRAN_HANDLE(MPI_Session, at)
#define AF_MPI_FORTRAN_MPI_File(at) (void *)AF_MPI_FORTRAN_HANDLE(MPI_File, at)
#define AF_MPI_FORTRAN_MPI_rank(at) (*(const int32_t *)(at))
#define AF_MPI_FORTRAN_MPI_lock_type(at) (*(const int32_t *)(at))
#define AF_MPI_FORTRAN_MPI_win_mode(at) (*(const uint32_t *)(at))
#define AF_MPI_FORTRAN_MPI_error_code(at) (*(const int32_t *)(at))
#define AF_API_FORTRAN_PLACE(at) af_mpi_place(at)
#define AF_API_FORTRAN_TEXT(place, len) ((place) = af_mpi_text((place), (len)))

/*
 * A call of Fortran is recorded here where its MPI does not come by our functions of C: Open MPI
 * never does, MPICH does not where its module mpi_f08 calls PMPI.
 */
static inline __attribute__((always_inline)) bool af_api_fortran_begin(struct af_api_hook *c,
                                                                       uint16_t kind, bool f08)
{
	if (af_mpi_is_open == f08 || !af_api_begin(c, kind))
		return false;
	c->variant = AF_MPI_FORTRAN;
	af_mpi_inside++;
	return true;
}

static inline void af_api_fortran_end(void)
{
	af_mpi_inside--;
}

/* The processes that a communicator leads to, and the bytes of a datatype; 0 of a failed call. */
uint64_t af_api_ranks(const struct af_api_hook *c, uint64_t comm);
uint64_t af_api_datatype_size(const struct af_api_hook *c, uint64_t datatype);

/* Is it a buffer? Where it is MPI_IN_PLACE, the count and datatype beside it mean nothing. */
bool af_api_given(const struct af_api_hook *c, const void *buffer);

#endif
