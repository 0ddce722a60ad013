#include "sym/resolve/task.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "sym/elf/ranges.h"
#include "sym/resolve/task_work.h"
#include "trace/write/stream.h"

struct af_sym_task *af_sym_task_open(void)
{
	struct af_sym_task *task = af_xcalloc(1, sizeof *task);

	pthread_mutex_init(&task->lock, NULL);
	return task;
}

static void task_module_free(struct task_module *m)
{
	free(m->wanted);
	free(m->answers);
	free(m->later);
	free(m->frames);
	af_sym_task_code_free(m);
	af_strtab_free(&m->strings);
}

void af_sym_task_close(struct af_sym_task *task)
{
	if (!task)
		return;
	for (uint32_t i = 0; i < task->nr_modules; i++)
		task_module_free(&task->modules[i]);
	free(task->modules);
	free(task->mappings);
	free(task->processes);
	free(task->dumps);
	free(task->objects);
	free(task->jit);
	af_arena_free(&task->jit_texts);
	af_keys_free(&task->in_list);
	free(task->addresses);
	free(task->order);
	af_map_free(&task->by_key);
	af_keys_free(&task->seen);
	af_strtab_free(&task->keys);
	af_strtab_free(&task->note_texts);
	pthread_mutex_destroy(&task->lock);
	af_running_close(&task->running);
	free(task);
}

void af_sym_task_process(struct af_sym_task *task, uint32_t ordinal, uint32_t parent, uint32_t pid,
                         uint64_t start_ns, const char *exe)
{
	uint32_t id = af_strtab_id_z(&task->keys, exe);

	AF_GROW(task->processes, task->nr_processes, task->cap_processes);
	task->processes[task->nr_processes++] = (struct task_process){
	    .ordinal = ordinal,
	    .parent = parent,
	    .pid = pid,
	    .start_ns = start_ns,
	    .exe = *exe ? af_strtab_get(&task->keys, id) : NULL,
	};
}

void af_sym_task_object(struct af_sym_task *task, const char *name)
{
	AF_GROW(task->objects, task->nr_objects, task->cap_objects);
	task->objects[task->nr_objects++] = af_strtab_id_z(&task->keys, name);
}

void af_sym_task_user(struct af_sym_task *task, uint32_t ordinal, uid_t uid)
{
	for (uint32_t i = 0; i < task->nr_processes; i++)
		if (task->processes[i].ordinal == ordinal) {
			task->processes[i].user_known = true;
			task->processes[i].user = uid;
		}
}

/*
 * The module that is like @m, whose path has @path_len bytes; its strings point into the key. Files
 * that can be told apart are shared by all processes.
 */
static uint32_t task_module(struct af_sym_task *task, const struct task_module *m, size_t path_len)
{
	struct {
		uint32_t kind, of; /* process ordinal + 1, 0 for all */
	} owner = {m->kind, m->kind == TASK_JIT || m->replaced ? m->process + 1 : 0};
	struct af_buf key = {0};
	const char *nul = memchr(m->path, 0, path_len);

	path_len = nul ? (size_t)(nul - m->path) : path_len;
	af_buf_add(&key, m->path, path_len);
	af_buf_char(&key, 0);
	af_buf_add(&key, &owner, sizeof owner);
	af_buf_char(&key, m->replaced);
	if (m->build_id_len)
		af_buf_add(&key, m->build_id, m->build_id_len);
	uint32_t id = af_strtab_id(&task->keys, key.data, key.len);
	af_buf_free(&key);

	uint64_t *known = af_map_at(&task->by_key, id, NULL);
	if (!*known) {
		const char *text = af_strtab_get(&task->keys, id);

		AF_GROW(task->modules, task->nr_modules, task->cap_modules);
		struct task_module *own = &task->modules[task->nr_modules++];
		*own = *m;
		own->path = text;
		own->build_id = (const uint8_t *)text + path_len + 1 + sizeof owner + 1;
		own->mapped = path_len > 0;
		*known = task->nr_modules;
	}
	return (uint32_t)*known - 1;
}

/*
 * True if @path is what the kernel calls memory without a file of code: anonymous memory under its
 * many names, and the file that a JIT compiler maps to announce its dump.
 */
