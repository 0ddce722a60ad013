/*
 * Modules and kernels. A module's kernels are what its PTX text has behind `.entry`; the cubin that
 * tools are shown is an ELF header of the right kind with that text behind it. A kernel's
 * parameters are not kept but for the first, its duration.
 */
#include "mock_cuda.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { MODULE_MACHINE_CUDA = 190, MODULE_BLOCK_MAX = 1024 };

static void *module_cubin(const char *text, size_t *bytes)
{
	const size_t text_bytes = strlen(text);
	Elf64_Ehdr header = {
	    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	    .e_type = ET_EXEC,
	    .e_machine = MODULE_MACHINE_CUDA,
	    .e_version = EV_CURRENT,
	    .e_ehsize = sizeof(header),
	};
	char *cubin = malloc(sizeof(header) + text_bytes);

	if (!cubin)
		return NULL;
	memcpy(cubin, &header, sizeof(header));
	memcpy(cubin + sizeof(header), text, text_bytes);
	*bytes = sizeof(header) + text_bytes;
	return cubin;
}

static void module_add_functions(struct CUmod_st *module, const char *text)
{
	for (const char *at = text; (at = strstr(at, ".entry")); at++) {
		const char *name = at + strlen(".entry");
		struct CUfunc_st *f = calloc(1, sizeof(*f));

		name += strspn(name, " \t\n");
		if (!f)
			abort();
		f->name = strndup(name, strcspn(name, " \t\n("));
		f->next = module->functions;
		module->functions = f;
	}
}

static int module_load(struct CUmod_st **module, const char *text)
{
	static uint32_t last_id;
	struct mock_module_data data;
	struct CUmod_st *m;

	if (!module || !text)
		return CUDA_INVALID_VALUE;
	if (!mock_context() || mock_context()->is_gone)
		return CUDA_INVALID_CONTEXT;
	if (!strstr(text, ".version"))
		return CUDA_INVALID_PTX;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_OUT_OF_MEMORY;
	m->context = mock_context();
	m->cubin = module_cubin(text, &m->cubin_bytes);
	module_add_functions(m, text);
	pthread_mutex_lock(&mock_lock);
	m->id = ++last_id;
	pthread_mutex_unlock(&mock_lock);
	data = (struct mock_module_data){m->id, m->cubin_bytes, m->cubin};
	mock_resource(MOCK_MODULE_LOADED, m->context, NULL, &data);
	*module = m;
	return CUDA_OK;
}

int cuModuleLoadData(struct CUmod_st **module, const void *image)
{
	struct {
		struct CUmod_st **module;
		const void *image;
	} params = {module, image};

	MOCK_CALL(19, &params, module_load(module, image));
}

/* Functions and their names stay, as records may still point to them. */
static int module_unload(struct CUmod_st *module)
{
	struct mock_module_data data;

	if (!module)
		return CUDA_INVALID_HANDLE;
	data = (struct mock_module_data){module->id, module->cubin_bytes, module->cubin};
	mock_resource(MOCK_MODULE_UNLOAD_STARTING, module->context, NULL, &data);
	free(module->cubin);
	free(module);
	return CUDA_OK;
}

int cuModuleUnload(struct CUmod_st *module)
{
	MOCK_CALL(22, &module, module_unload(module));
}

static int module_function(struct CUfunc_st **function, const struct CUmod_st *module,
                           const char *name)
{
	if (!function || !module || !name)
		return CUDA_INVALID_VALUE;
	for (struct CUfunc_st *f = module->functions; f; f = f->next) {
		if (!strcmp(f->name, name)) {
			*function = f;
			return CUDA_OK;
		}
	}
	return CUDA_NOT_FOUND;
}

int cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name)
{
	struct {
		struct CUfunc_st **function;
		struct CUmod_st *module;
		const char *name;
	} params = {function, module, name};

	MOCK_CALL(23, &params, module_function(function, module, name));
}

static int kernel_launch(const struct cuda_launch_config *config, const struct CUfunc_st *function,
                         void **params)
{
	struct CUstream_st *stream = mock_stream(config->stream);
	struct mock_work work = {.op = MOCK_KERNEL, .shared_bytes = config->shared_bytes};
	uint64_t threads = 1;
	int rc;

	if (!function)
		return CUDA_INVALID_HANDLE;
	if (!stream)
		return config->stream ? CUDA_INVALID_HANDLE : CUDA_INVALID_CONTEXT;
	for (int i = 0; i < 3; i++) {
		if (!config->grid[i] || !config->block[i])
			return CUDA_INVALID_VALUE;
		work.grid[i] = config->grid[i];
		work.block[i] = config->block[i];
		threads *= config->block[i];
	}
	if (threads > MODULE_BLOCK_MAX || !params)
		return CUDA_INVALID_VALUE;
	for (uint32_t i = 0; i < config->nr_attributes; i++)
		if (config->attributes[i].id == CUDA_ATTRIBUTE_CLUSTER)
			memcpy(work.cluster, config->attributes[i].value.cluster,
			       sizeof(work.cluster));
	work.name = function->name;
	memcpy(&work.duration_ns, params[0], sizeof(work.duration_ns));
	if (stream->capture)
		return mock_graph_append(stream, &work);
	pthread_mutex_lock(&mock_lock);
	rc = mock_enqueue(stream, &work);
	pthread_mutex_unlock(&mock_lock);
	return rc;
}

#define MODULE_CONFIG                                                                              \
	{                                                                                          \
		{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, NULL, \
		    0                                                                              \
	}

/* The parameters of a launch as CUPTI shows them: the call's own, in order. */
struct module_launch_params {
	struct CUfunc_st *function;
	unsigned grid[3], block[3], shared_bytes;
	struct CUstream_st *stream;
	void **params, **extra;
};

int cuLaunchKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   struct CUstream_st *stream, void **params, void **extra)
{
	const struct cuda_launch_config config = MODULE_CONFIG;
	const struct module_launch_params told = {function,
	                                          {grid_x, grid_y, grid_z},
	                                          {block_x, block_y, block_z},
	                                          shared_bytes,
	                                          stream,
	                                          params,
	                                          extra};

	MOCK_CALL(307, &told, kernel_launch(&config, function, params));
}

int cuLaunchCooperativeKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y,
                              unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, struct CUstream_st *stream, void **params)
{
	const struct cuda_launch_config config = MODULE_CONFIG;
	const struct module_launch_params told = {function,
	                                          {grid_x, grid_y, grid_z},
	                                          {block_x, block_y, block_z},
	                                          shared_bytes,
	                                          stream,
	                                          params,
	                                          NULL};

	MOCK_CALL(477, &told, kernel_launch(&config, function, params));
}

int cuLaunchKernelEx(const struct cuda_launch_config *config, struct CUfunc_st *function,
                     void **params, void **extra)
{
	struct {
		const struct cuda_launch_config *config;
		struct CUfunc_st *function;
		void **params, **extra;
	} told = {config, function, params, extra};

	MOCK_CALL(652, &told,
	          config ? kernel_launch(config, function, params) : (int)CUDA_INVALID_VALUE);
}
