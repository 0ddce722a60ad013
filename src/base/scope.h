/*
 * Cleanup by scope. A variable declared as `scope_free char *s` is freed at the end of its block,
 * `scope_close int fd` is closed. give() hands the ownership over: `*ret = give(s);`.
 */
#ifndef AF_BASE_SCOPE_H
#define AF_BASE_SCOPE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void scope_free_fn(void *p)
{
	free(*(void **)p);
}

static inline void scope_close_fn(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void scope_fclose_fn(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define scope_free __attribute__((cleanup(scope_free_fn)))
#define scope_close __attribute__((cleanup(scope_close_fn)))
#define scope_fclose __attribute__((cleanup(scope_fclose_fn)))

/* Take the value out of a scoped pointer. */
#define give(p)                                                                                    \
	({                                                                                         \
		__typeof__(p) given_ = (p);                                                        \
		(p) = NULL;                                                                        \
		given_;                                                                            \
	})

/* Take the value out of a scoped file descriptor. */
#define give_fd(fd)                                                                                \
	({                                                                                         \
		int given_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		given_;                                                                            \
	})

#endif
