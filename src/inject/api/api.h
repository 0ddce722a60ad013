/*
 * Calls of traced APIs, as events with all their arguments. Generated code (src/api/generate)
 * stands around a function and does
 *
 *	if (!af_api_begin(&call, kind))                 … only call the function
 *	AF_API_REGS(&call); { af_api_before() }* [af_api_waits()]
 *	the function
 *	if ((event = af_api_end(&call, kind, failed, fixed, room)))
 *		… fill the event; { af_api_put_…() }*; af_api_done()
 *
 * all on one thread. Calls nest: those within a call have a greater depth, and end before it.
 * Whether and how a function is recorded is a byte in the session, which the recorder may change at
 * any moment.
 */
#ifndef AF_INJECT_API_API_H
#define AF_INJECT_API_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/core/inject.h"
#include "inject/core/thread.h"

enum { AF_API_KEPT = 2 };

/* One call, from its beginning to its event; on the stack of the wrapper. */
struct af_api_hook {
	uint64_t begin;                   /* ns of the trace's clock */
	struct af_thread_context *thread; /* from af_api_end() to af_api_done() */
	char *at;                         /* where the next pointee goes */
	struct af_api_head *head;
	struct af_regs regs;        /* of the caller, with AF_HOW_STACK */
	uint64_t kept[AF_API_KEPT]; /* by af_api_keep() */
	uint8_t how;                /* enum af_api_how */
	uint8_t depth, flags;
	uint8_t variant; /* of the native values: the layer's */
	bool failed;
};

/* A type that is stored otherwise than it lies in memory. */
struct af_api_native {
	uint32_t size;   /* of one in memory */
	uint32_t stored; /* of one in an event, 8 or a multiple */
	void (*store)(void *to, const void *from);
};

enum { AF_API_NATIVE_MAX = 64 }; /* bytes of the two sizes at most */

/* The elements that an inout parameter pointed to before the call. */
enum { AF_API_BEFORE_MAX = 1024 };
struct af_api_before {
	uint16_t nr, size; /* elements, and bytes of one */
	bool whole;
	char bytes[AF_API_BEFORE_MAX];
};

/* Is the API traced at all? @first and @last are kinds. Constant once recording has begun. */
bool af_api_is_traced(uint16_t first, uint16_t last);

/* How calls of @kind are recorded now: bits of enum af_api_how, 0 for not at all. */
extern const _Atomic uint8_t *af_api_hows;
static inline uint8_t af_api_how(uint16_t kind)
{
	return atomic_load_explicit(&af_api_hows[kind - AF_KIND_API], memory_order_relaxed);
}

/* Calls of this thread are recording's own, and not recorded. For threads that we start. */
void af_api_mute(void);

/* Slow path of af_api_begin(). */
bool af_api_enter(struct af_api_hook *c, uint16_t kind, uint8_t how, uint64_t sp);

/* The call begins. False: it is not recorded, and nothing else is to be done about it. */
static inline __attribute__((always_inline)) bool af_api_begin(struct af_api_hook *c, uint16_t kind)
{
	uint8_t how = af_api_how(kind);

	return __builtin_expect(how, 0) &&
	       af_api_enter(c, kind, how, (uint64_t)__builtin_frame_address(0));
}

/* The caller's registers, for its stack. In the wrapper itself. */
#define AF_API_REGS(c)                                                                             \
	do {                                                                                       \
		AF_REGS_CALLER(&(c)->regs);                                                        \
		af_api_caller = &(c)->regs;                                                        \
	} while (0)

/* The caller of the innermost call under way, from AF_API_REGS() to its end; else NULL. */
extern __thread const struct af_regs *af_api_caller;

/*
 * @regs of a hook's caller become those of the program, where that caller is a wrapper of ours.
 */
void af_api_skip_wrapper(struct af_regs *regs);

/* The arguments, for whoever looks while the call is under way. */
void af_api_waits(struct af_api_hook *c, const void *args, size_t size);

/* Keep @nr elements of @size bytes at @from, as they are before the call. */
void af_api_before(struct af_api_hook *c, struct af_api_before *b, const void *from, uint64_t nr,
                   uint32_t size);

/* The same of a type that is stored otherwise: kept as it is stored. */
void af_api_before_native(struct af_api_hook *c, struct af_api_before *b, const void *from,
                          uint64_t nr, const struct af_api_native *n);

