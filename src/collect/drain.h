/*
 * Moving packets from the rings in shared memory to the files of the trace. The rings are written
 * by other processes and are not trusted: every size is checked.
 */
#ifndef AF_COLLECT_DRAIN_H
#define AF_COLLECT_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/packet.h"

struct af_err;

struct af_drain_ring {
	char name[40];
	struct af_ring *ring;
	uint32_t nr_slots; /* mapped */
	int fd;            /* stream file */
	uint64_t next_seq;
	uint64_t discarded; /* events, as the last packet moved tells */
	uint64_t last_ns;   /* end of the last packet moved */
	bool finished;      /* no more will come: its ring is gone */
};

struct af_drain {
	int shm_fd, dir_fd; /* borrowed directories */
	struct af_drain_ring *rings;
	uint32_t nr, cap;
	uint64_t packets, bytes; /* written */
	uint64_t lost_packets;   /* could not be written */
	uint64_t discarded;      /* events dropped after the last packet of their ring */
	int error;               /* the first -errno that writing gave */
};

void af_drain_open(struct af_drain *d, int shm_fd, int dir_fd);
void af_drain_close(struct af_drain *d);

/* Look for new rings, then move all full packets. Returns the number of packets moved. */
uint64_t af_drain_pump(struct af_drain *d);

/*
 * Take everything of the rings of @process (0: of all), also the packets that are still being
 * filled up to their last whole event; then the rings are removed. For processes that have ended,
 * and at the end.
 */
void af_drain_finish(struct af_drain *d, uint32_t process);

/*
 * Where to go on in a stream file that may have been left by a killed recorder: after its last
 * whole packet. What follows is cut off, and the file's position is at its end. Returns the
 * sequence number of the next packet; @ring (may be NULL) takes what the last
 * one says.
 */
uint64_t af_drain_file_resume(int fd, struct af_drain_ring *ring);

#endif
