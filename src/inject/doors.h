/* Functions of libc that we stand before: exported under their names, and the way to the real one.
 */
#ifndef AF_INJECT_DOORS_H
#define AF_INJECT_DOORS_H

#include <dlfcn.h>

#define DOOR __attribute__((visibility("default")))

/* The function that we stand before. */
#define REAL(name)                                                                                 \
	({                                                                                         \
		static __typeof__(&name) real_;                                                    \
		if (!real_)                                                                        \
			real_ = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                        \
		real_;                                                                             \
	})

#endif
