/*
 * Symbolizes a trace: reads its mappings and stacks, resolves the addresses and writes the stream
 * `symbols`.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "sym/resolve/kernel_table.h"
#include "sym/resolve/task.h"
#include "trace/read/reader.h"
#include "trace/write/objects.h"
#include "trace/write/stream.h"

#define SYMBOLIZER_STREAM "symbols"
#define SYMBOLIZER_TEMPORARY ".symbols.tmp"  /* readers pass over names with a dot */
#define SYMBOLIZER_CLOCK_STEP_NS 60000000000 /* more is another boot, or a machine that slept */
#define SYMBOLIZER_INSTANCE (UINT64_C(1) << 32)

/* CLOCK and PROCESS_END are wanted for their times: the end of the trace. */
#define SYMBOLIZER_WANTED                                                                          \
	(1ull << AF_KIND_PROCESS | 1ull << AF_KIND_PROCESS_END | 1ull << AF_KIND_CLOCK |           \
	 1ull << AF_KIND_MAPPING | 1ull << AF_KIND_STACK | 1ull << AF_KIND_KSTACK |                \
	 1ull << AF_KIND_PROCESS_NOTE | 1ull << AF_KIND_PROGRAM | 1ull << AF_KIND_NOTE |           \
	 1ull << AF_KIND_PERF_MAP | 1ull << AF_KIND_JIT_IMAGE)

struct symbolizer {
	struct af_sym_task *task;
	uint64_t last_ns;
	uint64_t epoch_ns; /* what to add to the trace's clock, 0 while not known */
	/* For an imported trace: the kernel's identity, and the address of one of its symbols. */
	char build_id[64], text_symbol[64];
	char boot_id[AF_BOOT_ID_SIZE]; /* of the recorder's machine; "" in traces without it */
	uint64_t text;
	struct af_buf reported; /* names of the kernel's that the trace itself has */
	struct af_map imported; /* processes whose addresses were invented, and are named */
};

static void symbolizer_clock(struct symbolizer *b, const struct af_event *ev)
{
	struct af_ev_clock fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails) || fixed.clock != AF_CLOCK_REALTIME)
		return;
	b->epoch_ns = fixed.foreign - fixed.mono_ns;
}

static void symbolizer_process(struct symbolizer *b, const struct af_event *ev)
{
	struct af_ev_process fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (af_event_decode(ev, &fixed, sizeof fixed, tails))
		af_sym_task_process(b->task, ev->process, fixed.parent, fixed.pid, ev->time_ns,
		                    (const char *)tails[0].data);
}

/* START-END NAME becomes two lines of /proc/kallsyms: the second ends the function. */
static void symbolizer_kernel_symbol(struct symbolizer *b, const char *value)
{
	char name[512];
	uint64_t start, end;

	if (sscanf(value, "%" SCNx64 "-%" SCNx64 " %511s", &start, &end, name) == 3)
		af_buf_fmt(&b->reported, "%" PRIx64 " t %s [bpf]\n%" PRIx64 " d end\n", start, name,
		           end);
}

static void symbolizer_note(struct symbolizer *b, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, NULL, 0, tails))
		return;
	const char *key = (const char *)tails[0].data, *value = (const char *)tails[1].data;
	if (!strcmp(key, "kernel.build-id"))
		snprintf(b->build_id, sizeof b->build_id, "%s", value);
	else if (!strcmp(key, "boot_id"))
		snprintf(b->boot_id, sizeof b->boot_id, "%s", value);
	else if (!strcmp(key, "kernel.symbol"))
		symbolizer_kernel_symbol(b, value);
	else if (!strcmp(key, "kernel.text") &&
	         sscanf(value, "%" SCNx64 " %63s", &b->text, b->text_symbol) != 2)
		b->text = 0;
}

static void symbolizer_mapping(struct symbolizer *b, const struct af_event *ev)
{
	struct af_ev_mapping fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	if (!strcmp((const char *)tails[1].data, "[imported]"))
		*af_map_at(&b->imported, ev->process, NULL) = fixed.end;
	else
		af_sym_task_mapping(b->task, ev->process, &fixed, tails[0].data, tails[0].len,
		                    (const char *)tails[1].data, tails[1].len);
}

/*
 * Imported frames without addresses got invented ones: below the end of their mapping, or for the
 * kernel above all of its own (docs/format.md, "Imported traces"). They have names already.
 */
