#include "inject/intel/placed.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/pages.h"
#include "inject/core/handles.h"
#include "inject/core/inject.h"
#include "inject/core/lock.h"
#include "inject/core/thread.h"
#include "inject/intel/zebin.h"

enum { CODES_MAX = 1 << 16 }; /* that lie somewhere at one time */

/* A kernel's code. Lists are by index plus 1; 0 ends them. */
struct placed_code {
	uint64_t name; /* hash */
	uint64_t address;
	uint32_t code, device;
	uint32_t next; /* of its program, or of those that are free */
};

static struct af_fork_lock lock = AF_FORK_LOCK;
static struct placed_code *codes; /* under the lock, as the next two */
static uint32_t nr_codes, nr_free;
static struct af_handles programs = AF_HANDLES_INIT; /* id → first of its codes */

/* A free one, entered in the list of @program; NULL: there is none. Under the lock. */
static struct placed_code *code_take(uint32_t program)
{
	uint32_t i = nr_free;

	if (!codes && !(codes = af_pages(CODES_MAX * sizeof *codes, MAP_NORESERVE)))
		return NULL;
	if (i)
		nr_free = codes[i - 1].next;
	else if (nr_codes < CODES_MAX)
		i = ++nr_codes;
	else
		return NULL;
	codes[i - 1] = (struct placed_code){.next = (uint32_t)af_handles_get(&programs, program)};
	af_handles_set(&programs, program, i);
	return &codes[i - 1];
}

static struct placed_code *code_find(uint32_t program, uint32_t device, uint64_t name)
{
	uint32_t i = (uint32_t)af_handles_get(&programs, program);

	for (; i; i = codes[i - 1].next)
		if (codes[i - 1].name == name && codes[i - 1].device == device)
			return &codes[i - 1];
	return NULL;
}

static void code_define(struct af_thread_context *t, uint32_t code, uint32_t program,
                        const char *name, const struct af_zebin_kernel *k)
{
	struct af_ev_code ev = {.code = code, .program = program, .symbol = k->symbol};
	struct af_tail tail = {name, (uint32_t)strlen(name), 0};

	af_stream_put_tail(&t->stream, AF_KIND_CODE, af_now_ns(), &ev, sizeof ev, &tail, 1);
}

/* The state of a kernel's code in the table. */
struct placed_news {
	uint32_t code;
	bool fresh, moved;
};

static bool code_place(uint32_t program, uint32_t device, uint64_t name, uint64_t address,
                       struct placed_news *is)
{
	af_fork_lock(&lock);
	struct placed_code *c = code_find(program, device, name);
	is->fresh = !c;
	if (!c && (c = code_take(program))) {
		c->name = name;
		c->device = device;
		c->code = af_inject_new_id(AF_ID_CODE);
	}
	is->moved = c && c->address != address;
	if (c) {
		c->address = address;
		is->code = c->code;
	}
	af_fork_unlock(&lock);
	return c != NULL;
}

/* By a hash that nobody can make a name for (base/hash.h). */
static uint64_t name_hash(const char *name)
{
	return af_scatter(af_scatter_bytes(name, strlen(name))) | 1;
}

bool af_placed_has(uint32_t program, uint32_t device, const char *name, uint64_t address)
{
	af_fork_lock(&lock);
	const struct placed_code *c = code_find(program, device, name_hash(name));
	bool has = c && c->address == address;
	af_fork_unlock(&lock);
	return has;
}

void af_placed_put(uint32_t program, uint32_t device, const char *name, uint64_t address,
                   const struct af_zebin_kernel *k)
{
	struct placed_news is = {0};

	if (!program || !address || !k->size)
		return;
	if (!code_place(program, device, name_hash(name), address, &is)) {
		af_inject_lost(AF_LOST_TABLE_FULL, 1);
		return;
	}
	struct af_thread_context *t = is.moved ? af_thread_enter() : NULL;
	if (!t)
		return;
	if (is.fresh)
		code_define(t, is.code, program, name, k);
	af_stream_put(&t->stream, code_placed, af_now_ns(), .code = is.code, .device = device,
	              .address = address, .size = k->size);
	af_thread_leave(t);
}

/* Take one code off the list of @program; false: there is none. */
static bool code_drop(uint32_t program, struct placed_code *was)
{
	af_fork_lock(&lock);
	uint32_t i = (uint32_t)af_handles_get(&programs, program);
	if (i) {
		struct placed_code *c = &codes[i - 1];
		*was = *c;
		af_handles_set(&programs, program, c->next);
		c->next = nr_free;
		nr_free = i;
	}
	af_fork_unlock(&lock);
	return i;
}

void af_placed_drop(uint32_t program)
{
	struct placed_code was;

	while (program && code_drop(program, &was)) {
		struct af_thread_context *t = af_thread_enter();
		if (!t)
			continue;
		af_stream_put(&t->stream, code_placed, af_now_ns(), .code = was.code,
		              .device = was.device, .address = was.address, .size = 0);
		af_thread_leave(t);
	}
}

void af_placed_after_fork(void)
{
	af_handles_after_fork(&programs);
	nr_codes = nr_free = 0;
}