static bool task_is_anonymous(const char *path, size_t len, bool *dump)
{
	static const char *const names[] = {"//anon",  "[anon",     "[heap]", "[stack",
	                                    "/memfd:", "/dev/zero", "/SYSV",  "anon_inode:"};
	const char *slash = memrchr(path, '/', len);
	size_t tail = slash ? len - (size_t)(slash - path) : 0;

	*dump = tail > strlen("/jit-.dump") && !memcmp(slash, "/jit-", 5) &&
	        !memcmp(path + len - 5, ".dump", 5);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (len >= strlen(names[i]) && !memcmp(path, names[i], strlen(names[i])))
			return true;
	return *dump;
}

static void task_dump(struct af_sym_task *task, uint32_t process, const char *path, size_t len)
{
	uint32_t id = af_strtab_id(&task->keys, path, len);

	AF_GROW(task->dumps, task->nr_dumps, task->cap_dumps);
	task->dumps[task->nr_dumps++] = (struct task_dump){process, af_strtab_get(&task->keys, id)};
}

void af_sym_task_mapping(struct af_sym_task *task, uint32_t process, const struct af_ev_mapping *ev,
                         const uint8_t *build_id, uint32_t build_id_len, const char *path,
                         size_t path_len)
{
	bool dump, anonymous = task_is_anonymous(path, path_len, &dump) && !build_id_len;
	bool jit = anonymous || ev->flags & AF_MAPPING_JIT;
	struct task_module m = {
	    .kind = jit ? TASK_JIT : TASK_FILE,
	    .path = path,
	    .build_id = build_id,
	    .build_id_len = build_id_len,
	    .replaced = (ev->flags & AF_MAPPING_DELETED) && !build_id_len,
	    .process = process,
	};

	path_len = path_len < AF_SYM_NAME_MAX ? path_len : AF_SYM_NAME_MAX - 1;

	if (dump)
		task_dump(task, process, path, path_len);
	AF_GROW(task->mappings, task->nr_mappings, task->cap_mappings);
	task->mappings[task->nr_mappings] = (struct task_mapping){
	    .process = process,
	    .epoch = ev->epoch,
	    .order = task->nr_mappings,
	    .module = task_module(task, &m, path_len),
	    .main = ev->flags & AF_MAPPING_MAIN,
	    .start = ev->start,
	    .end = ev->end,
	    .bias = jit ? 0 : ev->bias,
	};
	task->nr_mappings++;
}

void af_sym_task_stack(struct af_sym_task *task, uint32_t process, uint32_t epoch, uint64_t time_ns,
                       const uint8_t *pcs, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++, pcs += sizeof(uint64_t)) {
		uint64_t address;
		bool fresh;

		memcpy(&address, pcs, sizeof address);
		if (AF_IS_LEFT_OUT(address))
			continue;
		af_keys_at(&task->seen, AF_KEY((uint64_t)process << 32 | epoch, address), &fresh);
		if (!fresh)
			continue;
		AF_GROW(task->addresses, task->nr_addresses, task->cap_addresses);
		task->addresses[task->nr_addresses++] = (struct task_address){
		    .process = process,
		    .epoch = epoch,
		    .address = address,
		    .time_ns = time_ns,
		};
	}
}