static bool symbolizer_is_invented(const struct symbolizer *b, uint32_t process,
                                   const struct af_tail_view *pcs)
{
	const uint64_t kernel = UINT64_C(0xffffffff00000000);
	const uint64_t *end = af_map_get(&b->imported, process);
	uint64_t pc;

	if (!end || !pcs->len)
		return false;
	memcpy(&pc, pcs->data, sizeof pc);
	return pc < *end || (pc >= kernel && pc - kernel < *end);
}

static void symbolizer_stack(struct symbolizer *b, const struct af_event *ev)
{
	struct af_ev_stack fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (af_event_decode(ev, &fixed, sizeof fixed, tails) &&
	    !symbolizer_is_invented(b, ev->process, &tails[0]))
		af_sym_task_stack(b->task, ev->process, fixed.epoch, ev->time_ns, tails[0].data,
		                  tails[0].len);
}

/* Process 0 stands for the kernel, which is the same for all. */
static void symbolizer_kstack(struct symbolizer *b, const struct af_event *ev)
{
	struct af_ev_kstack fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (af_event_decode(ev, &fixed, sizeof fixed, tails) &&
	    !symbolizer_is_invented(b, ev->process, &tails[0]))
		af_sym_task_stack(b->task, 0, 0, ev->time_ns, tails[0].data, tails[0].len);
}

/* Only the user of a process matters here. */
static void symbolizer_process_note(struct symbolizer *b, const struct af_event *ev)
{
	struct af_ev_process_note fixed;
	struct af_tail_view tails[AF_TAILS_MAX];
	unsigned uid;
	char end;

	if (af_event_decode(ev, &fixed, sizeof fixed, tails) &&
	    !strcmp((const char *)tails[0].data, "uid") &&
	    sscanf((const char *)tails[1].data, "%u%c", &uid, &end) == 1)
		af_sym_task_user(b->task, fixed.process, uid);
}

static void symbolizer_program(struct symbolizer *b, const struct af_event *ev)
{
	struct af_ev_program fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (af_event_decode(ev, &fixed, sizeof fixed, tails) && ev->process &&
	    fixed.form == AF_OBJECT_NATIVE && af_object_name_ok((const char *)tails[0].data))
		af_sym_task_object(b->task, (const char *)tails[0].data);
}

static void symbolizer_perf_map(struct symbolizer *b, const struct af_event *ev)
{
	struct af_ev_perf_map fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (af_event_decode(ev, &fixed, sizeof fixed, tails))
		af_sym_task_perf_map(b->task, &fixed, (const char *)tails[0].data, tails[0].len);
}

static void symbolizer_jit_image(struct symbolizer *b, const struct af_event *ev)
{
	struct af_ev_jit_image fixed;
	struct af_tail_view tails[AF_TAILS_MAX];

	if (!af_event_decode(ev, &fixed, sizeof fixed, tails))
		return;
	const char *object = (const char *)tails[0].data;
	if (!*object || af_object_name_ok(object))
		af_sym_task_jit_image(b->task, &fixed, object);
}

static void symbolizer_event(struct symbolizer *b, const struct af_event *ev)
{
	b->last_ns = ev->time_ns > b->last_ns ? ev->time_ns : b->last_ns;
	switch (ev->kind) {
	case AF_KIND_CLOCK:
		symbolizer_clock(b, ev);
		break;
	case AF_KIND_PROCESS:
		symbolizer_process(b, ev);
		break;
	case AF_KIND_MAPPING:
		symbolizer_mapping(b, ev);
		break;
	case AF_KIND_STACK:
		symbolizer_stack(b, ev);
		break;
	case AF_KIND_KSTACK:
		symbolizer_kstack(b, ev);
		break;
	case AF_KIND_PROCESS_NOTE:
		symbolizer_process_note(b, ev);
		break;
	case AF_KIND_PROGRAM:
		symbolizer_program(b, ev);
		break;
	case AF_KIND_NOTE:
		symbolizer_note(b, ev);
		break;
	case AF_KIND_PERF_MAP:
		symbolizer_perf_map(b, ev);
		break;
	case AF_KIND_JIT_IMAGE:
		symbolizer_jit_image(b, ev);
		break;
	}
}

static int symbolizer_write(const struct symbolizer *b, int dirfd)
{
	struct af_stream s;

	int fd = af_create_private(dirfd, SYMBOLIZER_TEMPORARY);
	if (fd < 0)
		return fd;
	int rc = af_stream_open_file(&s, fd, SYMBOLIZER_INSTANCE, 0);
	if (rc) {
		close(fd);
	} else {
		af_sym_task_write(b->task, &s, b->last_ns);
		rc = af_stream_close(&s);
	}
	if (!rc && renameat(dirfd, SYMBOLIZER_TEMPORARY, dirfd, SYMBOLIZER_STREAM))
		rc = -errno;
	if (rc)
		unlinkat(dirfd, SYMBOLIZER_TEMPORARY, 0);
	return rc;
}

