/* The list of all tables. Apart from the rest, so that a test may have a list of its own. */
#include <stddef.h>

#include "api/tables/tables.h"

extern const struct af_api_table af_api_cuda, af_api_cudart, af_api_opencl, af_api_mpi, af_api_ze,
    af_api_hip, af_api_openmp;

const struct af_api_table *const af_apis[] = {
    &af_api_cuda, &af_api_cudart, &af_api_opencl, &af_api_mpi,
    &af_api_ze,   &af_api_hip,    &af_api_openmp, NULL};
