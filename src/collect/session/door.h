/*
 * The door: the datagram socket where processes of the program say hello. The recorder learns
 * which processes there are (by credentials the kernel vouches for, so also across pid
 * namespaces) and keeps the descriptors they hand over until they end.
 */
#ifndef AF_COLLECT_SESSION_DOOR_H
#define AF_COLLECT_SESSION_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/system/used.h"

struct af_err;
struct af_hello;

struct af_guest {
	uint32_t process;             /* ordinal */
	int pid;                      /* as we see it */
	uint32_t ns_pid;              /* as it sees itself */
	uint64_t hello_ns, random_at; /* of struct af_hello */
	int sampler_error;            /* why it does not sample itself, -errno; 0: it does */
	bool sees_kernel;             /* what it handed over: see struct af_hello */
	int pidfd;                    /* -1 where the kernel has none */
	int fd;                       /* what it handed over, -1 for nothing */
	bool ended;
	bool replaced;                              /* not ended, but runs another program now */
	uint64_t user_ns, kernel_ns, max_rss_bytes; /* when last looked at */
	bool used_is_all;                           /* that was after it had ended */
	struct af_used children;
	struct af_used_threads threads; /* as far as their numbers are the same there and here */
	/* Of debugger.c: is one attached, is the event off for it, and user_ns when it came. */
	bool debugged, held;
	uint64_t debugged_user_ns;
};

struct af_door {
	int fd;
	int ends; /* an epoll: readable when a guest has ended */
	struct af_guest *guests;
	uint32_t nr, cap;
	uint32_t nr_ended;
	uint32_t nr_refused; /* descriptors that there was no room for */
	uint32_t nr_strange; /* messages of others, about others, or with what is not asked for */
	/* Told of each that comes, and what they ask later; may be NULL. */
	void (*on_guest)(void *arg, const struct af_guest *g);
	void (*on_ask)(void *arg, struct af_guest *g, uint32_t ask); /* enum af_ask */
	void *arg;
};

/* Make the socket `door` in directory @shm. */
int af_door_open(struct af_door *d, const char *shm, struct af_err *err);
void af_door_close(struct af_door *d);

/* Take in all who wait, and see who has ended. */
void af_door_pump(struct af_door *d);

/* Look at the CPU time of all and of their threads, and for who ended unnoticed. */
void af_door_look(struct af_door *d);

/* The same, and no more, of their clocks: some 1 us each. */
void af_door_look_at_clocks(struct af_door *d);

/* Look at its CPU time and memory; false: it has ended, or seems to. */
bool af_guest_look(struct af_guest *g);

/* Let go of what the guests handed over: they are no longer sampled. */
void af_door_release(struct af_door *d);

/* Forget those that have ended. */
void af_door_sweep(struct af_door *d);

#endif
