#include "inject/api/api.h"

#include <string.h>

#include "inject/api/clock.h"
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

/* Two moments may be some ns in the wrong order (inject/api/clock.h). */
static inline uint64_t took_ns(uint64_t begin, uint64_t end)
{
	return end > begin ? end - begin : 0;
}

static inline void frame_note(struct call_frame *f, const struct af_api_hook *c, uint64_t sp)
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
static void depth_settle(uint64_t sp)
{
	while (self.depth &&
	       (self.depth > AF_OPEN_CALLS || frame_is_gone(&self.frames[self.depth - 1], sp)))
		self.depth--;
}

/* The thread's place for open calls, NULL where it has none in this process yet. */
static inline struct af_open_calls *open_calls(void)
{
	const struct af_thread_now *now = &af_thread_now;

	if (__builtin_expect(!now->context || now->epoch != af_inject_fork_epoch(), 0))
		return NULL;
	return &now->context->stream.ring->open;
}

static inline void open_write(struct af_open_calls *open, const struct af_api_hook *c,
                              uint16_t kind)
{
	struct af_open_call *o = &open->calls[c->depth];

	if (__builtin_expect(c->depth >= AF_OPEN_CALLS, 0))
		return;
	o->kind = kind;
	o->nr_args = 0;
	o->begin_ns = c->begin;
	atomic_store_explicit(&open->depth, c->depth + 1u, memory_order_release);
}

/* The first call of a thread, or of a forked child: always true. */
static __attribute__((noinline, cold)) bool open_begin(const struct af_api_hook *c, uint16_t kind)
{
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return true;
	open_write(&t->stream.ring->open, c, kind);
	af_thread_leave(t);
	return true;
}

static inline __attribute__((always_inline)) bool open_call(struct af_api_hook *c, uint16_t kind)
{
	struct af_open_calls *open = open_calls();

	c->begin = af_call_now_ns();
	if (__builtin_expect(!open, 0))
		return open_begin(c, kind);
	open_write(open, c, kind);
	return true;
}

static inline __attribute__((always_inline)) bool enter(struct af_api_hook *c, uint16_t kind,
                                                        uint8_t how, uint64_t sp, uint32_t depth)
{
	if (__builtin_expect(!af_inject_recording() || self.muted || depth >= UINT8_MAX, 0))
		return false;
	c->how = how;
	c->depth = (uint8_t)depth;
	c->flags = 0;
	c->variant = 0;
	self.depth = depth + 1;
	if (!depth)
		self.correlation = 0;
	bool entered = open_call(c, kind);
	if (depth < AF_OPEN_CALLS)
		frame_note(&self.frames[depth], c, sp);
	return entered;
}

/* A call within another one, or in a forked child that does not know yet that it is one. */
static __attribute__((noinline)) bool enter_slowly(struct af_api_hook *c, uint16_t kind,
                                                   uint8_t how, uint64_t sp)
{
	af_inject_check_fork();
	depth_settle(sp);
	return enter(c, kind, how, sp, self.depth);
}

bool af_api_enter(struct af_api_hook *c, uint16_t kind, uint8_t how, uint64_t sp)
{
	if (__builtin_expect(self.depth || af_inject_is_forked(), 0))
		return enter_slowly(c, kind, how, sp);
	return enter(c, kind, how, sp, 0);
}

