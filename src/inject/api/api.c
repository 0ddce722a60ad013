#include "inject/api/api.h"

#include <string.h>

#include "inject/api/open.h"
#include "inject/arch/arch.h"

__thread const struct af_regs *af_api_caller;

static const _Atomic uint8_t none[AF_API_KINDS];
const _Atomic uint8_t *af_api_hows = none;

/* The thread's calls under way. */
static __thread struct {
	uint32_t depth;
	uint32_t correlation;
	uint64_t sp[AF_OPEN_CALLS];
	struct af_open_calls *open; /* in shared memory, or NULL */
	uint32_t open_epoch;        /* fork epoch that it belongs to */
} self;

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

/* Reads between the recorder's writes; after some tries the system's clock is as good. */
static bool tsc_now(const struct af_session *s, uint64_t *ns)
{
	uint32_t seq = atomic_load_explicit(&s->tsc_seq, memory_order_acquire);
	uint64_t at = atomic_load_explicit(&s->tsc_at, memory_order_relaxed);
	uint64_t base = atomic_load_explicit(&s->tsc_ns, memory_order_relaxed);
	uint32_t mult = atomic_load_explicit(&s->tsc_mult, memory_order_relaxed);

	atomic_thread_fence(memory_order_acquire);
	if (!mult || seq & 1 ||
	    __builtin_expect(atomic_load_explicit(&s->tsc_seq, memory_order_relaxed) != seq, 0))
		return false;
	*ns = base + (uint64_t)(((unsigned __int128)(af_arch_ticks() - at) * mult) >> 32);
	return true;
}

uint64_t af_api_now(void)
{
	const struct af_session *s = af_inject_session();
	uint64_t ns;

	if (s && tsc_now(s, &ns))
		return ns;
	return af_now_ns();
}

/* Calls that were left without a return (longjmp, an exception) are over: their frames are gone. */
static inline void depth_settle(uint64_t sp)
{
	while (self.depth && (self.depth > AF_OPEN_CALLS || self.sp[self.depth - 1] <= sp))
		self.depth--;
}

static void open_set(const struct af_api_hook *c, uint16_t kind)
{
	struct af_open_calls *open = self.open;

	if (!open || self.open_epoch != af_inject_fork_epoch() || c->depth >= AF_OPEN_CALLS)
		return;
	struct af_open_call *o = &open->calls[c->depth];
	o->kind = kind;
	o->nr_args = 0;
	o->begin_ns = c->begin_ns;
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
	if (!af_inject_recording())
		return false;
	depth_settle(sp);
	if (self.depth >= UINT8_MAX)
		return false;
	c->how = how;
	c->flags = 0;
	c->variant = 0;
	c->depth = (uint8_t)self.depth;
	if (self.depth < AF_OPEN_CALLS)
		self.sp[self.depth] = sp;
	self.depth++;
	if (!c->depth)
		self.correlation = 0;
	c->begin_ns = af_api_now();
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

/* The thread's context may be another than last time: so may its place for open calls. */
static void open_find(struct af_thread_context *t)
{
	self.open = t->stream.ring ? &t->stream.ring->open : NULL;
	self.open_epoch = af_inject_fork_epoch();
}

void *af_api_end(struct af_api_hook *c, uint16_t kind, bool failed, size_t fixed, size_t room)
{
	uint64_t end_ns = af_api_now();

	self.depth = c->depth;
	af_api_caller = NULL;
	open_end(c);
	struct af_thread_context *t = af_thread_enter();
	if (!t)
		return NULL;
	open_find(t);
	uint32_t callpath = c->how & AF_HOW_STACK ? af_thread_callpath(t, &c->regs) : 0;
	/* Definitions of a new stack are later than the end. */
	uint64_t time_ns = end_ns < t->stream.last_ns ? t->stream.last_ns : end_ns;
	struct af_api_head *h =
	    af_stream_begin(&t->stream, (enum af_kind)kind, time_ns, fixed + room);
	if (!h) {
		af_thread_leave(t);
		return NULL;
	}
	h->callpath = callpath;
	h->correlation = self.correlation;
	h->duration_ns = af_u48_make(time_ns - c->begin_ns);
	h->depth = c->depth;
	h->flags = failed ? AF_API_CALL_FAILED : 0;
	c->thread = t;
	c->head = h;
	c->failed = failed;
	c->at = (char *)h + fixed;
	return h;
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
