#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "sym/resolve/task.h"
#include "sym/sym.h"
#include "trace/metadata.h"
#include "trace/read/reader.h"
#include "trace/write/stream.h"
#include "unwind/elf_file.h"

/* A trace of the test's own, in a directory of its own. */
struct bench {
	char dir[64];
	char exe[512];
	uint64_t bias, start, end; /* of this program's code */
	uint8_t build_id[AF_ELF_BUILD_ID_MAX];
	uint32_t build_id_len;
	struct af_stream stream;
};

enum { FIRST_FUNCTION_LINE = __LINE__ + 1 };
static __attribute__((noinline)) int bench_first_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static __attribute__((noinline)) int bench_second_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 2;
}

/* The executable's own code, as a MAPPING event would have it. */
static int bench_find_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct bench *b = arg;

	b->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
			b->start = info->dlpi_addr + p->p_vaddr;
			b->end = b->start + p->p_memsz;
		}
	}
	return 1;
}

static int bench_open(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	struct af_file f;
	struct af_elf e;

	strcpy(b->dir, "/tmp/aflame-test-XXXXXX");
	if (!mkdtemp(b->dir) || readlink("/proc/self/exe", b->exe, sizeof b->exe - 1) < 0)
		return -1;
	dl_iterate_phdr(bench_find_self, b);
	if (af_file_map(&f, b->exe, NULL) || af_elf_parse(&e, f.data, f.size))
		return -1;
	b->build_id_len = af_elf_build_id(&e, b->build_id);
	af_file_unmap(&f);

	int dirfd = open(b->dir, O_RDONLY | O_DIRECTORY);
	if (af_metadata_write(dirfd, 0, 0, NULL, NULL) ||
	    af_stream_open_file(&b->stream, af_create_private(dirfd, "s1-1"), 1, 1))
		return -1;
	close(dirfd);
	*state = b;
	return 0;
}

static int bench_close(void **state)
{
	struct bench *b = *state;
	int rc = af_remove_tree(b->dir);

	free(b);
	return rc;
}

/* Every test uses the files that the tests before it have opened. */
static struct af_sym_shared *shared;

/* The names are the same, to the byte, when they come from files of earlier traces. */
static void symbolizer_again(int fd, const char *dir)
{
	struct af_file first, again;
	struct af_err err = {0};

	if (af_file_map_at(&first, fd, "symbols"))
		return;
	for (int i = 0; i < 2; i++) {
		if (af_symbolize(fd, dir, shared, NULL, NULL, &err))
			fail_msg("%s", err.msg);
		assert_int_equal(af_file_map_at(&again, fd, "symbols"), 0);
		assert_int_equal(first.size, again.size);
		assert_memory_equal(first.data, again.data, first.size);
		af_file_unmap(&again);
	}
	af_file_unmap(&first);
}

static int symbolizer(const char *dir, void (*progress)(void *arg, const struct af_sym_progress *p),
                      void *arg, struct af_err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = af_symbolize(fd, dir, NULL, progress, arg, err);

	if (!rc)
		symbolizer_again(fd, dir);
	close(fd);
	return rc;
}

static void bench_mapping(struct bench *b, uint32_t epoch, uint32_t flags, const char *path,
                          bool with_id)
{
	struct af_ev_mapping ev = {b->start, b->end, b->bias, flags, epoch};
	struct af_tail tail[] = {{b->build_id, with_id ? b->build_id_len : 0, 1},
	                         {path, (uint32_t)strlen(path), 0}};

	assert_true(af_stream_put_tail(&b->stream, AF_KIND_MAPPING, 1000, &ev, sizeof ev, tail, 2));
}

static void bench_stack(struct bench *b, uint32_t epoch, const uint64_t *pcs, uint32_t nr)
{
	struct af_ev_stack ev = {.stack = 1, .epoch = epoch};
	struct af_tail tail = {pcs, nr * 8, 8};

	assert_true(af_stream_put_tail(&b->stream, AF_KIND_STACK, 2000, &ev, sizeof ev, &tail, 1));
}