/*
 * True if the trace was recorded here since the machine started: only then do the kernel's
 * addresses and process ids mean the same now. The trace's clock starts with the machine, so its
 * start in the epoch identifies the boot.
 */
static bool symbolizer_is_this_boot(const struct symbolizer *b)
{
	uint64_t now_ns = af_clock_ns(CLOCK_MONOTONIC);
	int64_t off_ns = (int64_t)(af_clock_ns(CLOCK_REALTIME) - now_ns - b->epoch_ns);
	char here[AF_BOOT_ID_SIZE];

	/* Hosts of a cluster may have started in the same minute. */
	af_boot_id(here);
	if (b->boot_id[0] && here[0] && strcmp(b->boot_id, here) != 0)
		return false;
	return b->epoch_ns && b->last_ns <= now_ns && llabs(off_ns) < SYMBOLIZER_CLOCK_STEP_NS;
}

/* Maps of JIT compilers are trusted if this user, the trace's owner or root wrote them. */
static void symbolizer_trust(struct af_jit_trust *trust, int dirfd)
{
	struct stat st;

	trust->owners[trust->nr_owners++] = 0;
	trust->owners[trust->nr_owners++] = geteuid();
	if (!fstat(dirfd, &st))
		trust->owners[trust->nr_owners++] = st.st_uid;
}

static int symbolizer_keep(void *dirfd, const void *data, size_t size, char name[AF_SHA256_HEX])
{
	return af_object_put(*(const int *)dirfd, data, size, name);
}

static int symbolizer_open(void *dirfd, const char *name)
{
	return af_object_open(*(const int *)dirfd, name);
}

int af_symbolize(int dirfd, const char *dir, struct af_sym_shared *shared,
                 void (*progress)(void *arg, const struct af_sym_progress *p), void *arg,
                 struct af_err *err)
{
	char dumps[512], kept[512]; /* LLVM's, perf's */
	struct af_kernel_table table;
	struct af_search_paths search_paths = {
	    .perf_dir = "/tmp",
	    .dump_dirs = {"/tmp", "."},
	    .shared = shared,
	    .cache = true,
	    .debuginfod = true,
	};
	struct af_trace *trace;
	struct af_event ev;
	int rc = af_trace_open_at(&trace, dirfd, dir, SYMBOLIZER_WANTED, err);

	if (rc)
		return rc;
	struct symbolizer b = {.task = af_sym_task_open()};
	while (af_trace_next(trace, &ev))
		symbolizer_event(&b, &ev);
	af_trace_close(trace);

	if (symbolizer_is_this_boot(&b)) {
		search_paths.kallsyms = "/proc/kallsyms";
		search_paths.proc = "/proc";
	} else if (b.text && af_kernel_table(&table, b.build_id, b.text_symbol, b.text)) {
		search_paths.kallsyms = table.path;
		search_paths.kernel_shift = table.shift;
	}
	search_paths.kernel_reported = b.reported.data;
	search_paths.epoch_ns = b.epoch_ns;
	search_paths.boottime_ns = af_clock_ns(CLOCK_BOOTTIME) - af_clock_ns(CLOCK_MONOTONIC);
	symbolizer_trust(&search_paths.trust, dirfd);
	search_paths.keep = symbolizer_keep;
	search_paths.open = symbolizer_open;
	search_paths.objects = &dirfd;
	if (getenv("HOME")) {
		snprintf(dumps, sizeof dumps, "%s/.debug/jit/*", getenv("HOME"));
		search_paths.dump_dirs[2] = dumps;
		snprintf(kept, sizeof kept, "%s/.debug", getenv("HOME"));
		search_paths.kept = kept;
	}
	af_sym_task_run(b.task, &search_paths, progress, arg);
	af_sym_task_packages(b.task, NULL);
	if (af_sym_task_nr(b.task))
		rc = symbolizer_write(&b, dirfd);
	else if (unlinkat(dirfd, SYMBOLIZER_STREAM, 0) && errno != ENOENT)
		rc = -errno;
	if (rc)
		af_fail(err, rc, "cannot write the names of functions to %s/" SYMBOLIZER_STREAM,
		        dir);
	af_sym_task_close(b.task);
	af_buf_free(&b.reported);
	af_map_free(&b.imported);
	return rc;
}
