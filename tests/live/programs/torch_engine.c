/*
 * The "PyTorch" of tests/live/programs/faketorch: operations that launch kernels, and an engine
 * that runs backward functions on a thread of its own, saying of both what PyTorch's emit_nvtx()
 * says of them.
 *
 * Truth: forward operations launch k1 and backward functions k2, of NS each.
 */
#include <pthread.h>
#include <stdio.h>

#include "cuda_setup.h"
#include "nvtx_say.h"

enum { NS = 100000 };

#define API __attribute__((visibility("default")))

API void torch_start(void);
API void torch_emit(void);
API void torch_forward(const char *name, long sequence);
API void torch_backward(const char *name, const long *sequences, long nr);
API void torch_wait(void);

static struct cuda cuda;
static int emits;

/* The task of the engine's thread. */
struct pass {
	const char *name;
	const long *sequences;
	long nr;
};

static void range_begin(const char *what, const char *name, long sequence)
{
	char text[256];

	if (sequence)
		snprintf(text, sizeof text, "%s%s, seq = %ld, op_id = 7", what, name, sequence);
	else
		snprintf(text, sizeof text, "%s%s", what, name);
	if (emits)
		nvtx_push(text);
}

static void range_end(void)
{
	if (emits)
		nvtx_pop();
}

void torch_start(void)
{
	cuda_open(&cuda, 0);
}

void torch_emit(void)
{
	emits = 1;
}

/* An operation that calls another: both have the number of the function that the inner makes. */
void torch_forward(const char *name, long sequence)
{
	range_begin("", "aten::linear", sequence);
	range_begin("", name, sequence);
	cuda_launch(cuda.k[0], NULL, NS);
	range_end();
	range_end();
}

static void *engine_run(void *arg)
{
	const struct pass *p = arg;

	CUDA_CHECK(cuCtxSetCurrent(cuda.context));
	for (long i = 0; i < p->nr; i++) {
		range_begin("autograd::engine::evaluate_function: ", p->name, 0);
		range_begin("", p->name, p->sequences[i]);
		cuda_launch(cuda.k[1], NULL, NS);
		range_end();
		range_end();
	}
	return NULL;
}

void torch_backward(const char *name, const long *sequences, long nr)
{
	struct pass pass = {name, sequences, nr};
	pthread_t engine;

	if (!pthread_create(&engine, NULL, engine_run, &pass))
		pthread_join(engine, NULL);
}

void torch_wait(void)
{
	CUDA_CHECK(cuCtxSynchronize());
}
