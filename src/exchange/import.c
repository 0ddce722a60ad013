#include "exchange/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "exchange/builder/builder.h"
#include "exchange/source/sniff.h"
#include "exchange/source/source.h"

/* An open file, some of whose bytes were looked at already. */
struct import_file {
	gzFile gz;
	char first[IMPORT_HEAD_BYTES];
	size_t nr_first, at;
	const struct af_import_watch *watch;
	uint64_t size;
	int directory; /* it is the first file of, or -1 */
	uint32_t nr_next;
	char unread[96]; /* what of the directory could not be, and why */
};

static ssize_t file_read(void *arg, void *to, size_t size)
{
	struct import_file *f = arg;

	if (f->at < f->nr_first) {
		size_t n = f->nr_first - f->at < size ? f->nr_first - f->at : size;
		memcpy(to, f->first + f->at, n);
		f->at += n;
		return (ssize_t)n;
	}
	z_off_t done = f->watch ? gzoffset(f->gz) : 0;
	if (done > 0)
		f->watch->tell(f->watch->arg, (uint64_t)done, f->size);
	int n = gzread(f->gz, to, size > 1u << 30 ? 1u << 30 : (unsigned)size);
	if (n >= 0)
		return n;
	int code;
	gzerror(f->gz, &code);
	return code == Z_ERRNO ? -EIO : -EBADMSG;
}

static uint64_t file_consumed(void *arg)
{
	const struct import_file *f = arg;
	z_off_t done = gzoffset(f->gz);

	return done > 0 ? (uint64_t)done : 0;
}

static bool file_seek(void *arg, uint64_t to)
{
	struct import_file *f = arg;

	f->at = f->nr_first;
	return to <= INT64_MAX && gzseek(f->gz, (z_off_t)to, SEEK_SET) == (z_off_t)to;
}

/* A file of a directory of perf's: nothing else, as it may be anybody's. */
static int open_part(int directory, const char *name)
{
	struct stat st;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

static bool file_next(void *arg)
{
	struct import_file *f = arg;
	char name[32];

	snprintf(name, sizeof name, "data.%u", f->nr_next++);
	int fd = f->directory < 0 ? -1 : open_part(f->directory, name);
	if (fd < 0 && f->directory >= 0 && errno != ENOENT)
		snprintf(f->unread, sizeof f->unread, "%s and what follows: %s", name,
		         strerror(errno));
	gzFile gz = fd < 0 ? NULL : gzdopen(fd, "rb");
	if (!gz) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	gzbuffer(gz, AF_JSON_BUFFER);
	gzclose(f->gz);
	f->gz = gz;
	f->nr_first = f->at = 0;
	return true;
}

/* The file @fd, or the first of the directory that it is. */
static int file_first(struct import_file *f, int fd, const char *path, struct af_err *err)
{
	struct stat st;

	f->directory = -1;
	if (fd >= 0 && !fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		f->directory = fd;
		fd = open_part(f->directory, "data");
		if (fd < 0)
			return af_fail_plain(err, -EISDIR,
			                     "%s is a directory: name the files in it", path);
	}
	if (fd < 0 || fstat(fd, &st)) {
		int rc = -errno;
		if (fd >= 0)
			close(fd);
		return af_fail(err, rc, "cannot read %s", path);
	}
	f->size = (uint64_t)st.st_size;
	return fd;
}

static void file_close(struct import_file *f)
{
	if (f->gz)
		gzclose(f->gz);
	if (f->directory >= 0)
		close(f->directory);
}

static int file_open(struct import_file *f, const char *path, struct af_err *err)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);

	fd = file_first(f, fd, path, err);
	if (fd < 0)
		return fd;
	f->gz = gzdopen(fd, "rb");
	if (!f->gz) {
		close(fd);
		return af_fail(err, -ENOMEM, "cannot read %s", path);
	}
	gzbuffer(f->gz, AF_JSON_BUFFER);
	int n = gzread(f->gz, f->first, sizeof f->first);
	if (n <= 0)
		return n ? af_fail_plain(err, -EIO, "%s cannot be read: damaged gzip", path)
		         : af_fail_plain(err, -ENODATA, "%s is empty", path);
	f->nr_first = (size_t)n;
	f->at = af_import_mark(f->first, f->nr_first);
	return 0;
}

static bool is_json(const char *text, size_t len)
{
	return import_json_kind(text, len) == IMPORT_JSON_OTHER;
}

