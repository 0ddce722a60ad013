/*
 * Calls of the functions that --uprobe names. Probes lie on the files (and so in every process that
 * maps them, from its first call on), not on processes that map them already: a process that is
 * seen to map a file may have called its functions before the probes are there.
 *
 * Each call is counted. Calls without a record of their own (all but one in N, and those that the
 * ring had no room for) are added up in the kernel by thread, and written as CALL_SUM.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/proc.h"
#include "bpf/record.skel.h"
#include "collect/bpf/private.h"
#include "collect/session/session.h"
#include "trace/write/probes.h"

_Static_assert((int)AF_WATCH_FUNCTIONS <= (int)AF_BPF_FUNCTIONS, "each has a number in the kernel");
_Static_assert(AF_PROBE_FUNCTION + AF_BPF_FUNCTIONS <= AF_KIND_API, "not a kind of a traced API");

static int file_attach(struct af_bpf *b, uint32_t from, uint32_t end, struct af_err *err)
{
	const struct af_watch_function *f = b->options->functions;
	uint64_t offsets[AF_WATCH_FUNCTIONS], cookies[AF_WATCH_FUNCTIONS];
	struct bpf_places at = {.offsets = offsets, .cookies = cookies, .nr = end - from};
	struct bpf_probes *probes = NULL;

	for (uint32_t i = from; i < end; i++) {
		offsets[i - from] = f[i].offset;
		cookies[i - from] = (uint64_t)f[i].every << 32 | i;
	}
	int rc = bpf_probes_open(&probes, b->programs->progs.function_call, f[from].path, &at, 0);
	bpf_probes_add(&b->probed, probes);
	if (rc == -EPERM || rc == -EACCES)
		return af_fail_plain(err, rc,
		                     "--uprobe: the kernel lets root alone probe: run "
		                     "aflame as root");
	return rc ? af_fail(err, rc, "--uprobe: the kernel puts no probe on %s of %s", f[from].name,
	                    f[from].path)
	          : 0;
}

int bpf_functions_attach(struct af_bpf *b, struct af_err *err)
{
	const struct af_watch_function *f = b->options->functions;
	uint32_t nr = b->options->nr_functions, end;

	if (!nr)
		return 0;
	b->nr_calls = af_xcalloc(nr, sizeof *b->nr_calls);
	b->programs->bss->probes = true;
	for (uint32_t from = 0; from < nr; from = end) {
		for (end = from + 1; end < nr && !strcmp(f[end].path, f[from].path);)
			end++;
		int rc = file_attach(b, from, end, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Its FUNCTION is in the stream from here on. */
static uint32_t function_define(const struct af_bpf *b, struct bpf_out *out, uint32_t number,
                                uint64_t time_ns)
{
	uint64_t *word = &out->probed[number / 64], bit = 1ull << number % 64;
	const char *name = b->options->functions[number].name;
	struct af_ev_function ev = {AF_PROBE_FUNCTION + number, AF_API_FUNCTION, AF_CATEGORY_OTHER};
	struct af_tail tail[] = {{name, (uint32_t)strlen(name), 0}};

	if (!(*word & bit))
		af_stream_put_tail(&out->stream, AF_KIND_FUNCTION, time_ns, &ev, sizeof ev, tail,
		                   1);
	*word |= bit;
	return ev.function;
}

static void passed_write(struct af_bpf *b, struct bpf_out *out, const struct af_bpf_head *h,
                         uint32_t number, uint64_t count)
{
	if (!count)
		return;
	struct af_ev_call_sum ev = {
	    .tid = h->ns_tid,
	    .function = function_define(b, out, number, h->time_ns),
	    .count = count,
	};
	struct af_tail none[] = {{NULL, 0, 4}, {NULL, 0, 4}};
	af_stream_put_tail(&out->stream, AF_KIND_CALL_SUM, h->time_ns, &ev, sizeof ev, none, 2);
	b->nr_calls[number] += count;
}

void bpf_functions_write(struct af_bpf *b, struct bpf_out *out, const struct af_bpf_stacks *s,
                         uint32_t callpath)
{
	if (s->what >= b->options->nr_functions)
		return;
	passed_write(b, out, &s->head, s->what, s->wake);
	uint32_t function = function_define(b, out, s->what, s->head.time_ns);
	af_stream_put(&out->stream, call_seen, s->head.time_ns, .callpath = callpath,
	              .function = function);
	b->nr_calls[s->what]++;
}

void bpf_functions_passed(struct af_bpf *b, struct bpf_image *image, const struct af_bpf_turns *t,
                          size_t size)
{
	struct bpf_out *out = NULL;

	if (size < offsetof(struct af_bpf_turns, left))
		return;
	/* An exec ends its turns when its own image has begun, and they are of the one before. */
	if (image->exec && !image->begun && image->older)
		image = image->older;
	for (uint32_t i = 0; i < b->options->nr_functions; i++) {
		if (t->passed[i] && !out)
			out = bpf_out_of(b, image);
		if (t->passed[i] && out)
			passed_write(b, out, &t->head, i, t->passed[i]);
	}
}

/* No call at all is what a wrong file, or a probe that the kernel could not place, looks like. */
static void uncalled_report(struct af_bpf *b)
{
	for (uint32_t i = 0; i < b->options->nr_functions; i++) {
		const struct af_watch_function *f = &b->options->functions[i];
		char words[600];
		if (b->nr_calls[i])
			continue;
		snprintf(words, sizeof words,
		         "--uprobe: no call of %s was seen: either there was none, or what was "
		         "recorded has another file than %s mapped (see /proc/PID/maps)",
		         f->name, f->path);
		af_session_note(b->r, "functions.uncalled", "%s", words);
		if (b->r->options->tell)
			b->r->options->tell(words);
	}
}

void bpf_functions_over(struct af_bpf *b)
{
	int fd = bpf_map__fd(b->programs->maps.turns);
	static struct af_bpf_turns t;
	uint32_t tid, *last = NULL;

	if (!b->options->nr_functions)
		return;
	for (; !bpf_map_get_next_key(fd, last, &tid); last = &tid) {
		if (bpf_map_lookup_elem(fd, &tid, &t))
			continue;
		t.head.time_ns = af_now_ns();
		bpf_record_write(b, &t.head, sizeof t);
	}
	uncalled_report(b);
}

void bpf_functions_close(struct af_bpf *b)
{
	while (b->probed)
		bpf_probes_free(bpf_probes_take(&b->probed));
	free(b->nr_calls);
}
