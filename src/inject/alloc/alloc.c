#include "inject/alloc/alloc.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/pages.h"
#include "base/system/clock.h"
#include "inject/alloc/book.h"
#include "inject/alloc/sites.h"
#include "inject/core/inject.h"
#include "inject/core/thread.h"
#include "inject/python/python.h"
#include "inject/walk/modules.h"

enum {
	CALLS_A_CLOCK = 64,        /* of a thread, between two readings of the clock */
	BYTES_A_CLOCK = 1 << 20,   /* a block of this size has a reading of its own */
	WRITE_LEAST_NS = 50000000, /* between two times that counters are written … */
	WRITE_SHARE = 50,          /* … and this many times as long as it took */
	WAIT_NS = 2000000,
	WAITS = 1000,
};

/* Where the process is in its life, for this room. */
enum alloc_phase {
	ALLOC_EARLY,    /* libaflame.so has not begun: constructors of others come first */
	ALLOC_STARTING, /* … is beginning */
	ALLOC_ON,
	ALLOC_OFF,
	ALLOC_ENDED, /* its destructor has run: those of others may come */
};

/* Zeros are a beginning, which is what a forked child finds. */
struct alloc_state {
	struct af_book book;
	struct af_sites sites;
	_Atomic uint32_t writing;
	_Atomic uint64_t next_write_ns;
	_Atomic uint64_t not_followed; /* blocks that the book had no room for */
	uint64_t had_lost;
};

static _Atomic(struct alloc_state *) shared_state;
static _Atomic uint32_t phase;

/* The calling thread's. */
static __thread struct {
	bool busy; /* inside this room: calls that come meanwhile are a handler's, or our own */
	uint32_t calls;
	const struct af_thread_context *prepared; /* its unwinder belongs to this thread */
} self;

/* NULL: there is no memory. */
static struct alloc_state *state(void)
{
	struct alloc_state *s = atomic_load_explicit(&shared_state, memory_order_acquire);
	struct alloc_state *none = NULL;

	if (__builtin_expect(s != NULL, 1))
		return s;
	s = af_pages(sizeof *s, MAP_NORESERVE);
	if (!s)
		return NULL;
	if (!madvise(s, sizeof *s, MADV_WIPEONFORK) &&
	    atomic_compare_exchange_strong(&shared_state, &none, s))
		return s;
	munmap(s, sizeof *s);
	return none;
}

/* Ids that this unwinder remembers are ours, those of the context's other one are the stream's. */
static struct af_unwinder *unwinder_of(struct af_thread_context *t)
{
	if (__builtin_expect(self.prepared == t && t->allocs != NULL, 1))
		return t->allocs;
	if (!t->allocs)
		t->allocs = af_pages(af_unwinder_size(), MAP_NORESERVE);
	if (t->allocs)
		af_unwinder_init(t->allocs);
	self.prepared = t;
	return t->allocs;
}

static uint32_t python_stack(struct alloc_state *s, struct af_capture *c)
{
	const struct af_session *session = af_inject_session();
	uint32_t nr = session && session->flags & AF_SESSION_PYTHON
	                  ? af_python_frames(c->py, AF_STACK_MAX, &c->py_stop)
	                  : 0;

	/* No native stack has this epoch. */
	return nr ? af_sites_stack(&s->sites, c->py, nr, c->py_stop, UINT32_MAX) : 0;
}

static uint32_t site_walk(struct alloc_state *s, struct af_thread_context *t,
                          const struct af_regs *regs)
{
	struct af_unwinder *u = unwinder_of(t);
	struct af_capture *c = &t->hook;
	uint32_t stack = u ? af_unwind_replay(u, regs) : 0;

	if (u && !stack) {
		c->epoch = af_modules_epoch();
		c->nr = af_unwind_record(u, regs, c->pcs, AF_STACK_MAX, &c->stop);
		stack = af_sites_stack(&s->sites, c->pcs, c->nr, c->stop, c->epoch);
		af_unwind_remember(u, stack);
	}
	uint32_t site = stack ? af_sites_site(&s->sites, stack, python_stack(s, c)) : 0;
	if (site > AF_SITE_UNKNOWN)
		return site;
	atomic_fetch_add_explicit(&s->sites.no_room, 1, memory_order_relaxed);
	return AF_SITE_UNKNOWN;
}

