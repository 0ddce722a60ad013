#include "inject/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/pages.h"
#include "inject/api/clock.h"
#include "inject/arch/arch.h"
#include "inject/core/inject.h"
#include "inject/core/thread.h"
#include "inject/probe/private.h"

/* Calls of a thread, by function. */
struct turns {
	_Atomic uint32_t owner;        /* tid, 0: free */
	uint32_t process;              /* whose calls these are */
	uint32_t left[AF_PROBES_MOST]; /* calls up to the next that has a stack, with it */
	_Atomic uint32_t passed[AF_PROBES_MOST]; /* that no event has yet */
	_Atomic uint32_t open[AF_PROBES_MOST];   /* that get one when they return */
};

enum { TURNS_MOST = 4096 };

static struct {
	const struct af_probe *all;
	uint32_t nr, nr_all; /* functions, which are the first of them; with their exits */
	uint8_t *called;     /* of each, shared with the recorder */
	struct turns *turns; /* TURNS_MOST of them */
	_Atomic uint32_t nr_turns;
	_Atomic uint32_t defined[AF_PROBES_MOST]; /* the process that has its FUNCTION */
} self;

static __thread struct turns *own_turns;

/* Its FUNCTION is in the process's streams from here on. */
static uint32_t function_define(struct af_thread_context *t, uint32_t number)
{
	const char *name = self.all[number].name;
	struct af_ev_function ev = {AF_PROBE_FUNCTION + number, AF_API_FUNCTION, AF_CATEGORY_OTHER};
	struct af_tail tail[] = {{name, (uint32_t)strlen(name), 0}};
	uint32_t process = af_inject_process();

	if (atomic_load(&self.defined[number]) == process)
		return ev.function;
	if (af_stream_put_tail(&t->stream, AF_KIND_FUNCTION, af_now_ns(), &ev, sizeof ev, tail, 1))
		atomic_store(&self.defined[number], process);
	self.called[number] = 1;
	return ev.function;
}

/* @ended: calls that have not returned will have no event of their own any more. */
static void passed_write(struct af_thread_context *t, struct turns *turns, uint32_t number,
                         bool ended)
{
	uint32_t count = atomic_exchange(&turns->passed[number], 0);

	if (ended)
		count += atomic_exchange(&turns->open[number], 0);

	if (!count)
		return;
	struct af_ev_call_sum ev = {
	    .tid = atomic_load(&turns->owner),
	    .function = function_define(t, number),
	    .count = count,
	};
	struct af_tail none[] = {{NULL, 0, 4}, {NULL, 0, 4}};
	if (!af_stream_put_tail(&t->stream, AF_KIND_CALL_SUM, af_now_ns(), &ev, sizeof ev, none, 2))
		atomic_fetch_add(&turns->passed[number], count);
}

static struct turns *turns_take(uint32_t tid)
{
	uint32_t nr = atomic_load(&self.nr_turns);

	for (uint32_t i = 0; i < nr && i < TURNS_MOST; i++) {
		uint32_t none = 0;
		if (atomic_compare_exchange_strong(&self.turns[i].owner, &none, tid))
			return &self.turns[i];
	}
	nr = atomic_fetch_add(&self.nr_turns, 1);
	if (nr >= TURNS_MOST)
		return NULL;
	atomic_store(&self.turns[nr].owner, tid);
	return &self.turns[nr];
}

/* The calling thread's; NULL: too many threads. A forked child's memory of them is empty. */
static struct turns *turns_of(void)
{
	struct turns *turns = own_turns;
	uint32_t process = af_inject_process();

	if (turns && turns->process == process)
		return turns;
	turns = turns_take((uint32_t)af_arch_syscall(SYS_gettid, 0, 0, 0, 0));
	if (turns) {
		memset(turns->left, 0, sizeof turns->left);
		turns->process = process;
	}
	own_turns = turns;
	return turns;
}

/*
 * As at a call of the function's first instruction: the function is the stack's end. The same where
 * it ends.
 */
static uint32_t call_path(struct af_thread_context *t, uint32_t number, uint64_t sp, uint64_t fp)
{
	const struct af_regs regs = {.pc = probe_address(number) + 1, .sp = sp, .fp = fp};

	return af_thread_callpath(t, &regs);
}

static void call_take(struct af_thread_context *t, uint32_t number, const struct probe_frame *frame)
{
	const struct af_probe *p = &self.all[number];
	struct turns *turns = p->every > 1 || p->is_timed ? turns_of() : NULL;
	uint64_t sp = (uint64_t)&frame->ra;

	if (turns && turns->left[number] > 1) {
		turns->left[number]--;
		atomic_fetch_add_explicit(&turns->passed[number], 1, memory_order_relaxed);
		/* An earlier call may have had this place on the stack. */
		if (p->is_timed)
			probe_call_close(turns->process, sp, number);
		return;
	}
	if (turns) {
		turns->left[number] = p->every;
		passed_write(t, turns, number, false);
	}
	if (turns && p->is_timed && probe_call_open(turns->process, sp, number, af_call_now_ns())) {
		atomic_fetch_add_explicit(&turns->open[number], 1, memory_order_relaxed);
		if (!self.called[number])
			self.called[number] = 1;
		return;
	}
	uint32_t callpath = call_path(t, number, sp, frame->fp);
	uint32_t function = function_define(t, number);
	af_stream_put(&t->stream, call_seen, af_now_ns(), .callpath = callpath,
	              .function = function);
}

