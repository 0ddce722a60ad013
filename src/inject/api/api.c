#include "inject/api/api.h"

#include <string.h>

#include "base/system/clock.h"
#include "inject/api/open.h"
#include "inject/api/sums.h"
#include "inject/walk/guard.h"

__thread const struct af_regs *af_api_caller;

static const _Atomic uint8_t none[AF_API_KINDS];
const _Atomic uint8_t *af_api_hows = none;

/* Where a call under way has its wrapper, and how that is known again. */
struct call_frame {
	uint64_t sp;
	const struct af_api_hook *hook; /* on the stack below @sp; NULL: elsewhere */
	uint64_t begin, back;           /* of the hook; where the wrapper returns to */
};

/* The thread's calls under way. */
static __thread struct {
	uint32_t depth;
	uint32_t correlation;
	bool muted;
	struct call_frame frames[AF_OPEN_CALLS];
	struct af_thread_context *context; /* that the next is a part of */
	struct af_open_calls *open;        /* in shared memory, or NULL */
	uint32_t open_epoch;               /* fork epoch that it belongs to */
} self;

void af_api_mute(void)
{
	self.muted = true;
}

void af_api_start(void)
{
	struct af_session *session = af_inject_session();

	if (session)
		af_api_hows = session->how;
}

bool af_api_is_traced(uint16_t first, uint16_t last)
{
	const struct af_session *session = af_inject_session();

	for (uint32_t kind = first; session && kind <= last; kind++)
		if (session->how[kind - AF_KIND_API])
			return true;
	return false;
}

/* A moment: as the processor counts, or on the trace's clock. */
static inline uint64_t moment(bool by_ticks)
{
	return by_ticks ? af_clock_ticks() : af_now_ns();
}

/*
 * The end of @c and its duration in ns. The recorder may be about to set the numbers anew: a few
 * tries later it has.
 */
