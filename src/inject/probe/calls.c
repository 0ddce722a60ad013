/* Calls that are timed: which are under way, and whether an instruction ends one. */
#include <stddef.h>
#include <string.h>

#include "base/pages.h"
#include "inject/probe/private.h"
#include "inject/walk/guard.h"

enum { CALLS = 4096, CALLS_MOST = CALLS * 3 / 4 };

/* At an exit the stack pointer is what it was at the entry. */
struct call {
	uint64_t sp, begin_ns; /* sp 0: none is here */
	uint32_t number;
};

/* The calls of a thread, by a hash of the place on the stack; taken places follow one another. */
struct calls {
	uint32_t nr, process;
	struct call all[CALLS];
};

static struct af_spares spares = {.size = sizeof(struct calls)};
static __thread struct calls *own;

static uint32_t place_of(uint64_t sp)
{
	return (uint32_t)((sp >> 3) * 0x9e3779b1u >> 7) % CALLS;
}

/* The calling thread's, made when it is wanted; a forked child has made none of its parent's. */
static struct calls *calls_of(uint32_t process)
{
	if (!own && (own = af_spares_take(&spares)) != NULL)
		own->process = 0;
	if (own && own->process != process) {
		memset(own, 0, sizeof *own);
		own->process = process;
	}
	return own;
}

/* Where the call at @sp is, or would be. */
static struct call *call_at(struct calls *c, uint64_t sp)
{
	uint32_t i = place_of(sp);

	while (c->all[i].sp && c->all[i].sp != sp)
		i = (i + 1) % CALLS;
	return &c->all[i];
}

/* Those behind it that would not be found any more move up. */
static void call_remove(struct calls *c, struct call *gone)
{
	uint32_t free = (uint32_t)(gone - c->all), i = free;

	c->nr--;
	for (;;) {
		i = (i + 1) % CALLS;
		if (!c->all[i].sp)
			break;
		uint32_t wants = place_of(c->all[i].sp);
		if ((i - wants) % CALLS < (i - free) % CALLS)
			continue;
		c->all[free] = c->all[i];
		free = i;
	}
	c->all[free].sp = 0;
}

bool probe_call_open(uint32_t process, uint64_t sp, uint32_t number, uint64_t now_ns)
{
	struct calls *c = calls_of(process);
	struct call *call = c ? call_at(c, sp) : NULL;

	if (!call || (!call->sp && c->nr == CALLS_MOST))
		return false;
	/* A call that had this place and was left without an exit is over. */
	c->nr += !call->sp;
	*call = (struct call){sp, now_ns, number};
	return true;
}

uint64_t probe_call_close(uint32_t process, uint64_t sp, uint32_t number)
{
	struct calls *c = own && own->process == process ? own : NULL;
	struct call *call = c ? call_at(c, sp) : NULL;

	if (!call || !call->sp || call->number != number)
		return 0;
	uint64_t begin_ns = call->begin_ns;
	call_remove(c, call);
	return begin_ns;
}

void probe_calls_end(void)
{
	struct calls *c = own;

	own = NULL;
	if (c)
		af_spares_give(&spares, c);
}

/* ---- does an instruction leave its function? ---- */

/* Numbers of x86-64's registers to places in struct probe_frame; those before it are negative. */
static const int8_t places[] = {9, 7, 6, 8, 0, 0, 5, 4, 3, 2, 1, 0, -1, -2, -3, -4};

enum { RSP = 4, RBP = 5 };

static uint64_t register_of(const struct af_probe *p, const struct probe_frame *frame,
                            uint32_t number)
{
	if (number == RSP)
		return (uint64_t)&frame->ra + PROBE_RED;
	if (number == RBP)
		return frame->fp;
	if (number == AF_EXIT_RIP)
		return p->exit + probe_bias(p->function);
	return number < sizeof places ? *((const uint64_t *)frame + places[number]) : 0;
}

/* Intel SDM, volume 1, appendix B. */
static bool condition_holds(uint64_t flags, uint32_t condition)
{
	bool carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1;
	bool sign = flags >> 7 & 1, overflow = flags >> 11 & 1;
	const bool holds[] = {overflow,
	                      carry,
	                      zero,
	                      carry || zero,
	                      sign,
	                      parity,
	                      sign != overflow,
	                      zero || sign != overflow};

	return holds[condition >> 1 & 7] != (condition & 1);
}

bool probe_leaves(const struct af_probe *p, const struct probe_frame *frame)
{
	if (p->how == AF_EXIT_ALWAYS)
		return true;
	if (p->how == AF_EXIT_IF)
		return condition_holds(frame->flags, p->condition);
	uint64_t target = register_of(p, frame, p->base);
	if (p->how == AF_EXIT_TO_MEMORY) {
		target += register_of(p, frame, p->index) * p->scale + (uint64_t)p->add;
		if (af_guarded_read(&target, target, sizeof target))
			return false;
	}
	target -= probe_bias(p->function);
	for (uint32_t i = 0; i < AF_EXIT_PARTS; i++)
		if (target - p->parts[i].start < p->parts[i].size)
			return false;
	return true;
}
