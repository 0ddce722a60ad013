/*
 * The recorder's heartbeat: the time of the trace's AF_SESSION_FILE, by which other hosts see that
 * the recorder is alive (trace/read/state.h).
 *
 *	af_heart_open → af_heart_poll, often → af_heart_keep once nobody polls any more
 *	→ af_heart_close
 */
#ifndef AF_COLLECT_DISK_HEART_H
#define AF_COLLECT_DISK_HEART_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct af_heart {
	int fd; /* the caller's, open while the heart is; -1: there is none */
	uint64_t beat_ns;
	bool kept, ends;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t end;
};

/* Begin with the file of @fd, which was written just now. */
void af_heart_open(struct af_heart *h, int fd);

/* Beats if it is time to. */
void af_heart_poll(struct af_heart *h);

/*
 * From now on a thread beats: names of a large program may take minutes. Where no thread can be
 * made, the recorder counts as dead on other hosts until it has finished.
 */
void af_heart_keep(struct af_heart *h);

/* Also of a heart that was never opened, if it is all zeros but for @fd, -1. */
void af_heart_close(struct af_heart *h);

#endif
