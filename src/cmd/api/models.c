/* The models inside the program, for `aflame api diff`. */
#include "cmd/api/api.h"
#include "render/embed/embed.h"

#ifdef AF_HAVE_CLANG
#define MODEL(name)                                                                                \
	{                                                                                          \
#name, af_embed_api_##name, &af_embed_api_##name##_size                            \
	}

AF_EMBED(api_opencl);
AF_EMBED(api_cuda);
AF_EMBED(api_cudart);
AF_EMBED(api_mpi_openmpi);
AF_EMBED(api_mpi_mpich);
AF_EMBED(api_ze);
AF_EMBED(api_hip);

const struct af_api_model af_api_models[] = {
    MODEL(opencl),    MODEL(cuda), MODEL(cudart), MODEL(mpi_openmpi),
    MODEL(mpi_mpich), MODEL(ze),   MODEL(hip),    {NULL}};
#else
const struct af_api_model af_api_models[] = {{NULL}};
#endif