static void bench_symbolize(struct bench *b)
{
	struct af_err err = {0};

	assert_int_equal(af_stream_close(&b->stream), 0);
	if (symbolizer(b->dir, NULL, NULL, &err))
		fail_msg("%s", err.msg);
}

/* The trace's name of an address: the last SYMBOL of at most @epoch. */
struct reported {
	uint32_t nr; /* SYMBOL events of the address */
	struct af_ev_symbol ev;
	uint64_t time_ns;
	char module[512], functions[8][256], files[8][512];
	uint32_t nr_frames, lines[8];
};

static struct reported bench_read(const struct bench *b, uint64_t address, uint32_t epoch)
{
	struct reported reported = {0};
	struct af_map strings = {0};
	struct af_trace *t;
	struct af_event ev;
	struct af_err err;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (af_trace_open(&t, b->dir, 0, &err))
		fail_msg("%s", err.msg);
	while (af_trace_next(t, &ev)) {
		struct af_ev_string string;
		struct af_ev_symbol symbol;

		if (ev.kind == AF_KIND_STRING) {
			assert_true(af_event_decode(&ev, &string, sizeof string, tails));
			*af_map_at(&strings, string.string, NULL) = (uintptr_t)tails[0].data;
		}
		if (ev.kind != AF_KIND_SYMBOL)
			continue;
		assert_int_equal(ev.process, 0);
		assert_true(af_event_decode(&ev, &symbol, sizeof symbol, tails));
		if (symbol.address != address)
			continue;
		reported.nr++;
		if (symbol.epoch > epoch)
			continue;
		reported.ev = symbol;
		reported.time_ns = ev.time_ns;
		reported.nr_frames = tails[0].len / 3;
		uint64_t *text = af_map_get(&strings, symbol.module);
		snprintf(reported.module, sizeof reported.module, "%s", text ? (char *)*text : "");
		for (uint32_t i = 0; i < reported.nr_frames && i < 8; i++) {
			uint32_t ids[3];
			memcpy(ids, tails[0].data + i * sizeof ids, sizeof ids);
			text = af_map_get(&strings, ids[0]);
			snprintf(reported.functions[i], 256, "%s", text ? (char *)*text : "");
			text = af_map_get(&strings, ids[1]);
			snprintf(reported.files[i], 512, "%s", text ? (char *)*text : "");
			reported.lines[i] = ids[2];
		}
	}
	char damage[256];
	if (af_trace_damage_text(af_trace_damage(t), damage, sizeof damage))
		fail_msg("%s", damage);
	af_map_free(&strings);
	af_trace_close(t);
	return reported;
}

/* The FUNCTION_SOURCEs of the trace: their number, and the last one that begins at @start. */
static uint32_t bench_sources(const struct bench *b, uint64_t start,
                              struct af_ev_function_source *found)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_trace *t;
	struct af_event ev;
	struct af_err err;
	uint32_t nr = 0;

	*found = (struct af_ev_function_source){0};
	if (af_trace_open(&t, b->dir, 1ull << AF_KIND_FUNCTION_SOURCE, &err))
		fail_msg("%s", err.msg);
	while (af_trace_next(t, &ev)) {
		struct af_ev_function_source source;

		if (ev.kind != AF_KIND_FUNCTION_SOURCE)
			continue;
		assert_true(af_event_decode(&ev, &source, sizeof source, tails));
		nr++;
		if (source.start == start)
			*found = source;
	}
	af_trace_close(t);
	return nr;
}

static void a_function_begins_once(void **state)
{
	struct bench *b = *state;
	uint64_t first = (uintptr_t)bench_first_function, second = (uintptr_t)bench_second_function;
	uint64_t pcs[] = {first, second, second + 1};
	struct af_ev_function_source source;

	bench_mapping(b, 0, 0, b->exe, true);
	bench_stack(b, 0, pcs, 3);
	bench_symbolize(b);

	struct reported t = bench_read(b, first, 0);
	assert_int_equal(bench_sources(b, first - b->bias, &source), 2);
	assert_int_equal(source.start, first - b->bias);
	assert_int_equal(source.module, t.ev.module);
	if (t.ev.source == AF_SYMBOL_DWARF)
		assert_int_equal(source.line, FIRST_FUNCTION_LINE);
}

