#include "collect/perf/perf_rings.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/rights.h"

int af_perf_event_open(struct perf_event_attr *attr, int pid, int cpu)
{
	scope_rights(AF_RIGHTS_KERNEL);
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == EINVAL && attr->build_id) { /* before Linux 5.12 */
		attr->build_id = 0;
		fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static size_t map_bytes(const struct af_perf_rings *r)
{
	return r->bytes + (size_t)sysconf(_SC_PAGESIZE);
}

static int ring_open(const struct af_perf_rings *of, struct af_perf_ring *r,
                     struct perf_event_attr *attr, int pid, int cpu)
{
	r->cpu = cpu;
	r->fd = af_perf_event_open(attr, pid, cpu);
	if (r->fd < 0)
		return r->fd;
	r->map = mmap(NULL, map_bytes(of), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->map != MAP_FAILED)
		return 0;
	int rc = -errno;
	close(r->fd);
	return rc;
}

int af_perf_rings_open(struct af_perf_rings *r, struct perf_event_attr *attr, int pid, size_t bytes,
                       int *refused)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);

	*r = (struct af_perf_rings){.bytes = bytes};
	r->rings = af_xcalloc((size_t)nr_cpus, sizeof *r->rings);
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		int rc = ring_open(r, &r->rings[r->nr], attr, pid, cpu);
		if (rc == -ENODEV || rc == -ENXIO)
			continue; /* offline */
		if (rc) {
			af_perf_rings_close(r);
			if (refused)
				*refused = cpu;
			return rc;
		}
		r->nr++;
	}
	return 0;
}

void af_perf_rings_close(struct af_perf_rings *r)
{
	for (uint32_t i = 0; i < r->nr; i++) {
		munmap(r->rings[i].map, map_bytes(r));
		close(r->rings[i].fd);
	}
	free(r->rings);
	*r = (struct af_perf_rings){0};
}

static void ring_read(const struct af_perf_rings *of, const struct af_perf_ring *r,
                      bool (*take)(void *arg, int cpu, const struct perf_event_header *h),
                      void *arg)
{
	struct perf_event_mmap_page *page = r->map;
	const char *data = (const char *)r->map + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	char whole[65536] __attribute__((aligned(8)));

	while (tail < head) {
		size_t at = tail & (of->bytes - 1);
		const struct perf_event_header *h = (const void *)(data + at);
		size_t size = h->size;
		if (size < sizeof *h || size > head - tail) {
			tail = head; /* it makes no sense, nor does what follows */
			break;
		}
		if (at + size > of->bytes) { /* it goes on at the beginning */
			memcpy(whole, data + at, of->bytes - at);
			memcpy(whole + (of->bytes - at), data, size - (of->bytes - at));
			h = (const void *)whole;
		}
		if (!take(arg, r->cpu, h))
			break;
		tail += size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

void af_perf_rings_read(const struct af_perf_rings *r,
                        bool (*take)(void *arg, int cpu, const struct perf_event_header *h),
                        void *arg)
{
	for (uint32_t i = 0; i < r->nr; i++)
		ring_read(r, &r->rings[i], take, arg);
}
