/*
 * Modules and kernels. A module is a real cubin, or PTX text, whose kernels are what it has behind
 * `.entry`; the cubin that tools are shown then is an ELF header of the right kind with that text
 * behind it. A kernel's parameters are not kept but for the first, its duration.
 */
#include "mock_cuda.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { MODULE_MACHINE_CUDA = 190, MODULE_BLOCK_MAX = 1024, MODULE_TEXT_CODE_BYTES = 1024 };

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

static void module_add_function(struct CUmod_st *module, char *name, uint32_t symbol,
                                uint32_t bytes)
{
	struct CUfunc_st *f = calloc(1, sizeof(*f));

	if (!f || !name)
		abort();
	*f = (struct CUfunc_st){module->functions, name, module->id, symbol, bytes};
	module->functions = f;
}

static void module_of_text(struct CUmod_st *module, const char *text)
{
	uint32_t symbol = 0;

	module->cubin = module_cubin(text, &module->cubin_bytes);
	for (const char *at = text; (at = strstr(at, ".entry")); at++) {
		const char *name = at + strlen(".entry");

		name += strspn(name, " \t\n");
		module_add_function(module, strndup(name, strcspn(name, " \t\n(")), ++symbol,
		                    MODULE_TEXT_CODE_BYTES);
	}
}

/* The tests' own cubins, so nothing is checked. */
static void module_of_cubin(struct CUmod_st *module, const char *image)
{
	const Elf64_Ehdr *elf = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + elf->e_shoff);
	size_t bytes = elf->e_shoff + (size_t)elf->e_shnum * sizeof(*sections);
	const size_t segments = elf->e_phoff + (size_t)elf->e_phnum * elf->e_phentsize;

	if (segments > bytes)
		bytes = segments;
	for (unsigned i = 0; i < elf->e_shnum; i++) {
		const Elf64_Shdr *s = &sections[i];
		const Elf64_Sym *symbols = (const void *)(image + s->sh_offset);

		if (s->sh_type != SHT_NOBITS && s->sh_offset + s->sh_size > bytes)
			bytes = s->sh_offset + s->sh_size;
		for (uint32_t n = 0; s->sh_type == SHT_SYMTAB && n < s->sh_size / sizeof(*symbols);
		     n++) {
			const char *names = image + sections[s->sh_link].sh_offset;

			if (symbols[n].st_info == ELF64_ST_INFO(STB_GLOBAL, STT_FUNC))
				module_add_function(module, strdup(names + symbols[n].st_name), n,
				                    (uint32_t)symbols[n].st_size);
		}
	}
	module->cubin = malloc(bytes);
	if (!module->cubin)
		abort();
	memcpy(module->cubin, image, bytes);
	module->cubin_bytes = bytes;
}

static int module_load(struct CUmod_st **module, const char *image)
{
	static uint32_t last_id;
	const bool is_cubin = image && !memcmp(image, ELFMAG, SELFMAG);
	struct mock_module_data data;
	struct CUmod_st *m;

	if (!module || !image)
		return CUDA_INVALID_VALUE;
	if (!mock_context() || mock_context()->is_gone)
		return CUDA_INVALID_CONTEXT;
	if (!is_cubin && !strstr(image, ".version"))
		return CUDA_INVALID_PTX;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_OUT_OF_MEMORY;
	m->context = mock_context();
	pthread_mutex_lock(&mock_lock);
	m->id = ++last_id;
	pthread_mutex_unlock(&mock_lock);
	if (is_cubin)
		module_of_cubin(m, image);
	else
		module_of_text(m, image);
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
	work.code = function;
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
	const struct module_launch_params params_seen = {function,
	                                                 {grid_x, grid_y, grid_z},
	                                                 {block_x, block_y, block_z},
	                                                 shared_bytes,
	                                                 stream,
	                                                 params,
	                                                 extra};

	MOCK_CALL(307, &params_seen, kernel_launch(&config, function, params));
}

int cuLaunchCooperativeKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y,
                              unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, struct CUstream_st *stream, void **params)
{
	const struct cuda_launch_config config = MODULE_CONFIG;
	const struct module_launch_params params_seen = {function,
	                                                 {grid_x, grid_y, grid_z},
	                                                 {block_x, block_y, block_z},
	                                                 shared_bytes,
	                                                 stream,
	                                                 params,
	                                                 NULL};

	MOCK_CALL(477, &params_seen, kernel_launch(&config, function, params));
}

int cuLaunchKernelEx(const struct cuda_launch_config *config, struct CUfunc_st *function,
                     void **params, void **extra)
{
	struct {
		const struct cuda_launch_config *config;
		struct CUfunc_st *function;
		void **params, **extra;
	} params_seen = {config, function, params, extra};

	MOCK_CALL(652, &params_seen,
	          config ? kernel_launch(config, function, params) : (int)CUDA_INVALID_VALUE);
}
