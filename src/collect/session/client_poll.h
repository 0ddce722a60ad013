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
};

/* Call it often: it polls a few clients, 25 times a second. */
void af_clients_poll_some(struct af_recording *r);

#endif
