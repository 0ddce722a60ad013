/* The part of a function, by its category and its name, and where its values are. */
#include <string.h>

#include "analyse/usage/private.h"
#include "analyse/world/world.h"
#include "api/tables/tables.h"

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static bool has(const char *name, const char *word)
{
	return strstr(name, word) != NULL;
}

/* Between host and device, as names of functions say it. */
static bool is_host_copy(const char *name)
{
	return has(name, "HtoD") || has(name, "DtoH") || has(name, "HtoA") || has(name, "AtoH");
}

static bool is_device_work(uint32_t category)
{
	return category == AF_CATEGORY_LAUNCH || category == AF_CATEGORY_GRAPH_LAUNCH ||
	       category == AF_CATEGORY_COPY || category == AF_CATEGORY_FILL;
}

static bool is_memory(uint32_t category)
{
	return category == AF_CATEGORY_ALLOC || category == AF_CATEGORY_FREE;
}

static enum usage_role role_cuda(const struct usage_function *f, const char *name,
                                 uint32_t category)
{
	if (category == AF_CATEGORY_SYNC)
		return has(name, "Synchronize") ? USAGE_WAIT : USAGE_OTHER;
	if (category == AF_CATEGORY_COPY && is_host_copy(name))
		return USAGE_COPY;
	if (is_device_work(category))
		return USAGE_WORK;
	if (is_memory(category) && !f->queue.bytes && !has(name, "Async"))
		return USAGE_MEMORY;
	if (category == AF_CATEGORY_LOAD)
		return USAGE_LOAD;
	if (category == AF_CATEGORY_OTHER && (has(name, "Query") || has(name, "Get")))
		return USAGE_QUERY;
	return f->queue.bytes && !has(name, "Destroy") ? USAGE_WORK : USAGE_OTHER;
}

static enum usage_role role_opencl(const struct usage_function *f, const char *name,
                                   uint32_t category)
{
	if (category == AF_CATEGORY_SYNC)
		return USAGE_WAIT;
	if (f->blocking.bytes && f->host.bytes)
		return USAGE_COPY;
	if (begins(name, "clEnqueue"))
		return USAGE_WORK;
	if (is_memory(category))
		return USAGE_MEMORY;
	if (category == AF_CATEGORY_LOAD)
		return USAGE_LOAD;
	return begins(name, "clGet") ? USAGE_QUERY : USAGE_OTHER;
}

static enum usage_role role_mpi(const char *name, uint32_t category, bool blocks)
{
	static const char *const queries[] = {"MPI_Test",     "MPI_Iprobe",
	                                      "MPI_Improbe",  "MPI_Request_get_status",
	                                      "MPI_Parrived", "MPI_Win_test"};

	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		if (begins(name, queries[i]) && !begins(name, "MPI_Test_cancelled"))
			return USAGE_QUERY;
	if (category == AF_CATEGORY_SEND)
		return USAGE_MESSAGE;
	return blocks && (category == AF_CATEGORY_SYNC || category == AF_CATEGORY_COLLECTIVE ||
	                  category == AF_CATEGORY_RECEIVE)
	           ? USAGE_MPI_WAIT
	           : USAGE_OTHER;
}

/* Calls of OpenMP are API_CALLs: the words begin behind the fixed fields and their number. */
static enum usage_role role_target(struct usage_function *f, const char *name, uint32_t category)
{
	enum {
		WORDS = sizeof(struct af_ev_api_call) + sizeof(uint32_t),
		FROM = 0,
		TO = 2,
		BYTES = 4
	};
	const int host = has(name, "from_device") ? TO : FROM;

	if (category != AF_CATEGORY_COPY)
		return USAGE_RUNTIME;
	f->host = (struct usage_value){(uint16_t)(WORDS + 8 * host), 8};
	f->bytes = (struct usage_value){WORDS + 8 * BYTES, 8};
	return USAGE_MAPPING;
}

/* Those of the host are of the model. */
static enum usage_role role_host(const char *name)
{
	if (!strcmp(name, "ompt_parallel"))
		return USAGE_REGION;
	if (!strcmp(name, "ompt_implicit_task"))
		return USAGE_TASK;
	if (!strcmp(name, "ompt_task_create"))
		return USAGE_TASK_NEW;
	if (!strcmp(name, "ompt_taskwait"))
		return USAGE_TASK_WAIT;
	return strcmp(name, "ompt_barrier_implicit") ? USAGE_RUNTIME : USAGE_BARRIER;
}

static void values_learn(struct usage_function *f, const struct af_api_function *is)
{
	const struct {
		const char *name;
		struct usage_value *value;
	} values[] = {{"hStream", &f->queue},
	              {"command_queue", &f->queue},
	              {"hEvent", &f->event},
	              {"srcHost", &f->host},
	              {"dstHost", &f->host},
	              {"ptr", &f->host},
	              {"dest", &f->peer},
	              {"blocking_read", &f->blocking},
	              {"blocking_write", &f->blocking},
	              {"codeptr_ra", &f->region},
	              {"region_codeptr_ra", &f->region},
	              {"in_region_ns", &f->inside},
	              {"task_flags", &f->flags}};

	for (uint32_t i = 0; i < is->nr_params; i++) {
		const struct af_api_param *p = &is->params[i];
		for (size_t v = 0; v < sizeof values / sizeof *values; v++)
			if (!strcmp(p->name, values[v].name) && p->type->size <= sizeof(uint64_t))
				*values[v].value =
				    (struct usage_value){p->at, (uint8_t)p->type->size};
	}
	if (is->bytes_len <= sizeof(uint64_t))
		f->bytes = (struct usage_value){is->bytes_at, is->bytes_len};
}

void usage_function_learn(struct usage_function *f, const struct af_function *is, uint16_t kind)
{
	const struct af_api_function *model = kind ? af_api_function(kind) : NULL;
	const char *name = is->name;

	f->is_known = true;
	if (model)
		values_learn(f, model);
	switch (is->api) {
	case AF_API_CUDA:
		f->role = (uint8_t)role_cuda(f, name, is->category);
		break;
	case AF_API_OPENCL:
		f->role = (uint8_t)role_opencl(f, name, is->category);
		break;
	case AF_API_MPI:
		f->role = (uint8_t)role_mpi(name, is->category, model && model->blocks);
		break;
	case AF_API_OPENMP:
		f->role = (uint8_t)(model ? role_host(name) : role_target(f, name, is->category));
		break;
	case AF_API_CUDART:
		f->role = USAGE_RUNTIME;
		break;
	}
	f->is_async = is->api == AF_API_CUDA && has(name, "Async");
	f->is_device_work = is_device_work(is->category);
	f->waits_for_all = begins(name, "cuCtxSynchronize");
}

bool usage_has(const struct af_event *ev, struct usage_value v)
{
	return v.bytes && (uint32_t)v.at + v.bytes <= ev->payload_size;
}

uint64_t usage_value(const struct af_event *ev, struct usage_value v)
{
	uint64_t value = 0;

	if (usage_has(ev, v))
		memcpy(&value, ev->payload + v.at, v.bytes);
	return value;
}
