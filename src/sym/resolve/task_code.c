/*
 * Device code that ran on the host: PoCL compiles a kernel to a shared object, loads it, and its
 * worker threads run it, so that samples of them lie in it like samples in any library. The object
 * goes into the trace, as PROGRAM, and its samples are marked as device code: CODE,
 * CODE_ADDRESS.
 */
#include <stdlib.h>
#include <string.h>

#include "sym/device/code.h"
#include "sym/module/module.h"
#include "sym/resolve/task_work.h"
#include "trace/write/stream.h"

enum {
	TASK_OBJECT_SIZE = 16 << 20, /* PoCL's are some 10 KiB */
	TASK_OBJECTS = 8192,
};

/* A function of device code that has addresses. */
struct task_function {
	uint32_t name; /* string of the module */
	uint32_t symbol, code;
};

struct task_code {
	char object[AF_SHA256_HEX];
	uint64_t size;
	struct task_function *functions;
	uint32_t nr, cap;
	struct task_code_at {
		uint32_t function; /* index + 1, 0: none */
		uint32_t offset;
	} at[]; /* for each wanted address */
};

/* Every object that PoCL loads contains one of the functions that it makes of a kernel. */
static bool task_has_kernel(const struct task_module *m)
{
	size_t len;

	for (uint32_t i = 0; i < m->nr; i++) {
		const struct task_answer *a = &m->answers[i];

		if (!a->nr)
			continue;
		uint32_t last = m->frames[a->first + (a->nr - 1) * 3];
		if (af_sym_kernel_name(af_strtab_get(&m->strings, last), &len))
			return true;
	}
	return false;
}

/* The number of @f, from 1; @by_function has the numbers given so far. */
static uint32_t task_function_of(struct task_module *m, struct af_map *by_function, uint32_t i,
                                 const struct af_code_function *f)
{
	struct task_code *code = m->code;
	uint64_t *known = af_map_at(by_function, i, NULL);

	if (!*known) {
		AF_GROW(code->functions, code->nr, code->cap);
		code->functions[code->nr++] = (struct task_function){
		    .name = af_strtab_id_z(&m->strings, f->name),
		    .symbol = f->symbol,
		};
		*known = code->nr;
	}
	return (uint32_t)*known;
}

static void task_code_place(struct task_module *m, struct af_code *code)
{
	struct af_map by_function = {0};

	for (uint32_t i = 0; i < m->nr; i++) {
		uint64_t offset = 0;
		int f = af_code_find_address(code, m->wanted[i].vaddr, &offset);

		if (f < 0 || offset > UINT32_MAX)
			continue;
		m->code->at[i].function = task_function_of(m, &by_function, (uint32_t)f,
		                                           af_code_function(code, (uint32_t)f));
		m->code->at[i].offset = (uint32_t)offset;
	}
	af_map_free(&by_function);
}

/* The object is stored before anything refers to it. If that fails, names are still there. */
void af_sym_task_code(struct af_sym_task *task, struct task_module *m,
                      const struct af_sym_module *file)
{
	const struct af_search_paths *where = task->where;
	struct af_code *code;
	size_t size;
	const void *bytes = af_sym_module_bytes(file, &size);

	if (!where->keep || !bytes || size > TASK_OBJECT_SIZE || !task_has_kernel(m) ||
	    af_code_open(&code, bytes, size, NULL))
		return;
	if (atomic_fetch_add(&task->nr_kept, 1) < TASK_OBJECTS) {
		m->code = af_xcalloc(1, sizeof *m->code + m->nr * sizeof *m->code->at);
		m->code->size = size;
		if (where->keep(where->objects, bytes, size, m->code->object))
			af_sym_task_code_free(m);
		else
			task_code_place(m, code);
	}
	af_code_close(code);
}

void af_sym_task_code_free(struct task_module *m)
{
	if (m->code)
		free(m->code->functions);
	free(m->code);
	m->code = NULL;
}

void af_sym_task_write_codes(struct af_sym_task *task, struct af_stream *s, uint64_t time_ns)
{
	uint32_t programs = 0, codes = 0;

	for (uint32_t i = 0; i < task->nr_modules; i++) {
		const struct task_module *m = &task->modules[i];
		struct task_code *c = m->code;

		if (!c || !c->nr)
			continue;
		struct af_ev_program program = {
		    .program = ++programs, .form = AF_OBJECT_NATIVE, .size = c->size};
		struct af_tail tails[] = {{c->object, (uint32_t)strlen(c->object), 0}, {"", 0, 0}};
		af_stream_put_tail(s, AF_KIND_PROGRAM, time_ns, &program, sizeof program, tails, 2);
		for (uint32_t k = 0; k < c->nr; k++) {
			const char *name = af_strtab_get(&m->strings, c->functions[k].name);
			struct af_ev_code ev = {
			    .code = ++codes,
			    .program = programs,
			    .symbol = c->functions[k].symbol,
			};
			struct af_tail tail = {name, (uint32_t)strlen(name), 0};

			c->functions[k].code = codes;
			af_stream_put_tail(s, AF_KIND_CODE, time_ns, &ev, sizeof ev, &tail, 1);
		}
	}
}

bool af_sym_task_write_code_address(const struct task_module *m, uint32_t wanted, bool before,
                                    const struct af_ev_symbol *symbol, struct af_stream *s,
                                    uint64_t time_ns)
{
	const struct task_code_at *at = m->code ? &m->code->at[wanted] : NULL;
	bool is = at && at->function;

	if (is || before)
		af_stream_put(s, code_address, time_ns, .process = symbol->process,
		              .address = symbol->address, .epoch = symbol->epoch,
		              .code = is ? m->code->functions[at->function - 1].code : 0,
		              .offset = is ? at->offset : 0);
	return is;
}
