/*
 * The MPI in the process: which of the two binary interfaces it has, how it stores what calls take,
 * and its functions. All of it is found when the first call of the program comes.
 */
#ifndef AF_INJECT_MPI_MPI_H
#define AF_INJECT_MPI_MPI_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/api/shared.h"

/* Types whose values are stored otherwise than MPI has them; those of handles come first. */
enum af_mpi_type {
	AF_MPI_MPI_Comm,
	AF_MPI_MPI_Datatype,
	AF_MPI_MPI_Op,
	AF_MPI_MPI_Win,
	AF_MPI_MPI_Request,
	AF_MPI_MPI_Info,
	AF_MPI_MPI_Errhandler,
	AF_MPI_MPI_Group,
	AF_MPI_MPI_Message,
	AF_MPI_MPI_File,
	AF_MPI_MPI_Session,
	AF_MPI_HANDLES,
	AF_MPI_MPI_rank = AF_MPI_HANDLES,
	AF_MPI_MPI_lock_type,
	AF_MPI_MPI_win_mode,
	AF_MPI_MPI_error_code,
	AF_MPI_MPI_Status,
	AF_MPI_TYPES
};

/* The caller: its pointers lead to values of that form. */
enum af_mpi_language { AF_MPI_C, AF_MPI_FORTRAN, AF_MPI_LANGUAGES };

/* Open MPI, or one with MPICH's interface. Valid from the first af_mpi_next() on. */
extern bool af_mpi_is_open;
extern struct af_api_native af_mpi_natives[AF_MPI_LANGUAGES][AF_MPI_TYPES];

/* The thread is inside of a call of Fortran that is recorded: those within it are the same call. */
extern __thread uint32_t af_mpi_inside;

/* Put the function @name that comes behind ours into @slot; one that only fails where none does. */
void af_mpi_next(void **slot, const char *name);

/*
 * A function behind ours, and data, in the process; or NULL. Both call dlsym(). A program that is
 * not position-independent has the data of its libraries.
 */
void *af_mpi_function(const char *name);
void *af_mpi_data(const char *name);

/* Fill in what this file declares, and the functions that values.c calls, once. */
void af_mpi_values_find(void);

/* As an event stores them: a handle, and numbers. */
uint64_t af_mpi_handle(uint64_t handle);
int32_t af_mpi_rank(int32_t rank);
int32_t af_mpi_lock_type(int32_t type);
int32_t af_mpi_win_mode(int32_t mode);
int32_t af_mpi_error_code(int32_t code);

/* The handle of C for one of Fortran. */
uint64_t af_mpi_from_fortran(enum af_mpi_type type, int32_t handle);

/* Where the status goes: @own where the program wants none. */
void *af_mpi_status(void *status, void *own);

/* A pointer of Fortran as C has it: NULL where it stands for MPI_STATUS_IGNORE. */
void *af_mpi_place(void *place);

/* A text of Fortran, @len characters, with a NUL; valid for the next three calls of it. */
void *af_mpi_text(const void *text, uint64_t len);

#endif
