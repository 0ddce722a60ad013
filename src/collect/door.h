/*
 * The door: the datagram socket where processes of the program say hello. The recorder learns
 * which processes there are (by credentials the kernel vouches for, so also across pid
 * namespaces) and keeps the descriptors they hand over until they end.
 */
#ifndef AF_COLLECT_DOOR_H
#define AF_COLLECT_DOOR_H

#include <stdbool.h>
#include <stdint.h>

struct af_err;
struct af_hello;

struct af_guest {
	uint32_t process; /* ordinal */
	int pid;          /* as we see it */
	int pidfd;        /* -1 once it has ended, or where the kernel has none */
	int fd;           /* what it handed over, -1 for nothing */
	bool ended;
	int sampler_error;
	uint64_t user_ns, kernel_ns, max_rss_bytes; /* when last looked at */
};

struct af_door {
	int fd;
	struct af_guest *guests;
	uint32_t nr, cap;
};

/* Make the socket `door` in directory @shm. */
int af_door_open(struct af_door *d, const char *shm, struct af_err *err);
void af_door_close(struct af_door *d);

/* Take in all who wait. */
void af_door_pump(struct af_door *d);

/* Look at a guest's CPU time; sets ended (and lets its descriptor go) when it is no more. */
void af_guest_look(struct af_guest *g);

#endif
