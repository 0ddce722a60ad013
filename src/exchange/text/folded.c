/*
 * gpuperf's extended folded text, `timestamp_ns comm pid tid cpu f1;f2;…`: CPU samples, and the
 * stacks of launches, which its probe took and which end in the function (cudaLaunchKernel).
 */
#include <errno.h>
#include <string.h>

#include "exchange/builder/builder.h"
#include "exchange/source/sniff.h"
#include "exchange/source/source.h"
#include "exchange/text/lines.h"

enum { LINE_MAX_BYTES = 256 << 10, TEXT_MAX = AF_JSON_TEXT_MAX };

struct folded {
	struct af_builder *builder;
	struct import_line_count count;
};

static bool digits_only(const char *p, size_t len)
{
	if (!len || len > 19)
		return false;
	for (size_t i = 0; i < len; i++)
		if (p[i] < '0' || p[i] > '9')
			return false;
	return true;
}

static uint64_t number(const char *p, size_t len)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++)
		v = v * 10 + (uint64_t)(p[i] - '0');
	return v;
}

struct word {
	const char *at;
	size_t len;
};

static const char *word_take(const char *p, const char *end, struct word *w)
{
	while (p < end && *p == ' ')
		p++;
	w->at = p;
	while (p < end && *p != ' ')
		p++;
	w->len = (size_t)(p - w->at);
	return p;
}

/*
 * The pid, tid and cpu: the first three numbers in a row behind the comm, which may have blanks.
 * Returns what is behind them, or NULL.
 */
static const char *ids_find(const char *p, const char *end, struct word *comm, uint64_t ids[3])
{
	struct word w;

	p = word_take(p, end, comm);
	if (!comm->len)
		return NULL;
	for (;;) {
		const char *at = p;
		int n = 0;
		for (; n < 3; n++) {
			at = word_take(at, end, &w);
			if (!digits_only(w.at, w.len) || number(w.at, w.len) > UINT32_MAX)
				break;
			ids[n] = number(w.at, w.len);
		}
		if (n == 3)
			return at;
		p = word_take(p, end, &w);
		if (!w.len)
			return NULL;
		comm->len = (size_t)(w.at + w.len - comm->at);
	}
}

static bool is_kernel_frame(const char *p, size_t len)
{
	return len > 4 && !memcmp(p + len - 4, "_[k]", 4);
}

static uint32_t frame_add(struct af_builder *d, uint32_t node, const char *p, size_t len,
                          enum af_builder_frame kind)
{
	if (len > TEXT_MAX) {
		len = TEXT_MAX;
		d->unused[AF_BUILDER_TEXTS_UNUSED]++;
	}
	return af_builder_node(d, node, af_builder_name(d, p, len), kind);
}

/* Frames from the first one of the kernel on are the kernel's: it is not left before the leaf. */
static void stack_add(struct af_builder *d, struct af_builder_sample *s, const char *p,
                      const char *end)
{
	bool in_kernel = false;

	while (p < end) {
		const char *stop = memchr(p, ';', (size_t)(end - p));
		size_t len = (size_t)((stop ? stop : end) - p);
		bool marked = is_kernel_frame(p, len);
		in_kernel |= marked;
		if (len && in_kernel)
			s->kernel_node = frame_add(d, s->kernel_node, p, marked ? len - 4 : len,
			                           AF_BUILDER_KERNEL);
		else if (len)
			s->node = frame_add(d, s->node, p, len, AF_BUILDER_NATIVE);
		p = stop ? stop + 1 : end;
	}
}

static bool line_read(struct folded *f, const char *p, const char *end)
{
	struct af_builder *d = f->builder;
	struct af_builder_sample s = {0};
	struct word time, comm;
	uint64_t ids[3];

	p = word_take(p, end, &time);
	if (!digits_only(time.at, time.len))
		return false;
	p = ids_find(p, end, &comm, ids);
	if (!p)
		return false;
	uint32_t process = af_builder_process(d, 0, (uint32_t)ids[0]);
	s.thread = af_builder_thread(d, process, (uint32_t)ids[1]);
	if (s.thread == UINT32_MAX)
		return true;
	s.time_ns = number(time.at, time.len);
	s.cpu = (uint32_t)ids[2];
	s.at_launch = true;
	if (!d->threads[s.thread].name)
		d->threads[s.thread].name = af_builder_name(d, comm.at, comm.len);
	if (!d->processes[process].exe || ids[0] == ids[1])
		d->processes[process].exe = d->threads[s.thread].name;
	while (p < end && *p == ' ')
		p++;
	stack_add(d, &s, p, end);
	af_builder_sample(d, &s);
	return true;
}

static void line_take(void *arg, char *p, size_t len, bool cut)
{
	struct folded *f = arg;

	f->count.line++;
	f->builder->unused[AF_BUILDER_TEXTS_UNUSED] += cut;
	while (len && (p[len - 1] == '\r' || p[len - 1] == ' '))
		len--;
	if (!len || line_read(f, p, p + len))
		return;
	import_line_bad(&f->count, f->builder);
}

void af_import_folded(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                      char *complaint, size_t size)
{
	struct folded f = {.builder = d};
	ssize_t rc = import_lines(in, LINE_MAX_BYTES, line_take, &f);

	import_lines_complain(&f.count, rc, "are no samples", d, complaint, size);
}

/* A time since 1970 or since the machine began, and where the ids are. */
bool af_import_folded_line(const char *p, const char *end)
{
	struct word time, comm;
	uint64_t ids[3];

	p = word_take(p, end, &time);
	return digits_only(time.at, time.len) && ids_find(p, end, &comm, ids);
}

static bool is_line(const char *p, const char *end, bool cut)
{
	(void)cut;
	return af_import_folded_line(p, end);
}

bool af_import_is_folded(const char *text, size_t len)
{
	return import_most_lines(text, len, is_line);
}
