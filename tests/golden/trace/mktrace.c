/*
 * mktrace FILE DIR: makes the trace DIR out of text, in the form that `aflame print` writes it in.
 * So a trace for a test can be written by hand, and printing it must give the text back.
 *
 * Times are relative to a start of 1000 s. Streams must be numbered from 0. Lines that begin with
 * '#' are comments; "!discard sN COUNT" makes the writer of stream N count lost events, "!close
 * sN" ends its packet, "!empty sN" writes one without events. A line may also be a call of a traced
 * API by the function's name (api_call.h), which is printed otherwise. MKTRACE_PACKET=N ends each
 * packet that has N bytes of events.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api_call.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "trace/read/reader.h"
#include "trace/write/stream.h"

enum { STREAMS = 64, START_S = 1000 };

static struct {
	const char *file;
	unsigned line;
	int dirfd;
	struct af_stream streams[STREAMS];
	bool open[STREAMS];
	size_t packet; /* bytes of events that end one; 0: the writer's own size */
} mk;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "%s:%u: ", mk.file, mk.line);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	exit(1);
}

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " ");
}

static const char *expect(const char *s, const char *text)
{
	if (strncmp(s, text, strlen(text)))
		die("expected '%s' at '%.30s'", text, s);
	return s + strlen(text);
}

static const char *number(const char *s, uint64_t *v)
{
	char *end;

	*v = *s == '-' ? (uint64_t)strtoll(s, &end, 0) : strtoull(s, &end, 0);
	if (end == s)
		die("expected a number at '%.30s'", s);
	return end;
}

/* A number, or names of @e joined by '|'. */
static const char *named(const char *s, const struct af_enum_info *e, uint64_t *v)
{
	*v = 0;
	for (;; s++) {
		uint64_t one = 0;
		size_t len = strcspn(s, " |\n");
		if (!e || !isalpha((unsigned char)*s)) {
			s = number(s, &one);
		} else {
			uint32_t i = 0;
			while (i < e->nr_values && (strlen(e->values[i].name) != len ||
			                            memcmp(e->values[i].name, s, len)))
				i++;
			if (i == e->nr_values)
				die("%s has no %.*s", e->name, (int)len, s);
			one = e->values[i].value;
			s += len;
		}
		*v |= one;
		if (*s != '|')
			return s;
	}
}

static const char *quoted(const char *s, struct af_buf *b)
{
	for (s = expect(s, "\""); *s != '"'; s++) {
		unsigned byte;
		if (!*s)
			die("a string without its end");
		if (*s != '\\') {
			af_buf_char(b, *s);
		} else if (*++s == 'x' && sscanf(s + 1, "%2x", &byte) == 1) {
			af_buf_char(b, (char)byte);
			s += 2;
		} else {
			af_buf_char(b, *s);
		}
	}
	af_buf_char(b, 0);
	return s + 1;
}

static const char *hex_bytes(const char *s, struct af_buf *b)
{
	unsigned byte;

	for (; isxdigit((unsigned char)*s) && sscanf(s, "%2x", &byte) == 1; s += 2)
		af_buf_char(b, (char)byte);
	return s;
}

static const char *sequence(const char *s, enum af_field_type type, struct af_buf *b)
{
	uint32_t size = af_field_size(type), count;
	size_t at = b->len;

	af_buf_add(b, "\0\0\0\0", 4);
	if (type == AF_TYPE_u8) {
		s = hex_bytes(s, b);
	} else {
		s = expect(s, "[");
		while (*s != ']') {
			uint64_t v;
			s = number(s, &v);
			af_buf_add(b, &v, size);
			s += *s == ',';
		}
		s++;
	}
	count = (uint32_t)((b->len - at - 4) / size);
	memcpy(b->data + at, &count, 4);
	return s;
}

static const char *payload(const char *s, const struct af_kind_info *info, struct af_buf *b)
{
	for (uint32_t i = 0; i < info->nr_fields; i++) {
		const struct af_field_info *f = &info->fields[i];
		uint64_t v;

		s = expect(expect(skip_blanks(s), f->name), "=");
		if (f->class == AF_FIELD_STR) {
			s = quoted(s, b);
		} else if (f->class == AF_FIELD_SEQ) {
			s = sequence(s, f->type, b);
		} else {
			s = named(s, af_field_enum(f), &v);
			af_buf_add(b, &v, af_field_size(f->type));
		}
	}
	return s;
}

static struct af_stream *stream_of(uint64_t n)
{
	char name[16];