/*
 * The same of one number of @size bytes, at most 8, where the entry and the exit of a call are two
 * functions: the @i-th of the call is kept in @c, and made the @b of af_api_put_before().
 */
void af_api_keep(struct af_api_hook *c, unsigned i, const void *from, uint32_t size);
void af_api_kept(const struct af_api_hook *c, unsigned i, struct af_api_before *b);

/*
 * The number that ties work to the call that is under way in this thread; the outermost event of
 * the thread that ends after it gets it. By the hooks that launch work.
 */
void af_api_correlate(uint32_t correlation);

/* The kind of the innermost call of this thread that is under way, or 0. */
uint16_t af_api_under_way(void);

/* When that call began: no other call of the thread has the same number. */
uint64_t af_api_began(void);

/*
 * The call has returned: begin its event, @fixed bytes and up to @room for pointees. NULL when
 * there is none to fill. The head is filled in.
 */
void *af_api_end(struct af_api_hook *c, uint16_t kind, bool failed, size_t fixed, size_t room);

/* In place of the event, with AF_HOW_SUM: the call is added up. */
void af_api_tally(struct af_api_hook *c, uint16_t kind, bool failed, uint64_t bytes);

/* Publish the event. _trimmed: one with room that was not all used. */
void af_api_done(struct af_api_hook *c);
void af_api_done_trimmed(struct af_api_hook *c);

/* The call will have no event after all (the function is not to be recorded in this process). */
void af_api_drop(struct af_api_hook *c);

/*
 * Append the pointee of a parameter, read without a fault whatever the pointer is. With @skip, and
 * for NULL, nothing is there: zeros, no elements, an empty string.
 */
void af_api_put_one(struct af_api_hook *c, const void *from, uint32_t size, bool skip);
void af_api_put_array(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size,
                      bool skip);
void af_api_put_zero(struct af_api_hook *c, const void *from, uint32_t size, uint32_t step);
void af_api_put_string(struct af_api_hook *c, const void *from, bool skip);
void af_api_put_before(struct af_api_hook *c, const struct af_api_before *b, bool one,
                       uint32_t size);

/* A pointee of a type that is stored otherwise; one, or several with a count before them. */
void af_api_put_native(struct af_api_hook *c, const void *from, const struct af_api_native *n,
                       bool skip);
void af_api_put_natives(struct af_api_hook *c, const void *from, uint64_t nr,
                        const struct af_api_native *n, bool skip);

/*
 * A number of @size bytes at @offset of the one at @from as it is stored; the greatest, which is no
 * limit, where there is none.
 */
uint64_t af_api_native_at(struct af_api_hook *c, const struct af_api_native *n, const void *from,
                          uint32_t offset, uint32_t size);

/* The sum of @nr counts of @size bytes at @from; of those that are negative, none. */
uint64_t af_api_sum(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size);

/* An unsigned number of @size bytes at @from; 0 when it cannot be read. */
uint64_t af_api_at(struct af_api_hook *c, const void *from, uint32_t size);

/* The product of the three extents (size_t) at @from; 0 when they cannot be read. */
uint64_t af_api_volume(struct af_api_hook *c, const void *from);

/* The same as one bound of several: none where there is nothing to read. */
static inline uint64_t af_api_limit(struct af_api_hook *c, const void *from, uint32_t size)
{
	return from ? af_api_at(c, from, size) : UINT64_MAX;
}

static inline const void *af_api_behind(const void *from, size_t offset)
{
	return from ? (const char *)from + offset : NULL;
}

/* A signed count: a negative one is none. */
static inline uint64_t af_api_count(int64_t nr)
{
	return nr > 0 ? (uint64_t)nr : 0;
}

static inline uint64_t af_api_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * By function number, for calls whose result and arguments lie in memory: @enter, where it is not
 * NULL, keeps what inout parameters point to; @exit encodes the call.
 */
struct af_api_callback {
	void (*enter)(struct af_api_hook *c, const void *args);
	void (*exit)(struct af_api_hook *c, const void *result, const void *args);
};

/* A wrapper of a layer: where the real function's slot is in the layer's table, or -1. */
struct af_api_entry {
	const char *name;
	uint16_t number;
	void *wrapper;
	int32_t slot;
};

#endif