void af_api_waits(struct af_api_hook *c, const void *args, size_t size)
{
	struct af_open_calls *open = open_calls();

	if (!open || c->depth >= AF_OPEN_CALLS)
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

uint16_t af_api_under_way(void)
{
	struct af_open_calls *open = self.depth ? open_calls() : NULL;

	return open && self.depth <= AF_OPEN_CALLS ? open->calls[self.depth - 1].kind : 0;
}

uint64_t af_api_began(void)
{
	return self.depth && self.depth <= AF_OPEN_CALLS ? self.frames[self.depth - 1].begin : 0;
}

/* The call is over, and the next one of its depth may begin. */
static inline void call_over(const struct af_api_hook *c)
{
	struct af_open_calls *open = open_calls();

	self.depth = c->depth;
	af_api_caller = NULL;
	if (open)
		atomic_store_explicit(&open->depth, c->depth, memory_order_release);
}

static inline void *event_begin(struct af_api_hook *c, uint16_t kind, struct af_thread_context *t,
                                uint64_t end, uint32_t callpath, size_t fixed, size_t room)
{
	/* Definitions of a new stack are later than the end. */
	uint64_t time_ns = end < t->stream.last_ns ? t->stream.last_ns : end;
	struct af_api_head *h =
	    af_stream_begin(&t->stream, (enum af_kind)kind, time_ns, fixed + room);

	if (__builtin_expect(!h, 0))
		return NULL;
	h->callpath = callpath;
	h->correlation = self.correlation;
	h->duration_ns = af_u48_make(took_ns(c->begin, time_ns));
	h->depth = c->depth;
	h->flags = c->failed ? AF_API_CALL_FAILED : 0;
	c->thread = t;
	c->head = h;
	c->at = (char *)h + fixed;
	return h;
}

/* In whatever state the thread and its stream are; @t is NULL or entered. */
static __attribute__((noinline)) void *end_slowly(struct af_api_hook *c, uint16_t kind,
                                                  uint64_t end, size_t fixed, size_t room,
                                                  struct af_thread_context *t)
{
	call_over(c);
	if (!t)
		t = af_thread_enter();
	if (!t)
		return NULL;
	enum af_call_category category =
	    c->how & AF_HOW_LAUNCH ? AF_CATEGORY_LAUNCH : AF_CATEGORY_OTHER;
	uint32_t callpath = c->how & AF_HOW_STACK ? af_callpath_call(t, &c->regs, category) : 0;
	void *event = event_begin(c, kind, t, end, callpath, fixed, room);
	if (!event)
		af_thread_leave(t);
	return event;
}

/* The usual case calls nothing: then there are no registers to save. */
void *af_api_end(struct af_api_hook *c, uint16_t kind, bool failed, size_t fixed, size_t room)
{
	uint64_t end = af_call_now_ns();
	struct af_thread_context *t = af_thread_try_enter();

	c->failed = failed;
	if (__builtin_expect(!t || c->how & AF_HOW_STACK, 0))
		return end_slowly(c, kind, end, fixed, room, t);
	self.depth = c->depth;
	af_api_caller = NULL;
	atomic_store_explicit(&t->stream.ring->open.depth, c->depth, memory_order_release);
	if (__builtin_expect(!af_stream_has_room(&t->stream, fixed + room), 0))
		return end_slowly(c, kind, end, fixed, room, t);
	return event_begin(c, kind, t, end, 0, fixed, room);
}

void af_api_tally(struct af_api_hook *c, uint16_t kind, bool failed, uint64_t bytes)
{
	uint64_t duration_ns = took_ns(c->begin, af_call_now_ns());

	call_over(c);
	struct af_thread_context *t = af_thread_enter();
	if (!t)
		return;
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
	call_over(c);
}

void af_api_thread_ends(struct af_thread_context *t)
{
	struct af_open_calls *open = &t->stream.ring->open;

	af_sums_end(t);
	uint32_t depth = atomic_load_explicit(&open->depth, memory_order_relaxed);
	for (uint32_t i = 0; i < depth && i < self.depth && i < AF_OPEN_CALLS; i++) {
		const struct af_open_call *c = &open->calls[i];
		const struct af_ev_call_open ev = {
		    .tid = open->tid,
		    .function = c->kind,
		    .begin_ns = c->begin_ns,
		    .depth = (uint8_t)i,
		};
		const struct af_tail args = {c->args, c->nr_args * (uint32_t)sizeof *c->args,
		                             sizeof *c->args};
		af_stream_put_tail(&t->stream, AF_KIND_CALL_OPEN, af_now_ns(), &ev, sizeof ev,
		                   &args, 1);
	}
	atomic_store_explicit(&open->depth, 0, memory_order_release);
	self.depth = 0;
}