static void every_address_of_a_stack_gets_its_name(void **state)
{
	struct bench *b = *state;
	uint64_t first = (uintptr_t)bench_first_function, second = (uintptr_t)bench_second_function;
	uint64_t pcs[] = {first, second, second + 1, 0x10};

	bench_stack(b, 0, pcs, 3); /* a stack may come before the mapping it lies in */
	bench_mapping(b, 0, 0, b->exe, true);
	bench_stack(b, 0, pcs, 4);
	bench_symbolize(b);

	struct reported t = bench_read(b, first, 0);
	assert_int_equal(t.nr, 1);
	assert_string_equal(t.functions[t.nr_frames - 1], "bench_first_function");
	assert_string_equal(t.module, b->exe);
	assert_int_equal(t.ev.process, 1);
	assert_int_equal(t.ev.offset, first - b->bias);
	assert_true(t.ev.source == AF_SYMBOL_DWARF || t.ev.source == AF_SYMBOL_SYMTAB);
	assert_int_equal(t.time_ns, 2000);
	if (t.ev.source == AF_SYMBOL_DWARF) {
		assert_non_null(strstr(t.files[0], "test_symbolize.c"));
		assert_in_range(t.lines[0], FIRST_FUNCTION_LINE, FIRST_FUNCTION_LINE + 4);
	}
	t = bench_read(b, second + 1, 0);
	assert_int_equal(t.nr, 1);
	assert_string_equal(t.functions[t.nr_frames - 1], "bench_second_function");
	t = bench_read(b, 0x10, 0);
	assert_int_equal(t.nr, 1);
	assert_int_equal(t.ev.source, AF_SYMBOL_NO_MODULE);
	assert_int_equal(t.nr_frames, 0);
	assert_int_equal(t.ev.module, 0);
}

static void an_address_used_again_has_a_name_for_each_epoch(void **state)
{
	struct bench *b = *state;
	uint64_t pc = (uintptr_t)bench_first_function;

	bench_mapping(b, 2, 0, "/no/such/library.so", false);
	bench_mapping(b, 0, 0, b->exe, true);
	bench_mapping(b, 4, 0, b->exe, true);
	for (uint32_t epoch = 0; epoch < 6; epoch++)
		bench_stack(b, epoch, &pc, 1);
	bench_symbolize(b);

	assert_int_equal(bench_read(b, pc, 0).nr, 3);
	for (uint32_t epoch = 0; epoch < 6; epoch++) {
		struct reported t = bench_read(b, pc, epoch);

		if (epoch / 2 == 1) {
			assert_int_equal(t.ev.source, AF_SYMBOL_NO_FILE);
			assert_string_equal(t.module, "/no/such/library.so");
			assert_int_equal(t.nr_frames, 0);
		} else {
			assert_string_equal(t.functions[t.nr_frames - 1], "bench_first_function");
		}
		assert_int_equal(t.ev.epoch, epoch / 2 * 2);
	}
}

static void a_mapping_of_a_later_epoch_is_not_believed(void **state)
{
	struct bench *b = *state;
	uint64_t pc = (uintptr_t)bench_first_function;

	bench_mapping(b, 1, 0, b->exe, true);
	bench_stack(b, 0, &pc, 1);
	bench_symbolize(b);
	assert_int_equal(bench_read(b, pc, 0).ev.source, AF_SYMBOL_NO_MODULE);
}

static void what_only_the_recorder_saw_mapped_gives_names(void **state)
{
	struct bench *b = *state;
	uint64_t pc = (uintptr_t)bench_first_function;

	bench_mapping(b, AF_EPOCH_RECORDER + 1, 0, b->exe, true);
	bench_stack(b, 1, &pc, 1);
	bench_symbolize(b);
	struct reported t = bench_read(b, pc, 1);
	assert_string_equal(t.functions[t.nr_frames - 1], "bench_first_function");
}

