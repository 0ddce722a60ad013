/* Functions of libc that we stand before: exported under their names, and the way to the real one.
 */
#ifndef AF_INJECT_CORE_DOORS_H
#define AF_INJECT_CORE_DOORS_H

#include <dlfcn.h>
#include <stdatomic.h>

#define DOOR __attribute__((visibility("default")))

/* The function that we stand before. Threads that come first may all look for it. */
#define REAL(name) REAL_OF(__typeof__(&name), name)

/* The same of a function that headers may lack; NULL where libc does. */
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