/* Before libaflame.so has begun there are no modules to walk by: the caller is all of the stack. */
static uint32_t site_early(struct alloc_state *s, const struct af_regs *regs)
{
	const uint64_t pc = regs->pc - 1;
	uint32_t stack = af_sites_stack(&s->sites, &pc, 1, AF_STOP_NOT_WALKED, 0);

	return af_sites_site(&s->sites, stack, 0);
}

static void count(_Atomic uint64_t *of, uint64_t n)
{
	atomic_fetch_add_explicit(of, n, memory_order_relaxed);
}

static void freed_count(struct alloc_state *s, const struct af_alloc_block *block)
{
	struct af_site *site = &s->sites.sites[block->site];

	if (!block->site)
		return;
	count(&site->frees, 1);
	count(&site->freed_bytes, block->bytes);
}

static void took_count(struct alloc_state *s, const void *p, const struct af_alloc_block *block)
{
	struct af_site *site = &s->sites.sites[block->site];
	struct af_alloc_block old;

	count(&site->allocations, 1);
	count(&site->bytes, block->bytes);
	if (!af_book_add(&s->book, p, block, &old))
		count(&s->not_followed, 1);
	/* Its end was missed: a handler freed it in the middle of one of our functions. */
	freed_count(s, &old);
}

/* The call path of @site in the stream of @t; false: it could not be defined now. */
static bool site_define(struct alloc_state *s, struct af_thread_context *t, struct af_site *site)
{
	struct af_capture *c = &t->hook;

	if (site->instance == t->stream.instance && site->callpath)
		return true;
	site->callpath = 0;
	if (!af_sites_capture(&s->sites, site, c))
		return true;
	uint32_t stack = af_callpath_stack(&t->callpaths, &t->stream, c);
	site->callpath = af_callpath_path(&t->callpaths, &t->stream, stack, c);
	site->instance = t->stream.instance;
	return site->callpath != 0;
}

/* For its event and definitions: an event that is written later is not to be counted as lost. */
static bool site_has_room(const struct alloc_state *s, struct af_thread_context *t,
                          const struct af_site *site)
{
	size_t words = s->sites.stacks[site->stack].nr + s->sites.stacks[site->py].nr;
	size_t size = words * sizeof(uint64_t) + 512;

	return af_stream_has_room(&t->stream, size) ||
	       af_stream_next_packet(&t->stream, (uint32_t)size, af_now_ns());
}

/* While writing. False: there is no room in the stream now. */
static bool site_write(struct alloc_state *s, struct af_thread_context *t, struct af_site *site)
{
	/* Blocks were allocated before they were freed. */
	uint64_t frees = atomic_load(&site->frees), freed_bytes = atomic_load(&site->freed_bytes),
		 allocations = atomic_load(&site->allocations), bytes = atomic_load(&site->bytes);

	if (allocations == site->had_allocations && bytes == site->had_bytes &&
	    frees == site->had_frees && freed_bytes == site->had_freed_bytes)
		return true;
	if (!site_has_room(s, t, site) || !site_define(s, t, site) ||
	    !af_stream_put(&t->stream, allocated, af_now_ns(), .callpath = site->callpath,
	                   .allocations = allocations - site->had_allocations,
	                   .bytes = bytes - site->had_bytes, .frees = frees - site->had_frees,
	                   .freed_bytes = freed_bytes - site->had_freed_bytes))
		return false;
	site->had_allocations = allocations;
	site->had_bytes = bytes;
	site->had_frees = frees;
	site->had_freed_bytes = freed_bytes;
	return true;
}

