#include "trace/read/overview.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "trace/metadata.h"
#include "trace/packet.h"
#include "trace/read/files.h"

/* Headers that are read of a large trace, besides the first and the last of each stream. */
enum { FIRST_BIN_NS = 1000, HEADERS = 1024 };

struct overview {
	struct af_overview *o;
	struct af_map processes;
	uint64_t end_ns; /* of targets */
	uint64_t step;   /* bytes from one header that is read to the next */
};

static bool is_header(const struct af_packet *p)
{
	return p->magic == AF_PACKET_MAGIC && !p->stream_id && p->packet_bits % 8 == 0 &&
	       p->packet_bits / 8 >= sizeof *p;
}

static bool header_read(int fd, uint64_t at, struct af_packet *p)
{
	return pread(fd, p, sizeof *p, (off_t)at) == (ssize_t)sizeof *p && is_header(p);
}

/* The first header of the stream @instance from *@at on, a packet's length away at most. */
static bool header_find(int fd, uint64_t *at, uint64_t instance, struct af_packet *p)
{
	static const uint32_t magic = AF_PACKET_MAGIC;
	static char bytes[AF_SLOT_BYTES + sizeof *p];
	ssize_t n = pread(fd, bytes, sizeof bytes, (off_t)*at);
	const char *end = bytes + (n > 0 ? n : 0);

	for (const char *s = bytes; s < end && (s = memmem(s, (size_t)(end - s), &magic, 4)); s++) {
		if ((size_t)(end - s) < sizeof *p)
			return false;
		memcpy(p, s, sizeof *p);
		if (is_header(p) && p->instance == instance) {
			*at += (uint64_t)(s - bytes);
			return true;
		}
	}
	return false;
}

/* Twice as wide, until @end_ns lies in the last one. */
static void bins_widen(struct af_overview *o, uint64_t end_ns)
{
	while ((end_ns - o->start_ns) / o->bin_ns >= AF_OVERVIEW_BINS) {
		for (int i = 0; i < AF_OVERVIEW_BINS / 2; i++)
			o->bins[i] = o->bins[2 * i] + o->bins[2 * i + 1];
		memset(o->bins + AF_OVERVIEW_BINS / 2, 0, sizeof o->bins / 2);
		o->bin_ns *= 2;
	}
}

/* So many bytes were written from @begin_ns to @end_ns. */
static void bins_add(struct af_overview *o, uint64_t begin_ns, uint64_t end_ns, uint64_t bytes)
{
	begin_ns = begin_ns > o->start_ns ? begin_ns : o->start_ns;
	end_ns = end_ns > begin_ns ? end_ns : begin_ns;
	if (end_ns - o->start_ns > UINT64_MAX / 2)
		return; /* no clock counts so far */
	bins_widen(o, end_ns);
	uint64_t from = (begin_ns - o->start_ns) / o->bin_ns;
	uint64_t to = (end_ns - o->start_ns) / o->bin_ns;
	for (uint64_t i = from; i <= to; i++) {
		uint64_t part = bytes / (to - i + 1);
		o->bins[i] += part;
		bytes -= part;
	}
}

/* A place in a stream whose time is known. */
struct mark {
	uint64_t at;
	struct af_packet p;
};

/* The last packet of the stream, from the mark @m on, or from near its end. */
static void last_find(int fd, uint64_t size, struct mark *m)
{
	struct af_packet p;
	uint64_t at = size > 2 * AF_SLOT_BYTES ? size - 2 * AF_SLOT_BYTES : 0;

	if (at > m->at && header_find(fd, &at, m->p.instance, &p))
		*m = (struct mark){at, p};
	for (at = m->at; at < size && header_read(fd, at, &p); at += p.packet_bits / 8)
		*m = (struct mark){at, p};
}

static void mark_add(struct overview *v, const struct mark *from, uint64_t at, uint64_t ns)
{
	bool fresh;

	if (!from->p.process)
		return;
	af_map_at(&v->processes, from->p.process, &fresh);
	v->o->nr_processes += fresh;
	if (ns > v->end_ns)
		v->end_ns = ns;
	bins_add(v->o, from->p.begin_ns, ns, at - from->at);
}

