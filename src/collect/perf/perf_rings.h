/*
 * Rings that perf events write to (perf_event_open(2)): one for each CPU, each owned by an event of
 * its own that was opened with it.
 *
 *	af_perf_rings_open → { af_perf_rings_read }* → af_perf_rings_close
 */
#ifndef AF_COLLECT_PERF_PERF_RINGS_H
#define AF_COLLECT_PERF_PERF_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_attr;
struct perf_event_header;

struct af_perf_rings {
	struct af_perf_ring {
		int fd, cpu;
		void *map;
	} * rings;
	uint32_t nr;
	size_t bytes; /* of data, in each */
};

/*
 * Open the event on @pid and @cpu: a descriptor or -errno. Where the kernel has no build ids in its
 * records (before Linux 5.12), they are left out of @attr.
 */
int af_perf_event_open(struct perf_event_attr *attr, int pid, int cpu);

/*
 * Open @attr on @pid, with a ring of @bytes (a power of two) on each online CPU. 0, or -errno and
 * nothing is open; *@cpu (may be NULL) is then the CPU that refused.
 */
int af_perf_rings_open(struct af_perf_rings *r, struct perf_event_attr *attr, int pid, size_t bytes,
                       int *cpu);

/* A zeroed struct is fine. */
void af_perf_rings_close(struct af_perf_rings *r);

/*
 * Hand the written records to @take, ring by ring, each in order of time. A record is valid during
 * the call. When @take returns false, that record and all after it stay in the ring for the next
 * read.
 */
void af_perf_rings_read(const struct af_perf_rings *r,
                        bool (*take)(void *arg, int cpu, const struct perf_event_header *h),
                        void *arg);

#endif
