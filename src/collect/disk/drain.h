/*
 * Moves packets from the rings in shared memory to the files of the trace. Other processes write
 * the rings, which are hostile: every size is checked.
 */
#ifndef AF_COLLECT_DISK_DRAIN_H
#define AF_COLLECT_DISK_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/disk/ring_rest.h"
#include "collect/disk/segments.h"
#include "trace/packet.h"

struct af_err;

/*
 * A ring that is not finished. No descriptor is kept for its stream file: there may be thousands of
 * threads, and a packet is 64 KiB.
 */
struct af_drain_ring {
	char name[40];
	struct af_ring *ring;
	struct af_file_watch *watch; /* of the mapping */
	uint64_t file_bytes;         /* of the stream file: where the next packet goes */
	uint64_t next_seq;
	uint64_t discarded; /* discarded events, by the last packet moved */
	uint64_t last_ns;   /* end of the last packet moved */
	uint32_t stream;    /* number in the segments, when there are */
	bool torn;          /* file_bytes is followed by a part of the next packet */
};

struct af_drain {
	int shm_fd, dir_fd;                   /* borrowed directories */
	const _Atomic uint64_t *nr_instances; /* borrowed: grows before a ring is made; or NULL */
	uint64_t looked_instances;            /* its value at the last look */
	uint32_t polls_left;                  /* looks to come although it has not changed */
	struct af_segments *segments;         /* borrowed; NULL: each stream is one file */
	struct af_drain_ring *rings;
	uint32_t nr, cap;
	uint64_t packets, bytes; /* written */
	uint64_t lost_packets;   /* could not be written */
	uint32_t nr_cut;         /* rings that somebody truncated while they were read */
	int error;               /* -errno of the first of them */
};

/* @nr_instances changes when there may be new rings; NULL: always look. */
void af_drain_open(struct af_drain *d, int shm_fd, int dir_fd,
                   const _Atomic uint64_t *nr_instances);
void af_drain_close(struct af_drain *d);

/* The content of a ring that is whole and not yet on disk. */
struct af_drain_rest {
	char name[AF_SEGMENT_NAME]; /* of the stream's file */
	uint64_t file_bytes;        /* of it so far: later bytes belong to newer packets */
	uint8_t *packet;            /* as on disk, to follow there; NULL: nothing */
	size_t size;
};

/*
 * Copies the open packet of each ring, for a copy of the trace as it is now. Returns their number;
 * *@rests is the caller's, to be freed with af_drain_rests_free().
 */
uint32_t af_drain_rests(struct af_drain *d, struct af_drain_rest **rests);
void af_drain_rests_free(struct af_drain_rest *rests, uint32_t nr);

/*
 * Write what the rings hold beyond their full packets behind these, so that the trace is whole as
 * it is now. The next packets are written over it. 0, or the first -errno. Not with segments.
 */
int af_drain_put_rests(struct af_drain *d);

/* Look for new rings, whatever the count of instances says. */
void af_drain_poll(struct af_drain *d);

/*
 * Look for new rings where there may be some, then move all full packets. Returns the number of
 * packets moved. A packet that cannot be written (a full disk) stays in its ring for later: when
 * the ring is full the target counts what it drops.
 */
uint64_t af_drain_pump(struct af_drain *d);

/* Bytes of packets that the known rings hold, whole and open ones. */
uint64_t af_drain_held(const struct af_drain *d);

/*
 * Take everything from the known rings of @process (0: of all), also open packets up to their last
 * whole event; then remove the rings. For processes that have ended, after a look, and at the end.
 */
void af_drain_finish(struct af_drain *d, uint32_t process);

/*
 * Find where to go on in a stream file that a killed recorder may have left: after its last whole
 * packet. The rest is cut off. Returns the sequence number of the next packet; @ring (may be NULL)
 * gets the size and the last packet's numbers.
 */
uint64_t af_drain_file_resume(int fd, struct af_drain_ring *ring);

#endif