static void lost_write(struct alloc_state *s, struct af_thread_context *t)
{
	uint64_t lost = atomic_load(&s->not_followed) + atomic_load(&s->sites.no_room);

	if (lost != s->had_lost &&
	    af_stream_put(&t->stream, lost, af_now_ns(), .reason = AF_LOST_TABLE_FULL,
	                  .count = lost - s->had_lost))
		s->had_lost = lost;
}

static void wait_a_moment(void)
{
	nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
}

/* With @all, wait for another thread that writes, and for the recorder to make room. */
static void counters_write(struct alloc_state *s, struct af_thread_context *t, bool all)
{
	uint32_t waits = 0, first = 0;

	while (!atomic_compare_exchange_strong(&s->writing, &first, 1)) {
		if (!all || ++waits > WAITS)
			return;
		first = 0;
		wait_a_moment();
	}
	uint64_t begin_ns = af_clock_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 1; i <= af_sites_nr(&s->sites); i++) {
		while (!site_write(s, t, &s->sites.sites[i]) && all) {
			if (++waits > WAITS) {
				af_stream_discard(&t->stream, 1);
				break;
			}
			wait_a_moment();
		}
	}
	lost_write(s, t);
	uint64_t end_ns = af_clock_ns(CLOCK_MONOTONIC);
	atomic_store(&s->next_write_ns,
	             end_ns + WRITE_LEAST_NS + (end_ns - begin_ns) * WRITE_SHARE);
	atomic_store_explicit(&s->writing, 0, memory_order_release);
}

/* Now and then, by calls; this clock is cheap. */
static bool is_time_to_write(struct alloc_state *s, uint64_t bytes)
{
	if (++self.calls % CALLS_A_CLOCK && bytes < BYTES_A_CLOCK)
		return false;
	return af_clock_ns(CLOCK_MONOTONIC_COARSE) >=
	       atomic_load_explicit(&s->next_write_ns, memory_order_relaxed);
}

static void write_in_time(struct alloc_state *s, struct af_thread_context *t, uint32_t site,
                          uint64_t bytes)
{
	uint32_t first = 0;

	if (__builtin_expect(atomic_load_explicit(&phase, memory_order_relaxed) == ALLOC_ENDED,
	                     0)) {
		if (!atomic_compare_exchange_strong(&s->writing, &first, 1))
			return;
		site_write(s, t, &s->sites.sites[site]);
		atomic_store_explicit(&s->writing, 0, memory_order_release);
	} else if (__builtin_expect(is_time_to_write(s, bytes), 0)) {
		counters_write(s, t, false);
	}
}

/* Recording of this thread's allocations, or NULL. */
static void took_now(struct alloc_state *s, const void *p, size_t bytes, const struct af_regs *regs)
{
	struct af_alloc_block block = {.bytes = bytes, .site = AF_SITE_UNKNOWN};

	const struct af_session *session = af_inject_recording();

	if (!session || af_inject_is_held(session) || af_thread_now.inside)
		return;
	struct af_thread_context *t = af_thread_enter();
	if (t)
		block.site = site_walk(s, t, regs);
	took_count(s, p, &block);
	if (!t)
		return;
	write_in_time(s, t, block.site, bytes);
	af_thread_leave(t);
}

static void alloc_took(const void *p, size_t bytes, const struct af_regs *regs)
{
	uint32_t now = atomic_load_explicit(&phase, memory_order_relaxed);

	if (!p || self.busy || now == ALLOC_OFF || now == ALLOC_STARTING)
		return;
	int saved = errno;
	self.busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	struct alloc_state *s = state();
	if (s && now == ALLOC_EARLY) {
		struct af_alloc_block block = {.bytes = bytes, .site = site_early(s, regs)};
		took_count(s, p, &block);
	} else if (s) {
		took_now(s, p, bytes, regs);
	}
	atomic_signal_fence(memory_order_seq_cst);
	self.busy = false;
	errno = saved;
}

