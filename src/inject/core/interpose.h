/*
 * Interposers: functions of libc that we export under the same name, and the way to the real ones.
 */
#ifndef AF_INJECT_CORE_INTERPOSE_H
#define AF_INJECT_CORE_INTERPOSE_H

#include <dlfcn.h>
#include <stdatomic.h>

#define INTERPOSE __attribute__((visibility("default")))

/* The real function behind an interposer. Several threads may look it up at once. */
#define REAL(name) REAL_OF(__typeof__(&name), name)

/* The same for a function that headers may lack; NULL where libc lacks it. */
#define REAL_OF(type, name)                                                                        \
	({                                                                                         \
		static _Atomic(type) found_;                                                       \
		type real_ = atomic_load_explicit(&found_, memory_order_relaxed);                  \
		if (!real_) {                                                                      \
			real_ = (type)dlsym(RTLD_NEXT, #name);                                     \
			atomic_store_explicit(&found_, real_, memory_order_relaxed);               \
		}                                                                                  \
		real_;                                                                             \
	})

#endif