/* A call that began, and has its record now that it returns. */
static void call_end(struct af_thread_context *t, const struct af_probe *p,
                     const struct probe_frame *frame, uint64_t now_ns)
{
	struct turns *turns = own_turns;
	uint64_t sp = (uint64_t)&frame->ra + (probe_is_red(p) ? PROBE_RED : 0);
	uint32_t number = p->function;

	if (!turns || turns->process != af_inject_process() || !probe_leaves(p, frame))
		return;
	uint64_t begin_ns = probe_call_close(turns->process, sp, number);
	/* It stays one of those that did not return, or was counted so already. */
	if (!begin_ns || !atomic_load(&turns->open[number]))
		return;
	atomic_fetch_sub(&turns->open[number], 1);
	uint32_t callpath = call_path(t, number, sp, frame->fp);
	uint32_t function = function_define(t, number);
	uint64_t end_ns = now_ns < t->stream.last_ns ? t->stream.last_ns : now_ns;
	/* Definitions of the stack are later than the end. */
	af_stream_put(&t->stream, call_long, end_ns, .callpath = callpath, .function = function,
	              .duration_ns = end_ns > begin_ns ? end_ns - begin_ns : 0);
}

static void call_record(const struct probe_frame *frame)
{
	const struct af_probe *p = &self.all[frame->number];
	uint64_t now_ns = p->is_exit ? af_call_now_ns() : 0; /* before what this costs */
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	if (p->is_exit)
		call_end(t, p, frame, now_ns);
	else
		call_take(t, (uint32_t)frame->number, frame);
	af_thread_leave(t);
}

void probe_hit(const struct probe_frame *frame)
{
	int saved = errno;

	if (frame->number != PROBE_LOADS && af_inject_recording())
		call_record(frame);
	else if (frame->number == PROBE_LOADS && af_inject_session())
		probe_patch_modules();
	errno = saved;
}

void af_probe_thread_ends(struct af_thread_context *t)
{
	struct turns *turns = own_turns;

	if (!turns || turns->process != af_inject_process())
		return;
	for (uint32_t i = 0; i < self.nr; i++)
		passed_write(t, turns, i, true);
	probe_calls_end();
	own_turns = NULL;
	atomic_store(&turns->owner, 0);
}

void af_probe_flush(void)
{
	uint32_t nr = atomic_load(&self.nr_turns);
	struct af_thread_context *t = nr ? af_thread_enter() : NULL;

	for (uint32_t i = 0; t && i < nr && i < TURNS_MOST; i++)
		for (uint32_t k = 0; k < self.nr; k++)
			passed_write(t, &self.turns[i], k, true);
	if (t)
		af_thread_leave(t);
}

/*
 * A file of the recorder's, never unmapped, of *@size bytes (0: of any number); NULL: it is not
 * there, or has another size.
 */
static void *recorder_file(const char *name, bool write, size_t *size)
{
	void *data = MAP_FAILED;
	struct stat st;
	int dir = af_inject_dir_open();
	int fd =
	    dir < 0 ? -1 : openat(dir, name, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0 &&
	    (!*size || (size_t)st.st_size == *size)) {
		*size = (size_t)st.st_size;
		data = mmap(NULL, *size, write ? PROT_READ | PROT_WRITE : PROT_READ,
		            write ? MAP_SHARED : MAP_PRIVATE, fd, 0);
	}
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return data == MAP_FAILED ? NULL : data;
}

/* False: nothing can be recorded here. */
static bool probes_prepare(void)
{
	size_t bytes = 0, most = AF_PROBES_MOST;

	self.all = recorder_file(AF_PROBES_FILE, false, &bytes);
	self.called = recorder_file(AF_PROBES_CALLED_FILE, true, &most);
	uint32_t nr = (uint32_t)(bytes / sizeof *self.all);
	if (!self.all || !self.called || bytes % sizeof *self.all)
		return false;
	for (self.nr = 0; self.nr < nr && !self.all[self.nr].is_exit;)
		self.nr++;
	if (self.nr > AF_PROBES_MOST)
		return false;
	self.nr_all = nr;
	self.turns = af_pages(TURNS_MOST * sizeof *self.turns, MAP_NORESERVE);
	return self.turns &&
	       !madvise(self.turns, TURNS_MOST * sizeof *self.turns, MADV_WIPEONFORK) &&
	       probe_entry_prepare();
}

void af_probe_start(void)
{
	const struct af_session *session = af_inject_session();

	if (!session || !(session->flags & AF_SESSION_PROBES))
		return;
	if (probes_prepare())
		probe_patch_start(self.all, self.nr_all);
	else
		af_inject_note("probes", "this process could not place probes: calls of functions "
		                         "are not recorded");
}