static void what_the_recorder_saw_twice_is_not_believed(void **state)
{
	struct bench *b = *state;
	uint64_t pc = (uintptr_t)bench_first_function;

	bench_mapping(b, AF_EPOCH_RECORDER, 0, b->exe, true);
	bench_mapping(b, AF_EPOCH_RECORDER + 1, 0, "/no/such/library.so", false);
	bench_stack(b, 1, &pc, 1);
	bench_symbolize(b);
	assert_int_equal(bench_read(b, pc, 1).ev.source, AF_SYMBOL_NO_MODULE);
}

static void a_file_that_was_replaced_gives_no_names(void **state)
{
	struct bench *b = *state;
	uint64_t pc = (uintptr_t)bench_first_function;

	bench_mapping(b, 0, AF_MAPPING_DELETED, b->exe, false);
	b->build_id[0] ^= 1;
	b->build_id_len = b->build_id_len ? b->build_id_len : 20;
	bench_mapping(b, 1, 0, b->exe, true);
	bench_stack(b, 0, &pc, 1);
	bench_stack(b, 1, &pc, 1);
	bench_symbolize(b);
	for (uint32_t epoch = 0; epoch < 2; epoch++) {
		struct reported t = bench_read(b, pc, epoch);

		assert_int_equal(t.ev.source, AF_SYMBOL_BUILD_ID);
		assert_string_equal(t.module, b->exe);
		assert_int_equal(t.nr_frames, 0);
	}
}

static void bench_link(const struct bench *b, const char *path)
{
	unlink(path);
	assert_int_equal(symlink(b->exe, path), 0);
}

/* Without a build-id its path is all that is known of a file, so the names are those of now. */
static void a_file_that_changes_between_traces_is_opened_again(void **state)
{
	struct bench *b = *state;
	uint64_t pc = (uintptr_t)bench_first_function;
	struct af_err err = {0};
	char path[128];

	snprintf(path, sizeof path, "%s/program", b->dir);
	bench_mapping(b, 0, 0, path, false);
	bench_stack(b, 0, &pc, 1);
	bench_link(b, path);
	bench_symbolize(b);
	assert_string_equal(bench_read(b, pc, 0).functions[0], "bench_first_function");
	unlink(path);
	assert_int_equal(symlink("/bin/true", path), 0);
	assert_int_equal(symbolizer(b->dir, NULL, NULL, &err), 0);
	assert_true(strcmp(bench_read(b, pc, 0).functions[0], "bench_first_function"));
	bench_link(b, path);
	assert_int_equal(symbolizer(b->dir, NULL, NULL, &err), 0);
	assert_string_equal(bench_read(b, pc, 0).functions[0], "bench_first_function");
}

static void symbolizing_again_replaces_the_names(void **state)
{
	struct bench *b = *state;
	uint64_t pc = (uintptr_t)bench_first_function;
	struct af_err err = {0};
	char builder[128];

	bench_mapping(b, 0, 0, b->exe, true);
	bench_stack(b, 0, &pc, 1);
	bench_symbolize(b);
	assert_int_equal(symbolizer(b->dir, NULL, NULL, &err), 0);
	assert_int_equal(bench_read(b, pc, 0).nr, 1);

	/* A failed write is reported, and the old names stay. */
	snprintf(builder, sizeof builder, "%s/.symbols.tmp", b->dir);
	assert_int_not_equal(access(builder, F_OK), 0);
	assert_int_equal(mkdir(builder, 0700), 0);
	assert_true(symbolizer(b->dir, NULL, NULL, &err) < 0);
	assert_non_null(strstr(err.msg, b->dir));
	assert_int_equal(bench_read(b, pc, 0).nr, 1);
}

static void a_trace_without_stacks_needs_no_names(void **state)
{
	struct bench *b = *state;
	char path[128];

	bench_mapping(b, 0, 0, b->exe, true);
	bench_symbolize(b);
	snprintf(path, sizeof path, "%s/symbols", b->dir);
	assert_int_not_equal(access(path, F_OK), 0);
}

/* The content of the task's stream: SYMBOL and NOTE. */
struct task_reported {
	uint32_t sources[8], nr, nr_notes;
	char modules[8][64], functions[8][64], note[256];
};

