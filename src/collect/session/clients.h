/*
 * The control socket (datagrams), at which the program's processes register. From it the recorder
 * learns which processes there are (by credentials that the kernel vouches for, so also across pid
 * namespaces), and keeps the descriptors that they hand over until they end. A registered process
 * is a client.
 */
#ifndef AF_COLLECT_SESSION_CLIENTS_H
#define AF_COLLECT_SESSION_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/system/used.h"

struct af_err;
struct af_registration;

struct af_client {
	uint32_t process;                  /* ordinal */
	int pid;                           /* in our namespace */
	uint32_t ns_pid;                   /* in its own namespace */
	uint64_t registered_ns, random_at; /* of struct af_registration */
	int sampler_error;                 /* why it does not sample itself, -errno; 0: it does */
	bool sees_kernel; /* of the event that it handed over: see struct af_registration */
	int pidfd;        /* -1 where the kernel has none */
	int fd;           /* the descriptor that it handed over, -1 for none */
	bool ended;
	bool in_steps;                              /* it asked for recording, for its steps */
	bool replaced;                              /* not ended, but runs another program now */
	uint64_t user_ns, kernel_ns, max_rss_bytes; /* when last looked at */
	bool used_is_all;                           /* those were read after it had ended */
	struct af_used children;
	struct af_used_threads threads; /* as far as their numbers are the same there and here */
	/*
	 * For debugger.c: is one attached, is the event off because of it, and user_ns when it
	 * came.
	 */
	bool debugged, held;
	uint64_t debugged_user_ns;
	/* When its state was polled last; time that it waited for a disk, by so many polls. */
	uint64_t state_at_ns, disk_ns;
	uint32_t disk_polls;
};

struct af_clients {
	int fd;
	int ends; /* an epoll: readable when a client has ended */
	struct af_client *list;
	uint32_t nr, cap;
	uint32_t nr_ended;
	uint32_t nr_refused; /* descriptors that did not fit */
	/* Messages of other users, about other processes, or unknown requests */
	uint32_t nr_strange;
	/* Called for each process that registers, and for its later requests; may be NULL. */
	void (*on_client)(void *arg, const struct af_client *g);
	void (*on_ask)(void *arg, struct af_client *g, uint32_t ask); /* enum af_ask */
	void *arg;
};

/* Make the socket `clients` in directory @shm. */
int af_clients_open(struct af_clients *d, const char *shm, struct af_err *err);
void af_clients_close(struct af_clients *d);

/* Take all waiting messages, and notice processes that have ended. */
void af_clients_pump(struct af_clients *d);

/* Read the CPU time of all clients and their threads, and notice those that ended unseen. */
void af_clients_poll(struct af_clients *d);

/* Read only their clocks: about 1 us each. */
void af_clients_poll_clocks(struct af_clients *d);

/* Read its CPU time and memory; false: it has ended, or seems to. */
bool af_client_poll(struct af_client *g);

/* Close what the clients handed over: they are no longer sampled. */
void af_clients_release(struct af_clients *d);

/* Forget those that have ended. */
void af_clients_sweep(struct af_clients *d);

#endif
