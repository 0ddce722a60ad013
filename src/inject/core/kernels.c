#include "inject/core/kernels.h"

#include <string.h>

#include "base/map.h"
#include "inject/core/inject.h"
#include "inject/core/thread.h"

static void kernel_define(struct af_thread_context *t, uint32_t id, uint32_t program,
                          const char *name, size_t len)
{
	struct af_ev_kernel ev = {.kernel = id, .program = program};
	struct af_tail tail = {name, (uint32_t)len, 0};

	af_stream_put_tail(&t->stream, AF_KIND_KERNEL, af_now_ns(), &ev, sizeof ev, &tail, 1);
}

uint32_t af_kernel_id(struct af_kernels *k, struct af_thread_context *t, uint32_t program,
                      const char *name, size_t len)
{
	/* By a hash that nobody can make a name for (base/hash.h). */
	uint64_t hash = af_scatter(af_scatter_bytes(name, len) ^ program) | 1;
	uint64_t known = af_handles_get(&k->ids, hash);
	struct af_thread_context *entered = NULL;

	if (__builtin_expect(known != 0, 1))
		return (uint32_t)known;
	uint32_t id = af_inject_new_id(AF_ID_KERNEL);
	known = af_handles_claim(&k->ids, hash, id);
	if (known != id)
		return (uint32_t)known;
	if (!t)
		t = entered = af_thread_enter();
	if (t)
		kernel_define(t, id, program, name, len);
	if (entered)
		af_thread_leave(entered);
	return id;
}

void af_device_note(uint32_t device, const char *key, const char *value)
{
	struct af_thread_context *t = af_thread_enter();
	struct af_ev_device_note ev = {.device = device};
	struct af_tail tail[] = {{key, (uint32_t)strlen(key), 0},
	                         {value, (uint32_t)strlen(value), 0}};

	if (!t)
		return;
	af_stream_put_tail(&t->stream, AF_KIND_DEVICE_NOTE, af_now_ns(), &ev, sizeof ev, tail, 2);
	af_thread_leave(t);
}