static void task_read(const struct bench *b, struct task_reported *reported)
{
	struct af_map strings = {0};
	struct af_trace *t;
	struct af_event ev;
	struct af_tail_view tails[AF_TAILS_MAX];

	*reported = (struct task_reported){0};
	assert_int_equal(af_trace_open(&t, b->dir, 0, NULL), 0);
	while (af_trace_next(t, &ev)) {
		struct af_ev_string string;
		struct af_ev_symbol symbol;

		if (ev.kind == AF_KIND_STRING) {
			assert_true(af_event_decode(&ev, &string, sizeof string, tails));
			*af_map_at(&strings, string.string, NULL) = (uintptr_t)tails[0].data;
		} else if (ev.kind == AF_KIND_NOTE) {
			assert_true(af_event_decode(&ev, NULL, 0, tails));
			snprintf(reported->note, sizeof reported->note, "%s: %s", tails[0].data,
			         tails[1].data);
			reported->nr_notes++;
		} else if (ev.kind == AF_KIND_SYMBOL && reported->nr < 8) {
			uint32_t function = 0;

			assert_true(af_event_decode(&ev, &symbol, sizeof symbol, tails));
			if (tails[0].len)
				memcpy(&function, tails[0].data, sizeof function);
			uint64_t *module = af_map_get(&strings, symbol.module),
				 *name = af_map_get(&strings, function);
			reported->sources[reported->nr] = symbol.source;
			snprintf(reported->modules[reported->nr], 64, "%s",
			         module ? (char *)*module : "");
			snprintf(reported->functions[reported->nr], 64, "%s",
			         name ? (char *)*name : "");
			reported->nr++;
		}
	}
	af_map_free(&strings);
	af_trace_close(t);
}