static void alloc_gone(const void *p, struct af_alloc_block *block)
{
	struct alloc_state *s = atomic_load_explicit(&shared_state, memory_order_acquire);

	block->site = 0;
	if (!p || !s || self.busy)
		return;
	/* A program may have forbidden itself the system call of a lock that is held. */
	if (atomic_load_explicit(&phase, memory_order_relaxed) != ALLOC_EARLY &&
	    !af_inject_session())
		return;
	self.busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	af_book_remove(&s->book, p, block);
	atomic_signal_fence(memory_order_seq_cst);
	self.busy = false;
}

static void alloc_freed(const struct af_alloc_block *block)
{
	struct alloc_state *s = atomic_load_explicit(&shared_state, memory_order_acquire);

	if (!block->site || !s || self.busy)
		return;
	freed_count(s, block);
	uint32_t now = atomic_load_explicit(&phase, memory_order_relaxed);
	bool due = now == ALLOC_ENDED || (now == ALLOC_ON && is_time_to_write(s, 0));
	if (__builtin_expect(!due || af_thread_now.inside, 1))
		return;
	int saved = errno;
	self.busy = true;
	struct af_thread_context *t = af_thread_enter();
	if (t) {
		/* The clock has been read. */
		self.calls = CALLS_A_CLOCK - 1;
		write_in_time(s, t, block->site, 0);
		af_thread_leave(t);
	}
	self.busy = false;
	errno = saved;
}

static void alloc_kept(const void *p, const struct af_alloc_block *block)
{
	struct alloc_state *s = atomic_load_explicit(&shared_state, memory_order_acquire);
	struct af_alloc_block old;

	if (!block->site || !s || self.busy)
		return;
	self.busy = true;
	af_book_add(&s->book, p, block, &old);
	self.busy = false;
}

static void alloc_seen(const char *file)
{
	struct af_thread_context *t;
	const struct af_ev_process_note ev = {.process = af_inject_process()};
	const char *value = file ? file : "seen";

	if (atomic_load(&phase) != ALLOC_ON || !(t = af_thread_enter()))
		return;
	struct af_tail tail[] = {{"allocations", 11, 0}, {value, (uint32_t)strlen(value), 0}};
	af_stream_put_tail(&t->stream, AF_KIND_PROCESS_NOTE, af_now_ns(), &ev, sizeof ev, tail, 2);
	af_thread_leave(t);
}

void af_alloc_start(void)
{
	atomic_store(&phase, ALLOC_STARTING);
}

void af_alloc_started(void)
{
	const struct af_session *session = af_inject_session();
	bool wanted = session && session->flags & AF_SESSION_ALLOC;

	atomic_store(&phase, wanted ? ALLOC_ON : ALLOC_OFF);
}

void af_alloc_flush(void)
{
	struct alloc_state *s = atomic_load(&shared_state);
	uint32_t now = atomic_load(&phase);

	if (!s || self.busy || (now != ALLOC_ON && now != ALLOC_ENDED) || !af_inject_session() ||
	    (af_inject_in_vfork_child() && !af_thread_has_context()))
		return;
	int saved = errno;
	self.busy = true;
	struct af_thread_context *t = af_thread_enter();
	if (t) {
		counters_write(s, t, true);
		af_thread_leave(t);
	}
	self.busy = false;
	errno = saved;
}

void af_alloc_process_ends(void)
{
	af_alloc_flush();
	if (atomic_load(&phase) == ALLOC_ON)
		atomic_store(&phase, ALLOC_ENDED);
}

__attribute__((visibility("default"))) const struct af_alloc_shared *aflame_allocs(uint32_t version)
{
	static const struct af_alloc_shared shared = {
	    .took = alloc_took,
	    .gone = alloc_gone,
	    .freed = alloc_freed,
	    .kept = alloc_kept,
	    .seen = alloc_seen,
	};

	return version == AF_ALLOC_SHARED_VERSION ? &shared : NULL;
}