static inline uint64_t ticks_end(const struct af_session *s, const struct af_api_hook *c,
                                 uint64_t *duration_ns)
{
	uint64_t ticks = af_clock_ticks();

	for (int tries = 0; tries < 1000; tries++) {
		uint32_t seq = atomic_load_explicit(&s->tsc_seq, memory_order_acquire);
		uint64_t at = atomic_load_explicit(&s->tsc_at, memory_order_relaxed);
		uint64_t ns = atomic_load_explicit(&s->tsc_ns, memory_order_relaxed);
		uint32_t mult = atomic_load_explicit(&s->tsc_mult, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (__builtin_expect(
			seq & 1 || atomic_load_explicit(&s->tsc_seq, memory_order_relaxed) != seq,
			0))
			continue;
		*duration_ns = ((unsigned __int128)(ticks - c->begin) * mult) >> 32;
		return ns + (uint64_t)(((unsigned __int128)(ticks - at) * mult) >> 32);
	}
	*duration_ns = 0;
	return af_now_ns();
}

static void frame_note(struct call_frame *f, const struct af_api_hook *c, uint64_t sp)
{
	enum { FRAME_MAX = 64 << 10 };

	f->sp = sp;
	f->hook = sp - (uint64_t)c < FRAME_MAX ? c : NULL;
	f->begin = c->begin;
	if (f->hook)
		memcpy(&f->back, (const char *)sp + sizeof f->back, sizeof f->back);
}

/*
 * A frame below which another has begun is gone; and one that has been written over. A program that
 * left it by longjmp() may call from farther down than it was.
 */
static bool frame_is_gone(const struct call_frame *f, uint64_t sp)
{
	uint64_t begin, back;

	if (f->sp <= sp)
		return true;
	return f->hook &&
	       (af_guarded_read(&back, f->sp + sizeof back, sizeof back) || back != f->back ||
	        af_guarded_read(&begin, (uint64_t)&f->hook->begin, sizeof begin) ||
	        begin != f->begin);
}

/* Calls that were left without a return (longjmp, an exception) are over: their frames are gone. */
static inline void depth_settle(uint64_t sp)
{
	while (self.depth &&
	       (self.depth > AF_OPEN_CALLS || frame_is_gone(&self.frames[self.depth - 1], sp)))
		self.depth--;
}

/* The thread's context may be another than last time: so may its place for open calls. */
static void open_find(struct af_thread_context *t)
{
	self.context = t;
	self.open = t->stream.ring ? &t->stream.ring->open : NULL;
	self.open_epoch = af_inject_fork_epoch();
	if (self.open)
		self.open->tid = atomic_load_explicit(&t->owner, memory_order_relaxed);
}

static void open_set(const struct af_api_hook *c, uint16_t kind)
{
	if (__builtin_expect(!self.open || self.open_epoch != af_inject_fork_epoch(), 0)) {
		struct af_thread_context *t = af_thread_enter();
		if (!t)
			return;
		open_find(t);
		af_thread_leave(t);
	}
	struct af_open_calls *open = self.open;
	if (!open || c->depth >= AF_OPEN_CALLS)
		return;
	struct af_open_call *o = &open->calls[c->depth];
	o->kind = kind;
	o->nr_args = 0;
	o->by_ticks = c->by_ticks;
	o->begin = c->begin;
	atomic_store_explicit(&open->depth, c->depth + 1u, memory_order_release);
}

static void open_end(const struct af_api_hook *c)
{
	if (self.open && self.open_epoch == af_inject_fork_epoch())
		atomic_store_explicit(&self.open->depth, c->depth, memory_order_release);
}

bool af_api_enter(struct af_api_hook *c, uint16_t kind, uint8_t how, uint64_t sp)
{
	af_inject_check_fork();
	const struct af_session *session = af_inject_recording();
	if (!session)
		return false;
	depth_settle(sp);
	if (self.muted || self.depth >= UINT8_MAX)
		return false;
	c->how = how;
	c->flags = 0;
	c->variant = 0;
	c->depth = (uint8_t)self.depth;
	self.depth++;
	if (!c->depth)
		self.correlation = 0;
	c->by_ticks = atomic_load_explicit(&session->tsc_mult, memory_order_relaxed) != 0;
	c->begin = moment(c->by_ticks);
	if (c->depth < AF_OPEN_CALLS)
		frame_note(&self.frames[c->depth], c, sp);
	open_set(c, kind);
	return true;
}

void af_api_waits(struct af_api_hook *c, const void *args, size_t size)
{
	struct af_open_calls *open = self.open;

	if (!open || self.open_epoch != af_inject_fork_epoch() || c->depth >= AF_OPEN_CALLS)
		return;
	struct af_open_call *o = &open->calls[c->depth];
	size_t most = size < sizeof o->args ? size : sizeof o->args;
	memcpy(o->args, args, most);
	o->nr_args = (uint16_t)(most / sizeof *o->args);
}

/* The bounds of libaflame.so, by the linker. */
extern const char __ehdr_start[], etext[];

void af_api_skip_wrapper(struct af_regs *regs)
{
	if (af_api_caller && regs->pc >= (uint64_t)__ehdr_start && regs->pc < (uint64_t)etext)
		*regs = *af_api_caller;
}

void af_api_correlate(uint32_t correlation)
{
	self.correlation = correlation;
}

/* The call is over: its end, and how long it took. */
static inline uint64_t call_end(struct af_api_hook *c, uint64_t *duration_ns)
{
	const struct af_session *session = af_inject_session();
	uint64_t end_ns;

	if (c->by_ticks && session) {
		end_ns = ticks_end(session, c, duration_ns);
	} else {
		end_ns = af_now_ns();
		*duration_ns = end_ns - c->begin;
	}
	self.depth = c->depth;
	af_api_caller = NULL;
	open_end(c);
	return end_ns;
}

void *af_api_end(struct af_api_hook *c, uint16_t kind, bool failed, size_t fixed, size_t room)
{
	uint64_t duration_ns, end_ns = call_end(c, &duration_ns);
	struct af_thread_context *t = af_thread_enter();
	if (!t)
		return NULL;
	if (__builtin_expect(self.context != t, 0))
		open_find(t);
	uint32_t callpath = c->how & AF_HOW_STACK ? af_thread_callpath(t, &c->regs) : 0;
	/* Definitions of a new stack are later than the end. */
	uint64_t time_ns = end_ns < t->stream.last_ns ? t->stream.last_ns : end_ns;
	duration_ns += time_ns - end_ns;
	struct af_api_head *h =
	    af_stream_begin(&t->stream, (enum af_kind)kind, time_ns, fixed + room);
	if (!h) {
		af_thread_leave(t);
		return NULL;
	}
	h->callpath = callpath;
	h->correlation = self.correlation;
	h->duration_ns = af_u48_make(duration_ns);
	h->depth = c->depth;
	h->flags = failed ? AF_API_CALL_FAILED : 0;
	c->thread = t;
	c->head = h;
	c->failed = failed;
	c->at = (char *)h + fixed;
	return h;
}

void af_api_tally(struct af_api_hook *c, uint16_t kind, bool failed, uint64_t bytes)
{
	uint64_t duration_ns;

	call_end(c, &duration_ns);
	struct af_thread_context *t = af_thread_enter();
	if (!t)
		return;
	if (__builtin_expect(self.context != t, 0))
		open_find(t);
	af_sums_add(t, kind, failed, duration_ns, bytes);
	af_thread_leave(t);
}

void af_api_done(struct af_api_hook *c)
{
	af_stream_end(&c->thread->stream);
	af_thread_leave(c->thread);
}

void af_api_done_trimmed(struct af_api_hook *c)
{
	c->head->flags |= c->flags;
	af_stream_trim(&c->thread->stream, (size_t)(c->at - (char *)c->head));
	af_api_done(c);
}

void af_api_drop(struct af_api_hook *c)
{
	self.depth = c->depth;
	af_api_caller = NULL;
	open_end(c);
}

void af_api_thread_ends(struct af_thread_context *t)
{
	struct af_open_calls *open = self.open;

	af_sums_end(t);
	if (!open || self.context != t || self.open_epoch != af_inject_fork_epoch())
		return;
	for (uint32_t i = 0; i < self.depth && i < AF_OPEN_CALLS; i++) {
		const struct af_open_call *c = &open->calls[i];
		const struct af_ev_call_open ev = {
		    .tid = open->tid,
		    .function = c->kind,
		    .begin_ns = c->by_ticks ? 0 : c->begin,
		    .depth = (uint8_t)i,
		};
		const struct af_tail args = {c->args, c->nr_args * (uint32_t)sizeof *c->args,
		                             sizeof *c->args};
		af_stream_put_tail(&t->stream, AF_KIND_CALL_OPEN, af_now_ns(), &ev, sizeof ev,
		                   &args, 1);
	}
	atomic_store_explicit(&open->depth, 0, memory_order_release);
	self.depth = 0;
	self.context = NULL;
	self.open = NULL;
}