static void stream_add(struct overview *v, int fd, uint64_t size)
{
	struct mark from = {0}, to = {0};

	v->o->nr_streams++;
	if (!header_read(fd, 0, &from.p))
		return;
	for (uint64_t at = v->step; at < size; at += v->step) {
		to.at = at;
		if (!header_find(fd, &to.at, from.p.instance, &to.p))
			continue;
		mark_add(v, &from, to.at, to.p.begin_ns);
		from = to;
	}
	to = from;
	last_find(fd, size, &to);
	/* The last packet of a writer that was killed has no end. */
	mark_add(v, &from, size, to.p.end_ns > to.p.begin_ns ? to.p.end_ns : to.p.begin_ns);
	v->o->discarded += to.p.discarded;
}

/* When the first packet of a stream begins. */
static void stream_begin(struct overview *v, int fd, uint64_t size)
{
	struct af_packet p;

	v->o->bytes += size;
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	if (size && header_read(fd, 0, &p) && p.begin_ns < v->o->start_ns)
		v->o->start_ns = p.begin_ns;
}

static int streams_each(struct overview *v, int dirfd, const char *dir,
                        void (*take)(struct overview *v, int fd, uint64_t size), struct af_err *err)
{
	DIR *d = af_dir_list(dirfd);
	struct stat st;

	if (!d)
		return af_fail(err, -errno, "cannot list %s", dir);
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.' || !strcmp(e->d_name, AF_METADATA_FILE))
			continue;
		scope_close int fd = af_trace_file(dirfd, e->d_name);
		if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
			take(v, fd, (uint64_t)st.st_size);
	}
	closedir(d);
	return 0;
}

int af_overview_read(struct af_overview *o, const char *dir, struct af_err *err)
{
	struct overview v = {.o = o};

	*o = (struct af_overview){.start_ns = UINT64_MAX, .bin_ns = FIRST_BIN_NS};
	scope_close int fd = af_trace_dir_open(dir);
	if (fd < 0)
		return af_fail(err, fd, "cannot open the trace %s", dir);
	int rc = streams_each(&v, fd, dir, stream_begin, err);
	if (o->start_ns == UINT64_MAX)
		o->start_ns = 0;
	v.step = o->bytes / HEADERS > 4 * AF_SLOT_BYTES ? o->bytes / HEADERS : 4 * AF_SLOT_BYTES;
	rc = rc ? rc : streams_each(&v, fd, dir, stream_add, err);
	af_map_free(&v.processes);
	o->span_ns = v.end_ns > o->start_ns ? v.end_ns - o->start_ns : 0;
	while (o->nr_bins < AF_OVERVIEW_BINS && o->nr_bins * o->bin_ns < o->span_ns)
		o->nr_bins++;
	return rc;
}

uint64_t af_overview_first(const struct af_overview *o, uint64_t bytes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < o->nr_bins; i++) {
		if (sum + o->bins[i] > bytes) {
			uint64_t part = (uint64_t)((double)o->bin_ns * (double)(bytes - sum) /
			                           (double)o->bins[i]);
			return i * o->bin_ns + part + 1;
		}
		sum += o->bins[i];
	}
	return o->span_ns ? o->span_ns : 1;
}

uint64_t af_overview_bytes(const struct af_overview *o, uint64_t from_ns, uint64_t to_ns)
{
	double sum = 0;

	for (uint32_t i = 0; i < o->nr_bins; i++) {
		uint64_t begin_ns = i * o->bin_ns, end_ns = begin_ns + o->bin_ns;
		uint64_t a = from_ns > begin_ns ? from_ns : begin_ns,
			 b = to_ns < end_ns ? to_ns : end_ns;
		if (b > a)
			sum += (double)o->bins[i] * (double)(b - a) / (double)o->bin_ns;
	}
	return (uint64_t)sum;
}
