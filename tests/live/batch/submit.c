/*
 * submit VERSION early|late|long FILE…: the kernels that a BPF program finds in batches, beside
 * those that the library finds. Stand-in for a program with a driver: it has the batches in memory
 * of its own, at other addresses than the GPU's, and calls memory_is() and submit(), where uprobes
 * are (probes.bpf.c). Late: a batch is written after it was submitted. Long: the library reads more
 * commands than the BPF program does. A FILE is an AUB file, or the DWORDs of one batch at the
 * address RAW.
 *
 * Lines "library ADDRESS KIND AT" for the kernels that the library finds, "kernel …" for those that
 * the BPF program finds and "late …" for those that another try finds; "library stop REASON
 * COMMANDS" and "kernel stop …"; "lost …" for all that should not be. Status 3, and a reason on
 * standard error: BPF programs cannot be loaded here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "aub.h"
#include "base/arena.h"
#include "base/system/clock.h"
#include "base/system/proc.h"
#include "batch/batch.h"
#include "collect/batches/batches.h"
#include "probes.skel.h"

enum { PAGE = 4096, PAGES = 4096, FOREVER = 600, RAW = 0x10000, RAW_MAX = 1 << 20 };

void memory_is(uint64_t gpu, const void *cpu, uint64_t bytes);
void memory_is_gone(uint64_t gpu, uint64_t bytes);
void submit(uint32_t context, uint32_t version, uint64_t address);

__attribute__((noinline)) void memory_is(uint64_t gpu, const void *cpu, uint64_t bytes)
{
	asm volatile("" : : "r"(gpu), "r"(cpu), "r"(bytes));
}

__attribute__((noinline)) void memory_is_gone(uint64_t gpu, uint64_t bytes)
{
	asm volatile("" : : "r"(gpu), "r"(bytes));
}

__attribute__((noinline)) void submit(uint32_t context, uint32_t version, uint64_t address)
{
	asm volatile("" : : "r"(context), "r"(version), "r"(address));
}

/* ---- the library ---- */

/* Where the GPU's memory comes from. */
static struct af_batch_reader source;

/* Pages of it that a walk reads, in order. */
static uint64_t pages[PAGES];
static uint32_t nr_pages;

static void page_add(uint64_t page)
{
	uint32_t i = nr_pages;

	while (i && pages[i - 1] > page)
		i--;
	if (i && pages[i - 1] == page)
		return;
	if (nr_pages == PAGES)
		exit(2);
	memmove(pages + i + 1, pages + i, (nr_pages++ - i) * sizeof *pages);
	pages[i] = page;
}

static int read_and_remember(void *arg, uint64_t address, void *to, uint32_t bytes)
{
	(void)arg;
	int rc = source.read(source.arg, address, to, bytes);
	if (!rc) {
		page_add(address / PAGE);
		page_add((address + bytes - 1) / PAGE);
	}
	return rc;
}

static uint8_t raw[RAW_MAX];
static size_t raw_bytes;

static int raw_read(void *arg, uint64_t address, void *to, uint32_t bytes)
{
	(void)arg;
	if (address < RAW || address - RAW > raw_bytes || bytes > raw_bytes - (address - RAW))
		return -1;
	memcpy(to, raw + (address - RAW), bytes);
	return 0;
}

/* The file, and zeros to the end of a page. */
static void raw_load(const char *path)
{
	FILE *f = fopen(path, "rb");

	memset(raw, 0, sizeof raw);
	if (!f)
		exit(2);
	raw_bytes = fread(raw, 1, sizeof raw - PAGE, f);
	raw_bytes = (raw_bytes + PAGE - 1) / PAGE * PAGE;
	fclose(f);
}

static void print_kernel(const char *who, const struct af_batch_kernel *k)
{
	printf("%s %#" PRIx64 " %s %#" PRIx64 "%s\n", who, (uint64_t)k->address,
	       af_batch_kind_name(k->kind), (uint64_t)k->at,
	       k->flags & AF_BATCH_OFFSET ? " offset" : "");
}

static void library_take(void *arg, const struct af_batch_kernel *k)
{
	print_kernel(arg, k);
}

/* ---- the BPF program ---- */

static struct af_batches batches;
static const char *taken_by = "kernel";

static void batches_take(void *arg, const struct af_bpf_batch *of, const struct af_batch_kernel *k)
{
	(void)arg;
	if (of->head.pid != (uint32_t)getpid())
		printf("lost: a batch of process %u\n", of->head.pid);
	print_kernel(taken_by, k);
}

static int record_take(void *arg, void *data, size_t size)
{
	const struct af_bpf_batch *record = data;

	(void)arg;
	if (record->head.kind != AF_BPF_BATCH) {
		printf("lost: a record of kind %u\n", record->head.kind);
		return 0;
	}
	af_batches_add(&batches, record, size, af_clock_ns(CLOCK_MONOTONIC));
	if (record->stop)
		printf("kernel stop %s %u\n", af_batch_stop_name(record->stop),
		       record->nr_commands);
	return 0;
}

static void attach(const struct bpf_program *program, const void *function)
{
	uint64_t here = (uintptr_t)function, offset = 0;
	FILE *f = af_proc_open_maps((unsigned)getpid());
	struct af_proc_mapping m;
	char *line = NULL;
	size_t cap = 0;

	while (af_proc_mapping_next(f, &line, &cap, &m))
		if (here >= m.start && here < m.end)
			offset = here - m.start + m.offset;
	free(line);
	fclose(f);
	if (!bpf_program__attach_uprobe(program, false, getpid(), "/proc/self/exe", offset)) {
		fprintf(stderr, "uprobes: %s\n", strerror(errno));
		exit(3);
	}
}

