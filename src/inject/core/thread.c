#include "inject/core/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/pages.h"
#include "inject/core/inject.h"
#include "inject/core/moments.h"
#include "inject/python/python.h"
#include "inject/walk/modules.h"

enum { POOL_MAX = 8192 };

/*
 * The pool: contexts are only ever added, a free one has owner 0. The array is one mapping,
 * touched as far as it is used.
 */
static struct af_thread_context **pool;
static _Atomic uint32_t pool_nr;

/* No new stream is tried before: each try costs 20 us, and hooks are called often. */
static _Atomic uint64_t retry_ns;
enum { RETRY_NS = 100000000 };

static pthread_key_t exit_key;
static bool exit_key_usable;
static char no_context; /* the key's value of a thread that has none */

__thread struct af_thread_now af_thread_now;
#define self af_thread_now

static uint32_t thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static void sample_write(struct af_thread_context *t, const struct af_pending_sample *s,
                         uint64_t weight_ns)
{
	uint32_t stack = af_callpath_stack(&t->callpaths, &t->stream, &s->stack);
	uint32_t path = af_callpath_path(&t->callpaths, &t->stream, stack, &s->stack);

	af_stream_put(&t->stream, sample, s->time_ns, .callpath = path, .flags = s->flags,
	              .weight_ns = weight_ns);
}

static void pending_write(struct af_thread_context *t)
{
	uint64_t weight_ns;

	/* A look is cheaper than an exchange; what comes after it, the caller's loop sees. */
	while (atomic_load(&t->pending_ns) && (weight_ns = atomic_exchange(&t->pending_ns, 0)))
		sample_write(t, &t->pending, weight_ns);
	t->has_pending = false;
}

/* While inside: what was set aside until the context is let go of is written, not lost. */
static void thread_release(struct af_thread_context *t)
{
	self.context = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	pending_write(t);
	atomic_store_explicit(&t->owner, 0, memory_order_release);
}

struct leaving {
	void *context;
	struct af_regs regs;
};

static void thread_leaves(void *leaving)
{
	const struct leaving *l = leaving;
	struct af_thread_context *t = l->context;

	if (l->context == &no_context)
		t = af_thread_enter();
	else if (t != self.context || self.epoch != af_inject_fork_epoch() || self.inside)
		t = NULL;
	if (!t)
		return;
	/* A sample that came in the middle would release the context a second time. */
	self.inside = 1;
	if (af_inject_session())
		AF_MOMENT(thread_ends, (void)0, t, &l->regs);
	af_thread_leave(t);
}

static void thread_exits(void *context)
{
	struct leaving l = {.context = context};

	AF_REGS_CALLER(&l.regs);
	self.exiting = true;
	if (af_inject_may_call() && AF_MOMENT(run, -ENOMEM, thread_leaves, &l))
		thread_leaves(&l);
	AF_MOMENT(thread_over, (void)0);
}

void af_thread_begins(void)
{
	if (exit_key_usable && !self.context)
		pthread_setspecific(exit_key, &no_context);
}

bool af_thread_has_context(void)
{
	return self.context && self.epoch == af_inject_fork_epoch();
}

void af_threads_each(void (*take)(void *arg, uint32_t tid), void *arg)
{
	uint32_t nr = atomic_load(&pool_nr);

	for (uint32_t i = 0; i < nr && i < POOL_MAX; i++) {
		struct af_thread_context *t = __atomic_load_n(&pool[i], __ATOMIC_ACQUIRE);
		uint32_t owner = t ? atomic_load(&t->owner) : 0;
		if (owner)
			take(arg, owner);
	}
}

int af_thread_init(void)
{
	pool = af_pages(POOL_MAX * sizeof *pool, MAP_NORESERVE);
	if (!pool)
		return -errno;
	/*
	 * The first 32 keys live in the thread's own block; a later one would make
	 * pthread_setspecific allocate, which a handler must not. Without a key contexts of dead
	 * threads are found by their tid.
	 */
	exit_key_usable = !pthread_key_create(&exit_key, thread_exits) && exit_key < 32;
	return 0;
}

