/*
 * Streams as the writer makes them, in memory: maker_open → af_stream_put… → maker_close, and
 * the packets inside them for tests that damage bytes. For tests of the reader.
 */
#ifndef AF_TESTS_TRACE_MAKER_H
#define AF_TESTS_TRACE_MAKER_H

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/read/merge.h"
#include "trace/write/stream.h"

struct made {
	uint8_t *data;
	size_t size;
	int fd; /* only maker_close uses it */
};

static inline void maker_open(struct made *m, struct af_stream *s, uint64_t instance)
{
	int fd = memfd_create("stream", 0);

	m->fd = dup(fd);
	int rc = af_stream_open_file(s, fd, instance, (uint32_t)instance + 1);
	assert(fd >= 0 && m->fd >= 0 && !rc);
	(void)rc;
}

/* The stream's bytes; free(m->data) is the test's. */
static inline void maker_close(struct made *m, struct af_stream *s)
{
	struct stat st;
	int rc = af_stream_close(s);

	assert(!rc);
	rc = fstat(m->fd, &st);
	m->size = (size_t)st.st_size;
	m->data = malloc(m->size + 1);
	ssize_t n = pread(m->fd, m->data, m->size, 0);
	assert(!rc && n == (ssize_t)m->size);
	(void)rc;
	(void)n;
	close(m->fd);
}

/* Where packet @index starts; the size when there are not that many. */
static inline size_t maker_packet(const struct made *m, unsigned index)
{
	size_t at = 0;
	struct af_packet p;

	while (index-- && at < m->size) {
		memcpy(&p, m->data + at, sizeof p);
		at += p.packet_bits / 8;
	}
	return at;
}

/*
 * A stream of @packets packets of @events events each, SAMPLEs whose weight counts up from 0, at
 * @start_ns and every @step_ns from there.
 */
static inline void maker_samples(struct made *m, uint64_t instance, unsigned packets,
                                 unsigned events, uint64_t start_ns, uint64_t step_ns)
{
	struct af_stream s;
	uint64_t n = 0;

	maker_open(m, &s, instance);
	for (unsigned p = 0; p < packets; p++) {
		af_stream_flush(&s);
		af_stream_owner(&s, 1000 + p);
		for (unsigned i = 0; i < events; i++, n++)
			af_stream_put(&s, sample, start_ns + n * step_ns, 7, 0, n);
	}
	maker_close(m, &s);
}

#endif