static void kernel_addresses_are_those_of_process_0(void **state)
{
	struct bench *b = *state;
	uint64_t pcs[] = {0xffffffff81000010, 0xffffffffc0001010, 0xffffffff91000010};
	struct af_sym_task *task = af_sym_task_open();
	char path[128];
	struct af_search_paths search_paths = {.kallsyms = path};
	struct task_reported reported;

	snprintf(path, sizeof path, "%s/.kallsyms", b->dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("ffffffff81000000 T do_work.isra.0\nffffffffc0001000 t send_it\t[veth]\n", f);
	fclose(f);
	af_sym_task_stack(task, 0, 0, 0, (const uint8_t *)pcs, 3);
	af_sym_task_run(task, &search_paths, NULL, NULL);
	af_sym_task_write(task, &b->stream, 5);
	af_sym_task_close(task);
	assert_int_equal(af_stream_close(&b->stream), 0);

	task_read(b, &reported);
	assert_int_equal(reported.nr, 3);
	assert_string_equal(reported.functions[0], "do_work");
	assert_string_equal(reported.modules[0], "[kernel]");
	assert_int_equal(reported.sources[0], AF_SYMBOL_SYMTAB);
	assert_string_equal(reported.functions[1], "");
	assert_string_equal(reported.modules[1], "[kernel]");
	assert_int_equal(reported.sources[1], AF_SYMBOL_NO_SYMBOL);
	assert_string_equal(reported.functions[2], "send_it");
	assert_string_equal(reported.modules[2], "[veth]");
	assert_int_equal(reported.nr_notes, 0);
}

static void a_kernel_without_names_is_explained(void **state)
{
	struct bench *b = *state;
	uint64_t pc = 0xffffffff81000010;
	struct af_sym_task *task = af_sym_task_open();
	char path[128];
	struct af_search_paths search_paths = {.kallsyms = path};
	struct task_reported reported;

	snprintf(path, sizeof path, "%s/.kallsyms", b->dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("0000000000000000 T do_work\n", f);
	fclose(f);
	af_sym_task_stack(task, 0, 0, 0, (const uint8_t *)&pc, 1);
	af_sym_task_run(task, &search_paths, NULL, NULL);
	af_sym_task_write(task, &b->stream, 5);
	af_sym_task_close(task);
	assert_int_equal(af_stream_close(&b->stream), 0);

	task_read(b, &reported);
	assert_int_equal(reported.nr, 1);
	assert_int_equal(reported.sources[0], AF_SYMBOL_NO_FILE);
	assert_string_equal(reported.modules[0], "[kernel]");
	assert_int_equal(reported.nr_notes, 1);
	assert_non_null(strstr(reported.note, "kptr_restrict"));
}

/* The clock of a trace made in this boot stands where this machine's does. */
static void kernel_names_are_of_the_boot_that_was_recorded(void **state)
{
	struct bench *b = *state;
	struct timespec mono, real;
	uint64_t pc = 0xffffffffffff0000;
	struct task_reported reported;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_REALTIME, &real);
	struct af_ev_clock clock = {
	    .clock = AF_CLOCK_REALTIME,
	    .mono_ns = (uint64_t)mono.tv_sec * 1000000000u,
	    .foreign = (uint64_t)(real.tv_sec - 3600) * 1000000000u,
	};
	struct af_ev_kstack stack = {.kstack = 1};
	struct af_tail tail = {&pc, 8, 8};
	assert_true(
	    af_stream_put_tail(&b->stream, AF_KIND_CLOCK, 1, &clock, sizeof clock, NULL, 0));
	assert_true(
	    af_stream_put_tail(&b->stream, AF_KIND_KSTACK, 2, &stack, sizeof stack, &tail, 1));
	bench_symbolize(b);
	task_read(b, &reported);
	assert_int_equal(reported.nr, 1);
	assert_int_equal(reported.sources[0], AF_SYMBOL_NO_FILE);
	assert_string_equal(reported.modules[0], "[kernel]");
	assert_non_null(strstr(reported.note, "boot"));
}

struct progress {
	struct af_sym_progress last;
	uint32_t calls;
};

static void progress_note(void *arg, const struct af_sym_progress *p)
{
	struct progress *seen = arg;

	assert_true(p->resolved >= seen->last.resolved && p->resolved <= p->addresses);
	seen->last = *p;
	seen->calls++;
}

static void progress_ends_at_everything(void **state)
{
	struct bench *b = *state;
	struct progress seen = {0};
	uint64_t pcs[64];

	bench_mapping(b, 0, 0, b->exe, true);
	for (uint32_t i = 0; i < 4096; i += 64) {
		for (uint32_t k = 0; k < 64; k++)
			pcs[k] = b->start + i + k;
		bench_stack(b, 0, pcs, 64);
	}
	assert_int_equal(af_stream_close(&b->stream), 0);
	assert_int_equal(symbolizer(b->dir, progress_note, &seen, NULL), 0);
	assert_true(seen.calls > 1);
	assert_int_equal(seen.last.addresses, 4096);
	assert_int_equal(seen.last.resolved, 4096);
	assert_int_equal(seen.last.modules_done, seen.last.modules);
}

int main(void)
{
#define bench_test(f) cmocka_unit_test_setup_teardown(f, bench_open, bench_close)
	const struct CMUnitTest tests[] = {
	    bench_test(every_address_of_a_stack_gets_its_name),
	    bench_test(a_function_begins_once),
	    bench_test(an_address_used_again_has_a_name_for_each_epoch),
	    bench_test(a_mapping_of_a_later_epoch_is_not_believed),
	    bench_test(what_only_the_recorder_saw_mapped_gives_names),
	    bench_test(what_the_recorder_saw_twice_is_not_believed),
	    bench_test(a_file_that_was_replaced_gives_no_names),
	    bench_test(a_file_that_changes_between_traces_is_opened_again),
	    bench_test(symbolizing_again_replaces_the_names),
	    bench_test(a_trace_without_stacks_needs_no_names),
	    bench_test(kernel_addresses_are_those_of_process_0),
	    bench_test(a_kernel_without_names_is_explained),
	    bench_test(kernel_names_are_of_the_boot_that_was_recorded),
	    bench_test(progress_ends_at_everything),
	};
	setenv("XDG_CACHE_HOME", "/dev/null", 1); /* none */
	unsetenv("DEBUGINFOD_URLS");
	shared = af_sym_shared_open();
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	af_sym_shared_close(shared);
	return rc;
}
