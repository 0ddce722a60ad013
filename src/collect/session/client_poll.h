/*
 * Polls the facts about recorded processes that only the kernel has: has a debugger come or gone
 * (collect/session/debugger.h), is there a filter of system calls (collect/session/filtered.h),
 * does the process wait for a disk?
 */
#ifndef AF_COLLECT_SESSION_CLIENT_POLL_H
#define AF_COLLECT_SESSION_CLIENT_POLL_H

#include <stdint.h>

struct af_recording;

struct af_client_polling {
	uint64_t polled_ns;
	uint32_t next; /* index of the next client */
	uint64_t jit_ns;
	uint32_t jit_next;
};

/* Call it often: it polls a few clients, 25 times a second. */
void af_clients_poll_some(struct af_recording *r);

/*
 * Call it often, too: it copies what JIT compilers in some clients and watched processes say of
 * their code (collect/jit). _end: the process has ended.
 */
void af_clients_poll_jit(struct af_recording *r);
void af_clients_end_jit(struct af_recording *r, uint32_t process);

#endif
