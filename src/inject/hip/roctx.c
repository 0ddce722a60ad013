/*
 * ROCTX, AMD's interface for a program's own ranges and marks (roctx.h of rocprofiler-sdk and of
 * roctracer): its functions, which write RANGE events of the domain "ROCTX" and then go on to those
 * of the program's library, libroctx64.so or librocprofiler-sdk-roctx.so. What the library returns
 * is what the program gets.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "inject/api/behind.h"
#include "inject/hip/hip.h"
#include "inject/nvtx/nesting.h"
#include "inject/nvtx/ranges.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void roctxMarkA(const char *message);
EXPORT int roctxRangePushA(const char *message);
EXPORT int roctxRangePop(void);
EXPORT uint64_t roctxRangeStartA(const char *message);
EXPORT void roctxRangeStop(uint64_t id);

#define DOMAIN "ROCTX"

/* Numbers of START and END, which are the library's, are none of af_range_new(). */
enum { RANGES_BIT = 48 };

/* The ranges that the thread has pushed. */
static __thread struct af_nesting pushed;

/* Numbers of ranges where no library gives any. */
static _Atomic uint64_t nr_started;

/* Write @a, of which the caller has set edge, text, range, depth and counted. */
static bool put(struct af_annotation a)
{
	a.paused = a.edge == AF_RANGE_POP || a.edge == AF_RANGE_END;
	a.domain = DOMAIN;
	a.domain_len = sizeof DOMAIN - 1;
	a.len = a.text ? (uint32_t)strnlen(a.text, AF_RANGE_NAME) : 0;
	af_hip_borrow();
	return af_api_lent && af_api_lent->range(&a);
}

static uint64_t number(uint64_t id)
{
	return id | 1ull << RANGES_BIT;
}

/* How many ranges of the thread are open. */
static int32_t depth(void)
{
	return (int32_t)(pushed.nr + pushed.beyond);
}

/* The library may be there for one library of the program only, such as PyTorch's. */
static void *function_behind(const char *name)
{
	void *next = af_api_behind_us("libroctx64", name);

	return next ? next : af_api_behind_us("librocprofiler-sdk-roctx", name);
}

/* The function behind ours, or NULL: a program may call ROCTX only where it is. */
#define BEHIND(name)                                                                               \
	({                                                                                         \
		static _Atomic(__typeof__(&(name))) found_;                                        \
		__typeof__(&(name)) next_ = atomic_load_explicit(&found_, memory_order_relaxed);   \
		if (!next_) {                                                                      \
			next_ = (__typeof__(&(name)))function_behind(#name);                       \
			atomic_store_explicit(&found_, next_, memory_order_relaxed);               \
		}                                                                                  \
		next_;                                                                             \
	})

void roctxMarkA(const char *message)
{
	void (*next)(const char *) = BEHIND(roctxMarkA);

	put((struct af_annotation){.edge = AF_RANGE_MARK, .text = message, .depth = depth()});
	if (next)
		next(message);
}

int roctxRangePushA(const char *message)
{
	int (*next)(const char *) = BEHIND(roctxRangePushA);
	const struct af_annotation a = {.edge = AF_RANGE_PUSH, .text = message, .depth = depth()};
	bool written = pushed.nr < AF_NESTING_DEEP && put(a);

	af_nesting_push(&pushed, 0, written);
	return next ? next(message) : a.depth;
}

/* One that ends no range is an error of the program that does no harm. */
int roctxRangePop(void)
{
	int (*next)(void) = BEHIND(roctxRangePop);
	struct af_annotation a = {.edge = AF_RANGE_POP, .depth = depth() - 1};

	if (pushed.beyond) {
		pushed.beyond--;
	} else if (pushed.nr) {
		a.counted = !af_nesting_remove(&pushed, pushed.nr - 1);
		put(a);
	}
	return next ? next() : a.depth;
}

uint64_t roctxRangeStartA(const char *message)
{
	uint64_t (*next)(const char *) = BEHIND(roctxRangeStartA);
	uint64_t id = next ? next(message) : atomic_fetch_add(&nr_started, 1) + 1;

	put((struct af_annotation){.edge = AF_RANGE_START, .text = message, .range = number(id)});
	return id;
}

void roctxRangeStop(uint64_t id)
{
	void (*next)(uint64_t) = BEHIND(roctxRangeStop);

	put((struct af_annotation){.edge = AF_RANGE_END, .range = number(id)});
	if (next)
		next(id);
}
