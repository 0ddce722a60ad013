#include "mock_ze.h"

#include <elf.h>
#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mock_metrics.h"
#include "mock_objects.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the timeline and of events */
static FILE *log_file;
static uint64_t timer_first, timer_begin_ns;
static uint32_t stamp_bits = 32, nr_devices = 2;
static struct mock_device devices[MOCK_DEVICES];
static int driver;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t timer(void)
{
	return timer_first + (now_ns() - timer_begin_ns) / MOCK_ZE_TICK_NS;
}

static uint64_t number(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : usual;
}

static ze_result_t ZE_APICALL init(ze_init_flags_t flags)
{
	const char *path = getenv("MOCK_ZE_LOG");
	(void)flags;

	if (timer_begin_ns)
		return ZE_RESULT_SUCCESS;
	if (getenv("MOCK_ZE_NO_METRICS") && getenv("ZET_ENABLE_METRICS"))
		return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
	timer_begin_ns = now_ns();
	timer_first = number("MOCK_ZE_FIRST", 0);
	stamp_bits = (uint32_t)number("MOCK_ZE_BITS", 32);
	nr_devices = (uint32_t)number("MOCK_ZE_DEVICES", 2);
	if (path)
		log_file = fopen(path, "a");
	for (uint32_t i = 0; i < nr_devices; i++)
		devices[i].number = i;
	return ZE_RESULT_SUCCESS;
}

/* --- drivers and devices */

