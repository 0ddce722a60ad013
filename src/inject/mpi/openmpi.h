/* Open MPI's own handles and numbers, and MPICH's for them, which events have. */
#ifndef AF_INJECT_MPI_OPENMPI_H
#define AF_INJECT_MPI_OPENMPI_H

#include <stddef.h>
#include <stdint.h>

/* A handle that is there from the start is the address of a symbol. */
struct af_openmpi_object {
	const char *symbol;
	uint32_t handle;
};

struct af_openmpi_number {
	int32_t theirs, stored;
};

extern const struct af_openmpi_object af_openmpi_objects[];
extern const struct af_openmpi_number af_openmpi_rank[], af_openmpi_lock_type[],
    af_openmpi_win_mode[], af_openmpi_error_code[];
extern const unsigned af_openmpi_nr_rank, af_openmpi_nr_lock_type, af_openmpi_nr_win_mode,
    af_openmpi_nr_error_code;

#endif