static int task_mapping_order(const void *a, const void *b)
{
	const struct task_mapping *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Order by process, then epoch: addresses of one group see the same mappings. */
static int task_group_order(const void *a, const void *b)
{
	const struct task_address *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->epoch != y->epoch)
		return x->epoch < y->epoch ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Order by process, then address: the order of writing. */
static int task_address_order(const void *a, const void *b)
{
	const struct task_address *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

/* Modules that may name an address outside of all mappings of @process. */
static uint32_t task_module_elsewhere(struct af_sym_task *task, uint32_t process)
{
	static const char kernel[] = "[kernel]";
	struct task_module m = {.path = "", .process = process};

	/* No mapping is known there; a JIT compiler's files may know the address. */
	m.kind = process ? TASK_JIT : TASK_KERNEL;
	m.path = process ? "" : kernel;
	return task_module(task, &m, process ? 0 : sizeof kernel - 1);
}

/* Looks up mappings of @process, from @first on, of epochs @from to @to: the newest one wins. */
static void task_ranges(const struct af_sym_task *task, struct af_ranges *ranges, uint32_t process,
                        uint32_t first, uint32_t from, uint32_t to)
{
	for (uint32_t i = first; i < task->nr_mappings && task->mappings[i].process == process;
	     i++) {
		const struct task_mapping *m = &task->mappings[i];

		if (m->epoch >= from && m->epoch <= to)
			af_ranges_add(ranges, m->start, m->end, m->epoch, i);
	}
	af_ranges_build(ranges);
}

/* True if the @k-th mapping is the only one that the recorder ever saw at @address. */
static bool task_is_only(const struct af_sym_task *task, uint32_t first, uint32_t k,
                         uint64_t address)
{
	const struct task_mapping *only = &task->mappings[k];

	for (uint32_t i = first; i < task->nr_mappings; i++) {
		const struct task_mapping *m = &task->mappings[i];

		if (m->process != only->process)
			break;
		if (m->epoch >= AF_EPOCH_RECORDER && address >= m->start && address < m->end &&
		    (m->module != only->module || m->bias != only->bias))
			return false;
	}
	return true;
}

/*
 * The recorder may have seen a mapping that a process that samples itself did not know. It counts
 * epochs in its own way, so its mapping is believed only where nothing else ever lay.
 */
static void task_address_seen(struct af_sym_task *task, struct task_address *addresses, size_t nr,
                              uint32_t first)
{
	struct af_ranges seen = {0};

	task_ranges(task, &seen, addresses->process, first, AF_EPOCH_RECORDER, UINT32_MAX);
	for (size_t i = 0; i < nr; i++) {
		uint32_t k = addresses[i].module == UINT32_MAX
		                 ? af_ranges_find(&seen, addresses[i].address)
		                 : AF_RANGES_NONE;

		if (k == AF_RANGES_NONE || !task_is_only(task, first, k, addresses[i].address))
			continue;
		addresses[i].module = task->mappings[k].module;
		addresses[i].vaddr = addresses[i].address - task->mappings[k].bias;
	}
	af_ranges_free(&seen);
}

/* Which module each of @addresses[0..nr), all of one process and epoch, lies in. */
static void task_address_group(struct af_sym_task *task, struct task_address *addresses, size_t nr,
                               uint32_t first_mapping)
{
	struct af_ranges ranges = {0};
	size_t unknown = 0;

	task_ranges(task, &ranges, addresses->process, first_mapping, 0, addresses->epoch);
	for (size_t i = 0; i < nr; i++) {
		uint32_t k = af_ranges_find(&ranges, addresses[i].address);

		addresses[i].module = k == AF_RANGES_NONE ? UINT32_MAX : task->mappings[k].module;
		addresses[i].vaddr =
		    addresses[i].address - (k == AF_RANGES_NONE ? 0 : task->mappings[k].bias);
		unknown += k == AF_RANGES_NONE;
	}
	af_ranges_free(&ranges);
	if (unknown)
		task_address_seen(task, addresses, nr, first_mapping);
	for (size_t i = 0; i < nr; i++)
		if (addresses[i].module == UINT32_MAX)
			addresses[i].module = task_module_elsewhere(task, addresses->process);
}

/* By address, then when it was first seen. */
static int task_wanted_order(const void *a, const void *b)
{
	const struct task_wanted *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Give each module the addresses to look up, sorted, each once. */
static void task_collect(struct af_sym_task *task)
{
	for (size_t i = 0; i < task->nr_addresses; i++) {
		const struct task_address *p = &task->addresses[i];
		struct task_module *m = &task->modules[p->module];

		AF_GROW(m->wanted, m->nr, m->cap);
		m->wanted[m->nr++] = (struct task_wanted){p->vaddr, p->time_ns};
	}
	for (uint32_t i = 0; i < task->nr_modules; i++) {
		struct task_module *m = &task->modules[i];
		uint32_t nr = 0;

		AF_SORT(m->wanted, m->nr, task_wanted_order);
		for (uint32_t k = 0; k < m->nr; k++)
			if (!nr || m->wanted[nr - 1].vaddr != m->wanted[k].vaddr)
				m->wanted[nr++] = m->wanted[k];
		m->nr = nr;
		m->answers = af_xcalloc(nr, sizeof *m->answers);
		task->nr_to_resolve += nr;
	}
}

void af_sym_task_place(struct af_sym_task *task)
{
	uint32_t mapping = 0;

	AF_SORT(task->mappings, task->nr_mappings, task_mapping_order);
	AF_SORT(task->addresses, task->nr_addresses, task_group_order);
	for (size_t i = 0, j; i < task->nr_addresses; i = j) {
		const struct task_address *p = &task->addresses[i];

		for (j = i; j < task->nr_addresses && task->addresses[j].process == p->process &&
		            task->addresses[j].epoch == p->epoch;)
			j++;
		while (mapping < task->nr_mappings && task->mappings[mapping].process < p->process)
			mapping++;
		task_address_group(task, &task->addresses[i], j - i, mapping);
	}
	AF_SORT(task->addresses, task->nr_addresses, task_address_order);
	task_collect(task);
}