/* The first whose beginning a file has. */
static const struct import_kind {
	bool (*is)(const char *text, size_t len);
	void (*read)(struct af_builder *d, const struct af_import_source *in, uint32_t number,
	             char *complaint, size_t size);
	const char *has; /* what there may be in such files, for those that have nothing */
} kinds[] = {
    {af_import_is_perf, af_import_perf, "of perf.data: samples"},
    {af_import_is_sqlite, af_import_nsys, "of SQLite: Nsight Systems' export"},
    {af_import_is_pprof, af_import_pprof, "of pprof: samples with values"},
    {af_import_is_speedscope, af_import_speedscope, "of speedscope's: weights and events"},
    {is_json, af_import_json, "of JSON: traces of PyTorch, of gpuperf, and slices of threads"},
    {af_import_is_iaprof, af_import_iaprof, "of iaprof: samples of instructions"},
    {af_import_is_iaprof_records, af_import_iaprof_records, "of iaprof: samples of instructions"},
    {af_import_is_cupti, af_import_cupti, "of CUPTI's text: calls and device work"},
    {af_import_is_perf_text, af_import_perf_text, "of perf script's text: samples"},
    {af_import_is_collapsed, af_import_collapsed, "of folded text: `f1;f2;f3 number`"},
    {af_import_is_folded, af_import_folded,
     "of gpuperf's text: `timestamp comm pid tid cpu f1;f2;f3`"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

size_t af_import_mark(const char *text, size_t len)
{
	static const char mark[] = "\xef\xbb\xbf";

	return len >= 3 && !memcmp(text, mark, 3) ? 3 : 0;
}

static const struct import_kind *kind_of(const char *text, size_t len)
{
	for (int i = 0; i < KINDS; i++)
		if (kinds[i].is(text, len))
			return &kinds[i];
	return NULL;
}

bool af_import_is_other(const char *text, size_t len, bool (*mine)(const char *text, size_t len),
                        char *say, size_t size)
{
	size_t mark = af_import_mark(text, len);

	text += mark;
	len = len - mark < IMPORT_HEAD_BYTES ? len - mark : IMPORT_HEAD_BYTES;
	const struct import_foreign *foreign = len ? import_foreign(text, len) : NULL;
	if (foreign) {
		snprintf(say, size, "it is %s; %s", foreign->name, foreign->advice);
		return true;
	}
	if (len > 2 && !memcmp(text, "\x1f\x8b", 2)) {
		snprintf(say, size, "it is packed by gzip, which `aflame import` unpacks");
		return true;
	}
	const struct import_kind *kind = len && !mine(text, len) ? kind_of(text, len) : NULL;
	if (!kind)
		return false;
	/* "of NAME: contents" */
	snprintf(say, size, "it looks like %.*s, which `aflame import` reads",
	         (int)strcspn(kind->has + 3, ":"), kind->has + 3);
	return true;
}

/* The reader for @f; NULL, with the reason in the message. */
static const struct import_kind *file_kind(const struct import_file *f, const char *path,
                                           struct af_err *err)
{
	const char *text = f->first + f->at, *end = strrchr(path, '.');
	const struct import_foreign *foreign = import_foreign(text, f->nr_first - f->at);
	const struct import_kind *kind = foreign ? NULL : kind_of(text, f->nr_first - f->at);

	if (foreign)
		af_fail_plain(err, -EBADMSG, "%s: cannot import: it is %s; %s", path, foreign->name,
		              foreign->advice);
	else if (!kind && end && (!strcmp(end, ".nsys-rep") || !strcmp(end, ".qdrep")))
		af_fail_plain(err, -EBADMSG,
		              "%s: cannot import: `nsys export --type sqlite %s` makes a file that "
		              "is read",
		              path, path);
	else if (!kind)
		af_fail_plain(
		    err, -EBADMSG,
		    "%s: cannot import: it has no format that aflame knows (docs/import.md "
		    "lists them)",
		    path);
	return kind;
}

int af_import_file(struct af_builder *d, const char *path, uint32_t number,
                   const struct af_import_watch *watch, char *complaint, size_t size,
                   struct af_err *err)
{
	struct import_file f = {.watch = watch};
	struct af_import_source in = {file_read, &f, file_seek, file_next, file_consumed};
	uint64_t before = af_builder_nr(d);
	int rc = file_open(&f, path, err);

	*complaint = 0;
	if (rc) {
		file_close(&f);
		return rc;
	}
	const struct import_kind *kind = file_kind(&f, path, err);
	if (kind)
		kind->read(d, &in, number, complaint, size);
	file_close(&f);
	if (!kind)
		return -EBADMSG;
	if (d->unparsed)
		return af_fail_plain(err, -EBADMSG, "%s: cannot import: %s", path, complaint);
	if (*f.unread && !*complaint) {
		snprintf(complaint, size, "cannot read %s", f.unread);
		d->damaged++;
	}
	if (af_builder_nr(d) == before)
		return af_fail_plain(err, -EBADMSG, "%s: nothing to import%s%s (%s)", path,
		                     *complaint ? ": " : "", complaint, kind->has);
	af_builder_note(d, "import.file", "%s", path);
	return 0;
}