static int words(enum libbpf_print_level level, const char *format, va_list ap)
{
	(void)level;
	return getenv("AFLAME_BPF_DEBUG") ? vfprintf(stderr, format, ap) : 0;
}

static struct probes_bpf *probes_load(void)
{
	struct probes_bpf *p = (libbpf_set_print(words), probes_bpf__open());

	if (!p)
		exit(3);
	p->rodata->all_processes = true;
	bpf_map__set_max_entries(p->maps.slots, 1);
	if (probes_bpf__load(p)) {
		fprintf(stderr, "BPF programs: %s\n", strerror(errno));
		exit(3);
	}
	attach(p->progs.memory_added, (const void *)memory_is);
	attach(p->progs.memory_removed, (const void *)memory_is_gone);
	attach(p->progs.submitted, (const void *)submit);
	batches.memory_fd = bpf_map__fd(p->maps.batch_memory);
	batches.bases_fd = bpf_map__fd(p->maps.batch_bases);
	batches.take = batches_take;
	return p;
}

/* ---- submissions ---- */

/* Pages in a row, which lie in one piece here, too. */
struct buffer {
	uint64_t gpu, bytes;
	uint8_t *cpu;
};

static struct buffer buffers[PAGES];
static uint32_t nr_buffers;

static void buffers_make(void)
{
	nr_buffers = 0;
	for (uint32_t i = 0, n; i < nr_pages; i += n) {
		for (n = 1; i + n < nr_pages && pages[i + n] == pages[i] + n;)
			n++;
		struct buffer *b = &buffers[nr_buffers++];
		*b = (struct buffer){pages[i] * PAGE, (uint64_t)n * PAGE, NULL};
		b->cpu = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE,
		              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (b->cpu == MAP_FAILED)
			exit(2);
		memory_is(b->gpu, b->cpu, b->bytes);
	}
}

static void buffers_write(void)
{
	for (uint32_t i = 0; i < nr_buffers; i++)
		for (uint64_t at = 0; at < buffers[i].bytes; at += PAGE)
			source.read(source.arg, buffers[i].gpu + at, buffers[i].cpu + at, PAGE);
}

static void buffers_free(void)
{
	for (uint32_t i = 0; i < nr_buffers; i++) {
		memory_is_gone(buffers[i].gpu, buffers[i].bytes);
		munmap(buffers[i].cpu, buffers[i].bytes);
	}
}

static void wait_for_late(void)
{
	taken_by = "late";
	for (int i = 0; batches.nr_waiting && i < FOREVER; i++) {
		usleep(10000);
		af_batches_poll(&batches, af_clock_ns(CLOCK_MONOTONIC));
	}
	taken_by = "kernel";
}

enum how { EARLY, LATE, LONG };

static struct af_batch_bases bases[64]; /* by context */

static void batch_give(uint32_t context, uint32_t version, uint64_t address, enum how how,
                       struct ring_buffer *ring)
{
	struct af_batch_reader reader = {read_and_remember, NULL};
	const struct af_batch_taker taker = {library_take, "library"};
	struct af_batch_walk walk = {.bases = bases[context % 64],
	                             .most = how == LONG ? 0 : AF_BPF_BATCH_COMMANDS};

	nr_pages = 0;
	uint32_t stop = af_batch_walk(&walk, version, address, &reader, &taker);
	printf("library stop %s %u\n", af_batch_stop_name(stop), walk.nr_commands);
	bases[context % 64] = walk.bases;
	buffers_make();
	if (how != LATE)
		buffers_write();
	submit(context, version, address);
	ring_buffer__consume(ring);
	if (how == LATE)
		buffers_write();
	if (how != EARLY)
		wait_for_late();
	batches.nr_waiting = 0;
	buffers_free();
}

static void aub_give(const char *path, uint32_t version, enum how how, struct ring_buffer *ring)
{
	struct aub *aub = aub_open(path);

	source = (struct af_batch_reader){aub_read, aub};
	while (aub_next(aub))
		for (uint32_t i = 0; i < aub->nr_batches; i++)
			batch_give((uint32_t)(aub->context / PAGE), version, aub->batches[i], how,
			           ring);
	aub_close(aub);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	uint32_t version = (uint32_t)atoi(argv[1]);
	enum how how = !strcmp(argv[2], "late") ? LATE : !strcmp(argv[2], "long") ? LONG : EARLY;
	struct probes_bpf *p = probes_load();
	struct ring_buffer *ring =
	    ring_buffer__new(bpf_map__fd(p->maps.ring), record_take, NULL, NULL);

	for (int i = 3; i < argc; i++) {
		size_t length = strlen(argv[i]);
		if (length > 4 && !strcmp(argv[i] + length - 4, ".aub")) {
			aub_give(argv[i], version, how, ring);
			continue;
		}
		raw_load(argv[i]);
		source = (struct af_batch_reader){raw_read, NULL};
		batch_give(64 + (uint32_t)i, version, RAW, how, ring);
		memset(bases, 0, sizeof bases);
	}
	printf("tried again %" PRIu64 "\n", batches.nr_late);
	if (batches.nr_given_up || p->bss->batch_lost || p->bss->batch_lost_memory)
		printf("lost: %" PRIu64 " batches\n", batches.nr_given_up);
	return 0;
}