void af_thread_after_fork(void)
{
	/* The rings were not inherited (MADV_DONTFORK); the rest of the contexts is dead weight. */
	uint32_t nr = atomic_load(&pool_nr);

	for (uint32_t i = 0; i < nr; i++) {
		if (!pool[i])
			continue;
		munmap(pool[i]->unwinder, af_unwinder_size());
		if (pool[i]->allocs)
			munmap(pool[i]->allocs, af_unwinder_size());
		munmap(pool[i], sizeof *pool[i]);
		pool[i] = NULL;
	}
	atomic_store(&pool_nr, 0);
	atomic_store(&retry_ns, 0);
	self.context = NULL;
	self.inside = 0;
}

static bool thread_open_stream(struct af_thread_context *t, uint32_t n, uint32_t tid)
{
	struct af_session *session = af_inject_session();
	char name[32];

	if (!session)
		return false;
	int dir = af_inject_dir_open();
	if (dir < 0)
		return false;
	snprintf(name, sizeof name, "s%u-%u", af_inject_process(), n);
	int rc = af_stream_open_ring_at(&t->stream, dir, name,
	                                atomic_fetch_add(&session->nr_instances, 1) + 1,
	                                af_inject_process(), (uint32_t)getpid(), tid);
	close(dir);
	if (rc)
		return false;
	madvise(t->stream.ring, AF_RING_BYTES, MADV_DONTFORK);
	return true;
}

void af_thread_retire(void)
{
	uint32_t nr = atomic_exchange(&pool_nr, 0);

	for (uint32_t i = 0; i < nr && i < POOL_MAX; i++)
		if (pool[i]) {
			af_retired_put(pool[i]);
			pool[i] = NULL;
		}
	atomic_store(&retry_ns, 0);
	self.context = NULL;
	self.inside = 0;
}

static struct af_thread_context *thread_make(uint32_t n, uint32_t tid)
{
	struct af_unwinder *u = NULL;
	struct af_thread_context *t = af_retired_take(&u);

	if (!t) {
		t = af_pages(sizeof *t, MAP_NORESERVE);
		u = af_pages(af_unwinder_size(), MAP_NORESERVE);
	}

	if (!t || !u || !thread_open_stream(t, n, tid)) {
		if (t)
			munmap(t, sizeof *t);
		if (u)
			munmap(u, af_unwinder_size());
		return NULL;
	}
	af_unwinder_init(u);
	t->unwinder = u;
	atomic_store(&t->owner, tid);
	return t;
}

static struct af_thread_context *thread_new(uint32_t tid)
{
	uint64_t now = af_now_ns();

	if (now < atomic_load(&retry_ns) || atomic_load(&pool_nr) >= POOL_MAX ||
	    !af_inject_may_take_memory())
		return NULL;
	uint32_t n = atomic_fetch_add(&pool_nr, 1), after = n + 1;
	struct af_thread_context *t = n < POOL_MAX ? thread_make(n, tid) : NULL;
	if (t) {
		__atomic_store_n(&pool[n], t, __ATOMIC_RELEASE);
		return t;
	}
	/* The place is given back unless somebody took the next; then it stays empty. */
	atomic_compare_exchange_strong(&pool_nr, &after, n);
	atomic_store(&retry_ns, now + RETRY_NS);
	return NULL;
}

/* A free context, or with @dead one whose thread ended without telling us. */
static struct af_thread_context *pool_take(uint32_t tid, bool dead)
{
	uint32_t nr = atomic_load(&pool_nr);

	for (uint32_t i = 0; i < nr && i < POOL_MAX; i++) {
		struct af_thread_context *t = __atomic_load_n(&pool[i], __ATOMIC_ACQUIRE);
		if (t && af_owner_take(&t->owner, tid, dead))
			return t;
	}
	return NULL;
}

void af_thread_renamed(void)
{
	int saved = errno;
	struct af_thread_context *t = NULL;
	char name[16] = "";

	if (self.context && self.epoch == af_inject_fork_epoch() && !af_inject_in_vfork_child())
		t = af_thread_enter();
	if (t) {
		syscall(SYS_prctl, PR_GET_NAME, name);
		struct af_ev_comm ev = {.tid = thread_id()};
		struct af_tail tail = {name, (uint32_t)strnlen(name, sizeof name), 0};
		af_stream_put_tail(&t->stream, AF_KIND_COMM, af_now_ns(), &ev, sizeof ev, &tail, 1);
		af_thread_leave(t);
	}
	errno = saved;
}