static ze_result_t ZE_APICALL driver_get(uint32_t *nr, ze_driver_handle_t *drivers)
{
	if (*nr && drivers)
		drivers[0] = (void *)&driver;
	*nr = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL driver_api(ze_driver_handle_t d, ze_api_version_t *version)
{
	(void)d;
	*version = ZE_MAKE_VERSION(1, 3);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL driver_properties(ze_driver_handle_t d, ze_driver_properties_t *p)
{
	(void)d;
	p->driverVersion = 7;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL kernel_base(ze_kernel_handle_t k, uint64_t *address)
{
	*address = ((struct mock_kernel *)k)->address;
	return ZE_RESULT_SUCCESS;
}

/* It is in no table of the mock's: only who asks for its address has it. */
static ze_result_t ZE_APICALL kernel_offset(ze_kernel_handle_t k, uint32_t x, uint32_t y,
                                            uint32_t z)
{
	(void)k;
	return x + y + z == 6 ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static ze_result_t ZE_APICALL kernel_newer(ze_kernel_handle_t k)
{
	(void)k;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL driver_extension(ze_driver_handle_t d, const char *name, void **f)
{
	static const struct {
		const char *name;
		void *function;
	} extensions[] = {
	    {"zexKernelGetBaseAddress", (void *)kernel_base},
	    {"zeKernelSetGlobalOffsetExp", (void *)kernel_offset},
	    {"zexKernelNewerThanAll", (void *)kernel_newer},
	};

	(void)d;
	for (unsigned i = 0; i < sizeof extensions / sizeof *extensions; i++) {
		if (strcmp(name, extensions[i].name))
			continue;
		*f = extensions[i].function;
		return ZE_RESULT_SUCCESS;
	}
	return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static ze_result_t ZE_APICALL device_get(ze_driver_handle_t d, uint32_t *nr, ze_device_handle_t *to)
{
	(void)d;
	for (uint32_t i = 0; to && i < *nr && i < nr_devices; i++)
		to[i] = (void *)&devices[i];
	*nr = nr_devices;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL device_parts(ze_device_handle_t d, uint32_t *nr,
                                           ze_device_handle_t *to)
{
	(void)d;
	(void)to;
	*nr = 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL device_properties(ze_device_handle_t h, ze_device_properties_t *p)
{
	const struct mock_device *d = (void *)h;
	bool exact = p->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;

	p->type = ZE_DEVICE_TYPE_GPU;
	p->vendorId = 0x8086;
	p->deviceId = 0x1234;
	p->numSlices = 1;
	p->numSubslicesPerSlice = 2;
	p->numEUsPerSubslice = 8;
	p->timerResolution = exact ? MOCK_ZE_HZ : MOCK_ZE_TICK_NS;
	p->timestampValidBits = 36;
	p->kernelTimestampValidBits = stamp_bits;
	memset(p->uuid.id, 0x10 + (int)d->number, sizeof p->uuid.id);
	snprintf(p->name, sizeof p->name, "mock GPU %u", d->number);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL device_pci(ze_device_handle_t h, ze_pci_ext_properties_t *p)
{
	p->address = (ze_pci_address_ext_t){.bus = 3 + ((struct mock_device *)h)->number};
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL device_clock(ze_device_handle_t d, uint64_t *host, uint64_t *ticks)
{
	(void)d;
	if (getenv("MOCK_ZE_NO_CLOCK"))
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	*host = now_ns();
	*ticks = timer() & (((uint64_t)1 << 36) - 1);
	return ZE_RESULT_SUCCESS;
}

/* --- contexts, memory, modules */

static ze_result_t ZE_APICALL context_create(ze_driver_handle_t d, const ze_context_desc_t *desc,
                                             ze_context_handle_t *c)
{
	(void)d;
	(void)desc;
	*c = calloc(1, 16);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL context_destroy(ze_context_handle_t c)
{
	free(c);
	return ZE_RESULT_SUCCESS;
}

static struct mock_memory *memories;

static void *memory_new(size_t size, ze_memory_type_t type, void *device)
{
	struct mock_memory *m = calloc(1, sizeof *m);

	*m = (struct mock_memory){calloc(1, size), size, type, device, NULL};
	pthread_mutex_lock(&lock);
	m->next = memories;
	memories = m;
	pthread_mutex_unlock(&lock);
	return m->at;
}

static ze_result_t ZE_APICALL memory_device(ze_context_handle_t c,
                                            const ze_device_mem_alloc_desc_t *desc, size_t size,
                                            size_t align, ze_device_handle_t d, void **p)
{
	(void)c, (void)desc, (void)align;
	*p = memory_new(size, ZE_MEMORY_TYPE_DEVICE, d);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL memory_host(ze_context_handle_t c,
                                          const ze_host_mem_alloc_desc_t *desc, size_t size,
                                          size_t align, void **p)
{
	(void)c, (void)desc, (void)align;
	*p = memory_new(size, ZE_MEMORY_TYPE_HOST, NULL);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL memory_free(ze_context_handle_t c, void *p)
{
	(void)c;
	pthread_mutex_lock(&lock);
	for (struct mock_memory **m = &memories; *m; m = &(*m)->next) {
		if ((*m)->at != p)
			continue;
		struct mock_memory *gone = *m;
		*m = gone->next;
		free(gone);
		break;
	}
	pthread_mutex_unlock(&lock);
	free(p);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL memory_properties(ze_context_handle_t c, const void *p,
                                                ze_memory_allocation_properties_t *is,
                                                ze_device_handle_t *d)
{
	(void)c;
	is->type = ZE_MEMORY_TYPE_UNKNOWN;
	pthread_mutex_lock(&lock);
	for (struct mock_memory *m = memories; m; m = m->next) {
		if ((char *)p < m->at || (char *)p >= m->at + m->size)
			continue;
		is->type = m->type;
		*d = m->device;
	}
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

/* A zebin: for each kernel a section of code, and a symbol; the code is 64 bytes a letter. */
static void module_build(struct mock_module *m)
{
	size_t names = 1, strings = 1, code = 0, at = sizeof(Elf64_Ehdr);
	static const char fixed[] = "\0.symtab\0.strtab";

	for (uint32_t i = 0; i < m->nr; i++) {
		code += 64 * strlen(m->names[i]);
		names += strlen(m->names[i]) + 7;
		strings += strlen(m->names[i]) + 1;
	}
	names += sizeof fixed + strings;
	uint32_t nr = m->nr + 3;
	m->size = at + code + names + (m->nr + 1) * sizeof(Elf64_Sym) + nr * sizeof(Elf64_Shdr);
	m->bytes = calloc(1, m->size + 64);
	Elf64_Shdr *sections = calloc(nr, sizeof *sections);
	Elf64_Sym *symbols = calloc(m->nr + 1, sizeof *symbols);
	char *text = (char *)m->bytes + at + code, *end = text + sizeof fixed - 1;
	memcpy(text, fixed, sizeof fixed);
	for (uint32_t i = 0; i < m->nr; i++) {
		size_t len = strlen(m->names[i]);
		end++;
		sections[i + 1] = (Elf64_Shdr){.sh_name = (uint32_t)(end - text),
		                               .sh_type = SHT_PROGBITS,
		                               .sh_offset = at,
		                               .sh_size = 64 * len};
		symbols[i + 1] = (Elf64_Sym){.st_name = (uint32_t)(end - text) + 6,
		                             .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
		                             .st_shndx = (uint16_t)(i + 1),
		                             .st_size = 64 * len};
		end += sprintf(end, ".text.%s", m->names[i]);
		at += 64 * len;
	}
	size_t symbols_at = (size_t)(end + 1 - (char *)m->bytes);
	memcpy(m->bytes + symbols_at, symbols, (m->nr + 1) * sizeof *symbols);
	sections[nr - 2] = (Elf64_Shdr){.sh_name = 1,
	                                .sh_type = SHT_SYMTAB,
	                                .sh_offset = symbols_at,
	                                .sh_size = (m->nr + 1) * sizeof *symbols,
	                                .sh_link = nr - 1,
	                                .sh_entsize = sizeof *symbols};
	sections[nr - 1] = (Elf64_Shdr){.sh_name = 9,
	                                .sh_type = SHT_STRTAB,
	                                .sh_offset = (size_t)(text - (char *)m->bytes),
	                                .sh_size = (size_t)(end + 1 - text)};
	size_t headers_at = symbols_at + (m->nr + 1) * sizeof *symbols;
	memcpy(m->bytes + headers_at, sections, nr * sizeof *sections);
	m->size = headers_at + nr * sizeof *sections;
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	                   .e_type = ET_REL,
	                   .e_machine = 205,
	                   .e_version = EV_CURRENT,
	                   .e_shoff = headers_at,
	                   .e_ehsize = sizeof head,
	                   .e_shentsize = sizeof(Elf64_Shdr),
	                   .e_shnum = (uint16_t)nr,
	                   .e_shstrndx = (uint16_t)(nr - 1)};
	memcpy(m->bytes, &head, sizeof head);
	free(sections);
	free(symbols);
}

static ze_result_t ZE_APICALL module_create(ze_context_handle_t c, ze_device_handle_t d,
                                            const ze_module_desc_t *desc, ze_module_handle_t *to,
                                            ze_module_build_log_handle_t *build_log)
{
	struct mock_module *m = calloc(1, sizeof *m);
	char *text = strndup((const char *)desc->pInputModule, desc->inputSize), *rest = text;
	(void)c, (void)d, (void)build_log;

	for (char *name; m->nr < MOCK_KERNELS && (name = strtok_r(rest, " \n", &rest));)
		m->names[m->nr++] = strdup(name);
	free(text);
	module_build(m);
	*to = (void *)m;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL module_destroy(ze_module_handle_t h)
{
	struct mock_module *m = (void *)h;

	for (uint32_t i = 0; i < m->nr; i++)
		free(m->names[i]);
	free(m->bytes);
	free(m);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL module_binary(ze_module_handle_t h, size_t *size, uint8_t *to)
{
	const struct mock_module *m = (void *)h;

	if (to)
		memcpy(to, m->bytes, *size < m->size ? *size : m->size);
	*size = m->size;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL kernel_create(ze_module_handle_t h, const ze_kernel_desc_t *desc,
                                            ze_kernel_handle_t *to)
{
	const struct mock_module *m = (void *)h;

	for (uint32_t i = 0; i < m->nr; i++) {
		if (strcmp(m->names[i], desc->pKernelName))
			continue;
		struct mock_kernel *k = calloc(1, sizeof *k);
		k->name = strdup(m->names[i]);
		k->address = 0x800000000000 + i * 0x10000;
		*to = (void *)k;
		return ZE_RESULT_SUCCESS;
	}
	return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
}

static ze_result_t ZE_APICALL kernel_destroy(ze_kernel_handle_t h)
{
	free(((struct mock_kernel *)h)->name);
	free(h);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL kernel_size(ze_kernel_handle_t h, uint32_t x, uint32_t y, uint32_t z)
{
	(void)h, (void)x, (void)y, (void)z;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL kernel_argument(ze_kernel_handle_t h, uint32_t i, size_t size,
                                              const void *value)
{
	if (!i && size == sizeof(uint64_t))
		memcpy(&((struct mock_kernel *)h)->duration_ns, value, size);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL kernel_name(ze_kernel_handle_t h, size_t *size, char *to)
{
	const struct mock_kernel *k = (void *)h;

	if (to)
		snprintf(to, *size, "%s", k->name);
	*size = strlen(k->name) + 1;
	return ZE_RESULT_SUCCESS;
}

/* --- events and fences */

static ze_result_t ZE_APICALL pool_create(ze_context_handle_t c, const ze_event_pool_desc_t *desc,
                                          uint32_t nr, ze_device_handle_t *d,
                                          ze_event_pool_handle_t *to)
{
	struct mock_pool *p = calloc(1, sizeof *p);
	(void)c, (void)nr, (void)d;

	p->flags = desc->flags;
	*to = (void *)p;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL pool_destroy(ze_event_pool_handle_t h)
{
	free(h);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL event_create(ze_event_pool_handle_t h, const ze_event_desc_t *desc,
                                           ze_event_handle_t *to)
{
	struct mock_event *e = calloc(1, sizeof *e);
	(void)desc;

	e->stamped = ((struct mock_pool *)h)->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
	*to = (void *)e;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL event_destroy(ze_event_handle_t h)
{
	free(h);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL event_reset(ze_event_handle_t h)
{
	struct mock_event *e = (void *)h;

	pthread_mutex_lock(&lock);
	*e = (struct mock_event){.stamped = e->stamped};
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL event_signal(ze_event_handle_t h)
{
	struct mock_event *e = (void *)h;

	pthread_mutex_lock(&lock);
	e->signalled = true;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL event_status(ze_event_handle_t h)
{
	const struct mock_event *e = (void *)h;

	/* Work that takes no time is done at once, without a clock: tests/bench/ze. */
	pthread_mutex_lock(&lock);
	bool done = e->signalled && (e->instant || timer() >= e->end);
	pthread_mutex_unlock(&lock);
	return done ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static ze_result_t ZE_APICALL event_wait(ze_event_handle_t h, uint64_t ns)
{
	for (uint64_t end = ns < 1ull << 60 ? now_ns() + ns : UINT64_MAX; event_status(h);) {
		if (now_ns() >= end)
			return ZE_RESULT_NOT_READY;
		usleep(10);
	}
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL event_stamps(ze_event_handle_t h, ze_kernel_timestamp_result_t *t)
{
	const struct mock_event *e = (void *)h;
	uint64_t mask = ((uint64_t)1 << stamp_bits) - 1;

	if (!e->stamped)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	if (event_status(h))
		return ZE_RESULT_NOT_READY;
	t->global.kernelStart = t->context.kernelStart = e->start & mask;
	t->global.kernelEnd = t->context.kernelEnd = e->end & mask;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL fence_create(ze_command_queue_handle_t q, const ze_fence_desc_t *desc,
                                           ze_fence_handle_t *to)
{
	(void)q, (void)desc;
	*to = calloc(1, sizeof(struct mock_event));
	return ZE_RESULT_SUCCESS;
}

/* --- queues and lists */

static ze_result_t ZE_APICALL queue_create(ze_context_handle_t c, ze_device_handle_t d,
                                           const ze_command_queue_desc_t *desc,
                                           ze_command_queue_handle_t *to)
{
	(void)c, (void)d, (void)desc;
	*to = calloc(1, sizeof(struct mock_queue));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL queue_destroy(ze_command_queue_handle_t h)
{
	free(h);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL list_create(ze_context_handle_t c, ze_device_handle_t d,
                                          const ze_command_list_desc_t *desc,
                                          ze_command_list_handle_t *to)
{
	(void)c, (void)d, (void)desc;
	*to = calloc(1, sizeof(struct mock_list));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL list_immediate(ze_context_handle_t c, ze_device_handle_t d,
                                             const ze_command_queue_desc_t *desc,
                                             ze_command_list_handle_t *to)
{
	struct mock_list *l = calloc(1, sizeof *l);
	(void)c, (void)d;

	l->immediate = true;
	l->waits = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
	*to = (void *)l;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL list_reset(ze_command_list_handle_t h)
{
	((struct mock_list *)h)->nr = 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL list_close(ze_command_list_handle_t h)
{
	(void)h;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL list_destroy(ze_command_list_handle_t h)
{
	free(((struct mock_list *)h)->commands);
	free(h);
	return ZE_RESULT_SUCCESS;
}

/* A query is what the queue did from its begin to its end. */
static void query_run(const struct mock_queue *q, const struct mock_command *c)
{
	struct mock_query *query = c->query;

	if (c->begins) {
		*query = (struct mock_query){
		    .has_begun = true, .ns = q->ns, .nr_commands = q->nr_commands};
		return;
	}
	query->ns = q->ns - query->ns;
	query->nr_commands = q->nr_commands - query->nr_commands;
	query->has_ended = true;
}

/* One command after the other on a queue; under the lock. */
static void command_run(struct mock_queue *q, const struct mock_command *c)
{
	struct mock_event *e = c->event;
	uint64_t now = timer(), start = now > q->busy_until ? now : q->busy_until;
	bool never = !strcmp(c->name, "never") || (c->query && q->is_stuck);
	uint64_t end = start + c->ns / MOCK_ZE_TICK_NS;

	if (c->reset) {
		*e = (struct mock_event){.stamped = e->stamped};
		return;
	}
	if (c->query)
		query_run(q, c);
	else if (*c->name)
		q->nr_commands++;
	q->ns += c->ns / MOCK_ZE_TICK_NS * MOCK_ZE_TICK_NS;
	if (c->to && c->from)
		memmove(c->to, c->from, c->bytes);
	else if (c->to)
		memset(c->to, c->value, c->bytes);
	if (!never)
		q->busy_until = end;
	q->is_stuck |= never;
	if (e && !never)
		*e = (struct mock_event){e->stamped, true, c->instant, start, end};
	if (log_file && *c->name)
		fprintf(log_file, "%s %llu %llu\n", c->name, (unsigned long long)start,
		        (unsigned long long)end);
	if (log_file)
		fflush(log_file);
}

static ze_result_t command_add(ze_command_list_handle_t h, const struct mock_command *c)
{
	struct mock_list *l = (void *)h;

	if (l->immediate) {
		pthread_mutex_lock(&lock);
		command_run(&l->queue, c);
		uint64_t end = l->queue.busy_until;
		pthread_mutex_unlock(&lock);
		while (l->waits && timer() < end)
			usleep(1);
		return ZE_RESULT_SUCCESS;
	}
	if (l->nr == l->cap)
		l->commands =
		    realloc(l->commands, (l->cap = l->cap ? l->cap * 2 : 64) * sizeof *l->commands);
	l->commands[l->nr++] = *c;
	return ZE_RESULT_SUCCESS;
}

ze_result_t mock_query_append(void *list, void *query, bool begins, void *event)
{
	const struct mock_command c = {.event = event, .query = query, .begins = begins};

	return command_add(list, &c);
}

static ze_result_t ZE_APICALL append_kernel(ze_command_list_handle_t h, ze_kernel_handle_t k,
                                            const ze_group_count_t *groups, ze_event_handle_t e,
                                            uint32_t nr, ze_event_handle_t *wait)
{
	const struct mock_kernel *kernel = (void *)k;
	(void)groups, (void)nr, (void)wait;

	if (!strcmp(kernel->name, "refused"))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	struct mock_command c = {
	    .event = (void *)e, .ns = kernel->duration_ns, .instant = !kernel->duration_ns};
	snprintf(c.name, sizeof c.name, "%s", kernel->name);
	return command_add(h, &c);
}

static ze_result_t ZE_APICALL append_many(ze_command_list_handle_t h, uint32_t nr,
                                          ze_kernel_handle_t *kernels, const uint32_t *count,
                                          const ze_group_count_t *groups, ze_event_handle_t e,
                                          uint32_t nr_wait, ze_event_handle_t *wait)
{
	(void)count, (void)nr;
	return append_kernel(h, kernels[0], groups, e, nr_wait, wait);
}

static ze_result_t ZE_APICALL append_copy(ze_command_list_handle_t h, void *to, const void *from,
                                          size_t size, ze_event_handle_t e, uint32_t nr,
                                          ze_event_handle_t *wait)
{
	const struct mock_command c = {.event = (void *)e,
	                               .ns = size * MOCK_ZE_TICK_NS,
	                               .name = "[copy]",
	                               .to = to,
	                               .from = from,
	                               .bytes = size};
	(void)nr, (void)wait;

	return command_add(h, &c);
}

static ze_result_t ZE_APICALL append_fill(ze_command_list_handle_t h, void *to, const void *pattern,
                                          size_t pattern_size, size_t size, ze_event_handle_t e,
                                          uint32_t nr, ze_event_handle_t *wait)
{
	const struct mock_command c = {.event = (void *)e,
	                               .ns = size * MOCK_ZE_TICK_NS,
	                               .name = "[fill]",
	                               .to = to,
	                               .value = *(const char *)pattern,
	                               .bytes = size};
	(void)nr, (void)wait, (void)pattern_size;

	return command_add(h, &c);
}

static ze_result_t ZE_APICALL append_barrier(ze_command_list_handle_t h, ze_event_handle_t e,
                                             uint32_t nr, ze_event_handle_t *wait)
{
	struct mock_command c = {.event = (void *)e};
	(void)nr, (void)wait;

	if (e)
		snprintf(c.name, sizeof c.name, "%s", "BARRIER");
	return command_add(h, &c);
}

static ze_result_t ZE_APICALL append_signal(ze_command_list_handle_t h, ze_event_handle_t e)
{
	const struct mock_command c = {.event = (void *)e};

	return command_add(h, &c);
}

static ze_result_t ZE_APICALL append_waits(ze_command_list_handle_t h, uint32_t nr,
                                           ze_event_handle_t *wait)
{
	return append_barrier(h, NULL, nr, wait);
}

static ze_result_t ZE_APICALL append_reset(ze_command_list_handle_t h, ze_event_handle_t e)
{
	const struct mock_command c = {.event = (void *)e, .reset = true};

	return command_add(h, &c);
}

static ze_result_t ZE_APICALL queue_execute(ze_command_queue_handle_t h, uint32_t nr,
                                            ze_command_list_handle_t *lists, ze_fence_handle_t f)
{
	struct mock_queue *q = (void *)h;
	struct mock_event *fence = (void *)f;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < nr; i++) {
		const struct mock_list *l = (void *)lists[i];
		for (uint32_t k = 0; k < l->nr; k++)
			command_run(q, &l->commands[k]);
	}
	if (fence)
		*fence = (struct mock_event){.signalled = true, .end = q->busy_until};
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL queue_wait(ze_command_queue_handle_t h, uint64_t ns)
{
	const struct mock_queue *q = (void *)h;

	for (uint64_t end = ns < 1ull << 60 ? now_ns() + ns : UINT64_MAX;
	     timer() < q->busy_until;) {
		if (now_ns() >= end)
			return ZE_RESULT_NOT_READY;
		usleep(10);
	}
	return ZE_RESULT_SUCCESS;
}

/* --- the tables that the loader gets: functions that are not here stay NULL */

#define EXPORT __attribute__((visibility("default"))) ze_result_t ZE_APICALL
#define TABLE(name, type)                                                                          \
	EXPORT name(ze_api_version_t version, type *t);                                            \
	EXPORT name(ze_api_version_t version, type *t)

TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t)
{
	(void)version;
	t->pfnInit = init;
	return ZE_RESULT_SUCCESS;
}

TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t)
{
	(void)version;
	t->pfnGet = driver_get;
	t->pfnGetApiVersion = driver_api;
	t->pfnGetProperties = driver_properties;
	t->pfnGetExtensionFunctionAddress = driver_extension;
	return ZE_RESULT_SUCCESS;
}

TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t)
{
	(void)version;
	t->pfnGet = device_get;
	t->pfnGetSubDevices = device_parts;
	t->pfnGetProperties = device_properties;
	t->pfnGetGlobalTimestamps = device_clock;
	t->pfnPciGetPropertiesExt = device_pci;
	return ZE_RESULT_SUCCESS;
}

TABLE(zeGetContextProcAddrTable, ze_context_dditable_t)
{
	(void)version;
	t->pfnCreate = context_create;
	t->pfnDestroy = context_destroy;
	return ZE_RESULT_SUCCESS;
}

TABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t)
{
	(void)version;
	t->pfnCreate = queue_create;
	t->pfnDestroy = queue_destroy;
	t->pfnExecuteCommandLists = queue_execute;
	t->pfnSynchronize = queue_wait;
	return ZE_RESULT_SUCCESS;
}

TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t)
{
	(void)version;
	t->pfnCreate = list_create;
	t->pfnCreateImmediate = list_immediate;
	t->pfnDestroy = list_destroy;
	t->pfnClose = list_close;
	t->pfnReset = list_reset;
	t->pfnAppendLaunchKernel = append_kernel;
	t->pfnAppendLaunchCooperativeKernel = append_kernel;
	t->pfnAppendLaunchKernelIndirect = append_kernel;
	t->pfnAppendLaunchMultipleKernelsIndirect = append_many;
	t->pfnAppendMemoryCopy = append_copy;
	t->pfnAppendMemoryFill = append_fill;
	t->pfnAppendBarrier = append_barrier;
	t->pfnAppendSignalEvent = append_signal;
	t->pfnAppendWaitOnEvents = append_waits;
	t->pfnAppendEventReset = append_reset;
	return ZE_RESULT_SUCCESS;
}

TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t)
{
	(void)version;
	t->pfnCreate = pool_create;
	t->pfnDestroy = pool_destroy;
	return ZE_RESULT_SUCCESS;
}

TABLE(zeGetEventProcAddrTable, ze_event_dditable_t)
{
	(void)version;
	t->pfnCreate = event_create;
	t->pfnDestroy = event_destroy;
	t->pfnHostSignal = event_signal;
	t->pfnHostReset = event_reset;
	t->pfnHostSynchronize = event_wait;
	t->pfnQueryStatus = event_status;
	t->pfnQueryKernelTimestamp = event_stamps;
	return ZE_RESULT_SUCCESS;
}

TABLE(zeGetFenceProcAddrTable, ze_fence_dditable_t)
{
	(void)version;
	t->pfnCreate = fence_create;
	t->pfnDestroy = (void *)event_destroy;
	t->pfnHostSynchronize = (void *)event_wait;
	t->pfnQueryStatus = (void *)event_status;
	t->pfnReset = (void *)event_reset;
	return ZE_RESULT_SUCCESS;
}

TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t)
{
	(void)version;
	t->pfnAllocDevice = memory_device;
	t->pfnAllocHost = memory_host;
	t->pfnFree = memory_free;
	t->pfnGetAllocProperties = memory_properties;
	return ZE_RESULT_SUCCESS;
}

TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t)
{
	(void)version;
	t->pfnCreate = module_create;
	t->pfnDestroy = module_destroy;
	t->pfnGetNativeBinary = module_binary;
	return ZE_RESULT_SUCCESS;
}

TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t)
{
	(void)version;
	t->pfnCreate = kernel_create;
	t->pfnDestroy = kernel_destroy;
	t->pfnSetGroupSize = kernel_size;
	t->pfnSetArgumentValue = kernel_argument;
	t->pfnGetName = kernel_name;
	return ZE_RESULT_SUCCESS;
}

#define EMPTY(name, type)                                                                          \
	TABLE(name, type)                                                                          \
	{                                                                                          \
		(void)version, (void)t;                                                            \
		return ZE_RESULT_SUCCESS;                                                          \
	}

EMPTY(zeGetImageProcAddrTable, ze_image_dditable_t)
EMPTY(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t)
EMPTY(zeGetPhysicalMemProcAddrTable, ze_physical_mem_dditable_t)
EMPTY(zeGetSamplerProcAddrTable, ze_sampler_dditable_t)
EMPTY(zeGetVirtualMemProcAddrTable, ze_virtual_mem_dditable_t)
