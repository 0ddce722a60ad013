/*
 * libaflame-alloc.so: malloc() and its relatives, for libaflame.so beside it. Functions that
 * allocate by malloc() (strdup, getline, reallocarray, operator new of C++) come by these.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inject/alloc/alloc.h"
#include "inject/core/thread.h"

#define INTERPOSE __attribute__((visibility("default")))

/* From libaflame.so, where it is in the process. */
extern const struct af_alloc_shared *aflame_allocs(uint32_t version)
    __attribute__((weak, visibility("default")));

/* The functions behind ours. */
static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	const struct af_alloc_shared *shared;
} next;

static _Atomic bool found;
static __thread bool finding; /* dlsym() may allocate */

/* For dlsym() while the functions are being found; never given back. */
static struct {
	_Alignas(16) char room[16 << 10];
	_Atomic size_t used;
} first;

static void nothing_took(const void *p, size_t bytes, const struct af_regs *regs)
{
	(void)p, (void)bytes, (void)regs;
}

static void nothing_gone(const void *p, struct af_alloc_block *block)
{
	(void)p;
	block->site = 0;
}

static void nothing_freed(const struct af_alloc_block *block)
{
	(void)block;
}

static void nothing_kept(const void *p, const struct af_alloc_block *block)
{
	(void)p, (void)block;
}

static void nothing_seen(const char *file)
{
	(void)file;
}

static const struct af_alloc_shared nothing = {nothing_took, nothing_gone, nothing_freed,
                                               nothing_kept, nothing_seen};

/* Two threads find the same. */
static void find(void)
{
	finding = true;
	next.malloc = dlsym(RTLD_NEXT, "malloc");
	next.calloc = dlsym(RTLD_NEXT, "calloc");
	next.realloc = dlsym(RTLD_NEXT, "realloc");
	next.free = dlsym(RTLD_NEXT, "free");
	next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	next.memalign = dlsym(RTLD_NEXT, "memalign");
	next.valloc = dlsym(RTLD_NEXT, "valloc");
	next.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	const struct af_alloc_shared *lent =
	    aflame_allocs ? aflame_allocs(AF_ALLOC_SHARED_VERSION) : NULL;
	next.shared = lent ? lent : &nothing;
	finding = false;
	atomic_store_explicit(&found, true, memory_order_release);
}

/* False: the call comes from within the finding itself. */
static inline bool ready(void)
{
	if (__builtin_expect(atomic_load_explicit(&found, memory_order_acquire), 1))
		return true;
	if (finding)
		return false;
	find();
	return true;
}

static void *first_take(size_t bytes)
{
	size_t size = (bytes + 15) & ~(size_t)15;
	size_t at = atomic_fetch_add_explicit(&first.used, size, memory_order_relaxed);

	if (size < bytes || size > sizeof first.room || at > sizeof first.room - size) {
		errno = ENOMEM;
		return NULL;
	}
	return first.room + at;
}

static inline bool is_first(const void *p)
{
	return (const char *)p >= first.room && (const char *)p < first.room + sizeof first.room;
}

/* As this is in the function itself, the registers are those of its caller. */
#define TOOK(p, bytes)                                                                             \
	({                                                                                         \
		void *took_ = (p);                                                                 \
		struct af_regs regs_;                                                              \
		AF_REGS_CALLER(&regs_);                                                            \
		next.shared->took(took_, (bytes), &regs_);                                         \
		took_;                                                                             \
	})

INTERPOSE void *malloc(size_t bytes)
{
	return ready() ? TOOK(next.malloc(bytes), bytes) : first_take(bytes);
}

INTERPOSE void *calloc(size_t nr, size_t bytes)
{
	size_t all;
	bool fits = !__builtin_mul_overflow(nr, bytes, &all);

	if (!ready())
		return fits ? first_take(all) : NULL;
	return TOOK(next.calloc(nr, bytes), all);
}

INTERPOSE void free(void *p)
{
	struct af_alloc_block block;

	if (!p || is_first(p) || !ready())
		return;
	next.shared->gone(p, &block);
	next.free(p);
	next.shared->freed(&block);
}

/* A block of ours is copied to one of the program's allocator. */
static void *first_move(void *p, size_t bytes)
{
	size_t most = (size_t)(first.room + sizeof first.room - (char *)p);
	void *to = ready() ? next.malloc(bytes) : first_take(bytes);

	return to ? memcpy(to, p, bytes < most ? bytes : most) : NULL;
}

INTERPOSE void *realloc(void *p, size_t bytes)
{
	struct af_alloc_block block = {.site = 0};

	if (is_first(p))
		return TOOK(first_move(p, bytes), bytes);
	if (!ready())
		return first_take(bytes);
	if (p)
		next.shared->gone(p, &block);
	void *to = next.realloc(p, bytes);
	if (!to && bytes) {
		next.shared->kept(p, &block);
		return NULL;
	}
	next.shared->freed(&block);
	return TOOK(to, bytes);
}

INTERPOSE void *aligned_alloc(size_t alignment, size_t bytes)
{
	return ready() ? TOOK(next.aligned_alloc(alignment, bytes), bytes) : NULL;
}

INTERPOSE void *memalign(size_t alignment, size_t bytes)
{
	return ready() ? TOOK(next.memalign(alignment, bytes), bytes) : NULL;
}

INTERPOSE int posix_memalign(void **p, size_t alignment, size_t bytes)
{
	int rc = ready() ? next.posix_memalign(p, alignment, bytes) : ENOMEM;

	if (!rc)
		TOOK(*p, bytes);
	return rc;
}

INTERPOSE void *valloc(size_t bytes)
{
	return ready() ? TOOK(next.valloc(bytes), bytes) : NULL;
}

INTERPOSE void *pvalloc(size_t bytes)
{
	return ready() ? TOOK(next.pvalloc(bytes), bytes) : NULL;
}

/*
 * Libraries that are preloaded have their constructors after those of all others. Where the program
 * has a malloc() of its own, that is also what this library means by the name.
 */
__attribute__((constructor)) static void begin(void)
{
	Dl_info own, used;
	void *first_malloc = dlsym(RTLD_DEFAULT, "malloc");

	if (!ready())
		return;
	bool is_ours = !first_malloc || !dladdr(first_malloc, &used) ||
	               !dladdr((void *)begin, &own) || used.dli_fbase == own.dli_fbase;
	next.shared->seen(is_ours ? NULL : used.dli_fname ? used.dli_fname : "");
}