	if (n >= STREAMS)
		die("streams are numbered from 0 to %d", STREAMS - 1);
	if (!mk.open[n]) {
		snprintf(name, sizeof name, "s%u", (unsigned)n);
		int fd = af_create_private(mk.dirfd, name);
		if (fd < 0 || af_stream_open_file(&mk.streams[n], fd, n + 1, 0))
			die("cannot write stream %s", name);
		mk.open[n] = true;
	}
	return &mk.streams[n];
}

/* The stream of the next packet; another owner ends the one in hand. */
static void stream_set_owner(struct af_stream *s, uint64_t process, uint64_t pid, uint64_t tid)
{
	if (s->process != process || s->pid != pid || s->tid != tid)
		af_stream_flush(s);
	s->process = (uint32_t)process;
	s->pid = (uint32_t)pid;
	af_stream_owner(s, (uint32_t)tid);
}

static void directive(const char *s)
{
	uint64_t n, count;

	if (!strncmp(s, "!discard s", 10)) {
		s = number(s + 10, &n);
		number(skip_blanks(s), &count);
		af_stream_discard(stream_of(n), count);
	} else if (!strncmp(s, "!empty s", 8)) {
		number(s + 8, &n);
		struct af_stream *out = stream_of(n);
		/* The second packet ends the first before anything is in it. */
		af_stream_next_packet(out, 0, out->last_ns);
		af_stream_next_packet(out, 0, out->last_ns);
	} else {
		number(expect(s, "!close s"), &n);
		af_stream_flush(stream_of(n));
	}
}

static const struct af_kind_info *kind_called(const char *name, size_t len, uint64_t *kind)
{
	for (uint16_t k = 0; k < AF_KIND_MAX; k++) {
		const struct af_kind_info *info = af_kind_info(k);
		if (info && strlen(info->name) == len && !memcmp(info->name, name, len)) {
			*kind = k;
			return info;
		}
	}
	number(expect(name, "kind_"), kind);
	return NULL;
}

static void event_line(const char *s)
{
	uint64_t sec, ns, stream, process, pid, tid, kind;
	struct af_buf b = {0};

	if (sscanf(s, "%lu.%9lu s%lu p%lu %lu/%lu", &sec, &ns, &stream, &process, &pid, &tid) != 6)
		die("expected TIME sSTREAM pPROCESS PID/TID KIND FIELDS…");
	s = skip_blanks(strchr(s, '/') + 1);
	s = skip_blanks(s + strspn(s, "0123456789"));

	size_t len = strcspn(s, " \n");
	const char *wrong, *rest = api_call(s, len, &b, &kind, &wrong);
	if (wrong && !rest)
		die("what is '%.30s'?", wrong);
	const struct af_kind_info *info = rest ? NULL : kind_called(s, len, &kind);
	if (rest)
		s = rest;
	else if (info)
		s = payload(s + len, info, &b);
	else
		s = hex_bytes(expect(skip_blanks(s + len), "payload="), &b);
	if (*skip_blanks(s) != '\n' && *s)
		die("what is '%.30s'?", s);

	struct af_stream *out = stream_of(stream);
	stream_set_owner(out, process, pid, tid);
	void *to =
	    af_stream_begin(out, (enum af_kind)kind, (START_S + sec) * 1000000000 + ns, b.len);
	if (!to)
		die("the event does not fit");
	if (b.len)
		memcpy(to, b.data, b.len);
	af_stream_end(out);
	if (mk.packet && out->used >= sizeof(struct af_packet) + mk.packet)
		af_stream_flush(out);
	af_buf_free(&b);
}

int main(int argc, char **argv)
{
	const char *packet = getenv("MKTRACE_PACKET");
	struct af_err err = {0};
	char *line = NULL;
	size_t cap = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: mktrace FILE DIR\n");
		return 2;
	}
	mk.file = argv[1];
	mk.packet = packet ? strtoul(packet, NULL, 10) : 0;
	FILE *in = fopen(mk.file, "r");
	mkdir(argv[2], 0700);
	mk.dirfd = open(argv[2], O_RDONLY | O_DIRECTORY);
	if (!in || mk.dirfd < 0)
		die("cannot open %s and make %s", argv[1], argv[2]);
	if (af_metadata_write(mk.dirfd, START_S * 1000000000ull, 1700000000000000000ull, NULL,
	                      &err))
		die("%s", err.msg);
	while (getline(&line, &cap, in) > 0) {
		mk.line++;
		const char *s = skip_blanks(line);
		if (*s == '!')
			directive(s);
		else if (*s != '#' && *s != '\n')
			event_line(s);
	}
	for (int i = 0; i < STREAMS; i++)
		if (mk.open[i] && af_stream_close(&mk.streams[i]))
			die("cannot write stream %d", i);
	free(line);
	fclose(in);
	return 0;
}
