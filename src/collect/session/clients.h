/*
 * The control socket (datagrams), at which the program's processes register. From it the recorder
 * learns which processes there are (by credentials that the kernel vouches for, so also across pid
 * namespaces), and keeps the descriptors that they hand over until they end. A registered process
 * is a client (guest).
 */
#ifndef AF_COLLECT_SESSION_CLIENTS_H
#define AF_COLLECT_SESSION_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/system/used.h"

struct af_err;
struct af_hello;

struct af_guest {
	uint32_t process;             /* ordinal */
	int pid;                      /* in our namespace */
	uint32_t ns_pid;              /* in its own namespace */
	uint64_t hello_ns, random_at; /* of struct af_hello */
	int sampler_error;            /* why it does not sample itself, -errno; 0: it does */
	bool sees_kernel;             /* of the event that it handed over: see struct af_hello */
	int pidfd;                    /* -1 where the kernel has none */
	int fd;                       /* the descriptor that it handed over, -1 for none */
	bool ended;
	bool replaced;                              /* not ended, but runs another program now */
	uint64_t user_ns, kernel_ns, max_rss_bytes; /* when last looked at */
	bool used_is_all;                           /* those were read after it had ended */
	struct af_used children;
	struct af_used_threads threads; /* as far as their numbers are the same there and here */
	/*
	 * Of debugger.c: is one attached, is the event off because of it, and user_ns when it came.
	 */
	bool debugged, held;
	uint64_t debugged_user_ns;
};

struct af_door {
	int fd;
	int ends; /* an epoll: readable when a client has ended */
	struct af_guest *guests;
	uint32_t nr, cap;
	uint32_t nr_ended;
	uint32_t nr_refused; /* descriptors that did not fit */
	/* Messages of other users, about other processes, or unknown requests */
	uint32_t nr_strange;
	/* Called for each process that registers, and for its later requests; may be NULL. */
	void (*on_guest)(void *arg, const struct af_guest *g);
	void (*on_ask)(void *arg, struct af_guest *g, uint32_t ask); /* enum af_ask */
	void *arg;
};

/* Make the socket `door` in directory @shm. */
int af_door_open(struct af_door *d, const char *shm, struct af_err *err);
void af_door_close(struct af_door *d);

/* Take all waiting messages, and notice processes that have ended. */
void af_door_pump(struct af_door *d);

/* Read the CPU time of all clients and their threads, and notice those that ended unseen. */
void af_door_look(struct af_door *d);

/* Read only their clocks: about 1 us each. */
void af_door_look_at_clocks(struct af_door *d);

/* Read its CPU time and memory; false: it has ended, or seems to. */
bool af_guest_look(struct af_guest *g);

/* Close what the clients handed over: they are no longer sampled. */
void af_door_release(struct af_door *d);

/* Forget those that have ended. */
void af_door_sweep(struct af_door *d);

#endif