static void thread_write_name(struct af_thread_context *t, uint32_t tid)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	struct af_ev_thread ev = {.tid = tid};
	struct af_tail tail = {name, (uint32_t)strnlen(name, sizeof name), 0};
	af_stream_put_tail(&t->stream, AF_KIND_THREAD, af_now_ns(), &ev, sizeof ev, &tail, 1);
}

static struct af_thread_context *thread_acquire(void)
{
	if (!af_inject_may_call())
		return NULL;
	uint32_t tid = thread_id();
	struct af_thread_context *t = pool_take(tid, false);

	/*
	 * Without a destructor look for the dead before adding one; now and then anyway, for
	 * threads that ended without destructors.
	 */
	if (!t && (!exit_key_usable || atomic_load(&pool_nr) % 64 == 63))
		t = pool_take(tid, true);
	if (!t)
		t = thread_new(tid);
	if (!t)
		return NULL;

	af_stream_owner(&t->stream, tid);
	/* A thread that ended without notice may have left calls open. */
	t->stream.ring->open.tid = tid;
	atomic_store_explicit(&t->stream.ring->open.depth, 0, memory_order_release);
	af_unwinder_init(t->unwinder);
	self.context = t;
	self.epoch = af_inject_fork_epoch();
	if (exit_key_usable && !self.exiting)
		pthread_setspecific(exit_key, t);
	thread_write_name(t, tid);
	return t;
}

/* The context of a thread that is inside already, or about to be. */
static struct af_thread_context *thread_context(void)
{
	if (self.context && self.epoch == af_inject_fork_epoch())
		return self.context;
	struct af_thread_context *t = thread_acquire();
	struct af_session *session = af_inject_session();
	if (!t && session)
		atomic_fetch_add(&session->lost_no_stream, 1);
	return t;
}

/* A new epoch: everything is defined anew where it is used again. Not in the midst of an event. */
static void thread_see_epoch(struct af_thread_context *t, const struct af_session *session)
{
	uint32_t epoch = atomic_load_explicit(&session->epoch, memory_order_relaxed);

	if (__builtin_expect(t->epoch == epoch, 1))
		return;
	t->epoch = epoch;
	af_callpath_forget(&t->callpaths);
	memset(&t->descriptors, 0, sizeof t->descriptors);
	af_unwind_forget_stacks(t->unwinder);
}

struct af_thread_context *af_thread_enter_slowly(void)
{
	struct af_session *session = af_inject_session();

	if (!session)
		return NULL;
	af_inject_check_fork();
	if (self.inside)
		return NULL;
	self.inside = 1;
	atomic_signal_fence(memory_order_seq_cst);

	struct af_thread_context *t = thread_context();
	if (t)
		thread_see_epoch(t, session);
	else
		self.inside = 0;
	return t;
}

void af_thread_leave_slowly(struct af_thread_context *t)
{
	do {
		self.inside = 1;
		atomic_signal_fence(memory_order_seq_cst);
		pending_write(t);
		if (self.exiting)
			thread_release(t);
		atomic_signal_fence(memory_order_seq_cst);
		self.inside = 0;
		atomic_signal_fence(memory_order_seq_cst);
		/* A sample may have come between the check and the exit. */
	} while (!self.exiting && atomic_load(&t->pending_ns));
}

/* Entries that are kept of a sample's stack. */
static unsigned sample_depth(const struct af_session *session)
{
	uint32_t depth = session->stack_depth;

	return depth && depth < AF_STACK_MAX ? depth : AF_STACK_MAX;
}

static void capture_python(const struct af_session *session, struct af_capture *c, unsigned depth)
{
	c->nr_py = 0;
	if (session->flags & AF_SESSION_PYTHON)
		c->nr_py = af_python_frames(c->py, depth, &c->py_stop);
}

/* The debugging mode: walk as well, and compare with what the id was defined as. */
static void replay_verify(struct af_thread_context *t, const struct af_regs *regs, uint32_t id)
{
	struct af_session *session = af_inject_session();
	struct af_capture *c = &t->hook;

	c->epoch = af_modules_epoch();
	c->nr = af_unwind_walk(t->unwinder, regs, false, c->pcs, AF_STACK_MAX, &c->stop);
	if (af_callpath_stack(&t->callpaths, &t->stream, c) != id)
		atomic_fetch_add(&session->replay_wrong, 1);
}

uint32_t af_thread_callpath(struct af_thread_context *t, const struct af_regs *regs)
{
	struct af_session *session = af_inject_session();
	struct af_capture *c = &t->hook;
	uint32_t stack = af_unwind_replay(t->unwinder, regs);

	if (!session)
		return 0;
	if (stack) {
		if (session->flags & AF_SESSION_VERIFY) {
			atomic_fetch_add(&session->replay_hits, 1);
			replay_verify(t, regs, stack);
		}
	} else {
		c->epoch = af_modules_epoch();
		c->nr = af_unwind_record(t->unwinder, regs, c->pcs, AF_STACK_MAX, &c->stop);
		stack = af_callpath_stack(&t->callpaths, &t->stream, c);
		if (stack)
			af_unwind_remember(t->unwinder, stack);
		atomic_fetch_add_explicit(&session->replay_misses, 1, memory_order_relaxed);
	}

	capture_python(session, c, AF_STACK_MAX);
	return af_callpath_path(&t->callpaths, &t->stream, stack, c);
}

static void sample_postpone(struct af_session *session, struct af_thread_context *t)
{
	const struct af_pending_sample *s = &t->sample;

	if (t->has_pending) {
		/* A second tick inside one hook: it stands at the place of the first. */
		t->pending.flags |= AF_SAMPLE_MERGED;
		atomic_fetch_add(&t->pending_ns, s->weight_ns);
		atomic_fetch_add(&session->lost_busy, 1);
		return;
	}
	t->pending.time_ns = s->time_ns;
	t->pending.flags = s->flags;
	t->pending.stack.nr = s->stack.nr;
	t->pending.stack.nr_py = s->stack.nr_py;
	t->pending.stack.stop = s->stack.stop;
	t->pending.stack.py_stop = s->stack.py_stop;
	t->pending.stack.epoch = s->stack.epoch;
	memcpy(t->pending.stack.pcs, s->stack.pcs, s->stack.nr * sizeof *s->stack.pcs);
	memcpy(t->pending.stack.py, s->stack.py, s->stack.nr_py * sizeof *s->stack.py);
	atomic_signal_fence(memory_order_seq_cst);
	t->has_pending = true;
	atomic_fetch_add(&t->pending_ns, s->weight_ns);
}

void af_thread_sample(const struct af_regs *regs, uint64_t weight_ns, uint32_t flags)
{
	struct af_session *session = af_inject_session();

	if (!session)
		return;
	af_inject_check_fork();
	uint32_t was_inside = self.inside;
	if (was_inside && (!self.context || self.epoch != af_inject_fork_epoch())) {
		/* The thread is just being given its context. */
		atomic_fetch_add(&session->lost_busy, 1);
		return;
	}
	self.inside = 1;
	struct af_thread_context *t = thread_context();
	if (!t) {
		self.inside = was_inside;
		return;
	}

	if (!was_inside)
		thread_see_epoch(t, session);
	struct af_pending_sample *s = &t->sample;
	s->time_ns = af_now_ns();
	s->weight_ns = weight_ns;
	s->flags = flags;
	s->stack.epoch = af_modules_epoch();
	s->stack.nr = af_unwind_walk(t->unwinder, regs, true, s->stack.pcs, sample_depth(session),
	                             &s->stack.stop);
	capture_python(session, &s->stack, sample_depth(session));
	if (was_inside) {
		sample_postpone(session, t);
		return;
	}
	sample_write(t, s, weight_ns);
	if (self.exiting)
		thread_release(t);
	self.inside = 0;
}
