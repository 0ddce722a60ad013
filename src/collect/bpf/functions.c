/*
 * Calls of the functions that --uprobe names. Probes lie on the files (and so in every process that
 * maps them, from its first call on), not on processes that map them already: a process that is
 * seen to map a file may have called its functions before the probes are there.
 *
 * Each call is counted. Calls without a record of their own (all but one in N, those that the ring
 * had no room for, and those that were to have one at their return and did not return) are added up
 * in the kernel by thread, and written as CALL_SUM.
 *
 * The exits of a function are probed before its entry: every call that is begun can be ended.
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
#include "collect/functions/probes.h"
#include "collect/session/session.h"
#include "trace/write/probes.h"

_Static_assert((int)AF_WATCH_FUNCTIONS <= (int)AF_BPF_FUNCTIONS, "each has a number in the kernel");
_Static_assert((int)AF_EXIT_PARTS == (int)AF_BPF_PARTS, "all parts are known in the kernel");
_Static_assert((int)AF_WATCH_EXITS < (int)AF_BPF_EXIT_MASK, "each has a number in a cookie");
_Static_assert(AF_PROBE_FUNCTION + AF_BPF_FUNCTIONS <= AF_KIND_API, "not a kind of a traced API");

uint32_t bpf_functions_nr_exits(const struct af_watch_options *o)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < o->nr_functions; i++)
		nr += o->functions[i].nr_exits;
	return nr;
}

static int probe_refused(struct af_err *err, int rc, const struct af_watch_function *f)
{
	if (rc == -EPERM || rc == -EACCES)
		return af_fail_plain(err, rc,
		                     "--uprobe: the kernel lets root alone probe: run "
		                     "aflame as root");
	return af_fail(err, rc, "--uprobe: the kernel puts no probe on %s of %s", f->name, f->path);
}

/* The exit @e of function @number, for the map `exits`. */
static struct af_bpf_exit_site exit_site(const struct af_watch_function *f, uint32_t number,
                                         const struct af_watch_exit *e)
{
	struct af_bpf_exit_site site = {
	    .address = e->address,
	    .add = e->add,
	    .function = number,
	    .how = e->how,
	    .condition = e->condition,
	    .base = e->base,
	    .index = e->index,
	    .scale = e->scale,
	};

	for (int i = 0; i < AF_EXIT_PARTS; i++) {
		site.starts[i] = f->parts[i].start;
		site.sizes[i] = f->parts[i].size;
	}
	return site;
}

/*
 * The exits of function @number, which get numbers from @first on. *@own: 1 more than the number of
 * the one that is its first instruction, which has the entry's probe; 0: none.
 */
static int exits_attach(struct af_bpf *b, uint32_t number, uint32_t first, uint32_t *own,
                        struct af_err *err)
{
	const struct af_watch_function *f = &b->options->functions[number];
	int fd = bpf_map__fd(b->programs->maps.exits), rc = 0;
	uint64_t *offsets = af_xcalloc(f->nr_exits, sizeof *offsets);
	uint64_t *cookies = af_xcalloc(f->nr_exits, sizeof *cookies);
	struct bpf_places at = {.offsets = offsets, .cookies = cookies};
	struct bpf_probes *probes = NULL;

	for (uint32_t i = 0; !rc && i < f->nr_exits; i++) {
		struct af_bpf_exit_site site = exit_site(f, number, &f->exits[i]);
		uint32_t key = first + i;
		rc = bpf_map_update_elem(fd, &key, &site, BPF_ANY);
		if (f->exits[i].offset == f->offset) {
			*own = key + 1;
			continue;
		}
		offsets[at.nr] = f->exits[i].offset;
		cookies[at.nr++] = key;
	}
	if (!rc && at.nr)
		rc = bpf_probes_open(&probes, b->programs->progs.function_exit, f->path, &at, 0);
	bpf_probes_add(&b->probed, probes);
	free(offsets);
	free(cookies);
	return rc ? probe_refused(err, rc, f) : 0;
}

static int file_attach(struct af_bpf *b, uint32_t from, uint32_t end, uint32_t *nr_exits,
                       struct af_err *err)
{
	const struct af_watch_function *f = b->options->functions;
	uint64_t offsets[AF_WATCH_FUNCTIONS], cookies[AF_WATCH_FUNCTIONS];
	struct bpf_places at = {.offsets = offsets, .cookies = cookies, .nr = end - from};
	struct bpf_probes *probes = NULL;

	for (uint32_t i = from; i < end; i++) {
		uint32_t own = 0;
		int rc = f[i].nr_exits ? exits_attach(b, i, *nr_exits, &own, err) : 0;
		if (rc)
			return rc;
		*nr_exits += f[i].nr_exits;
		offsets[i - from] = f[i].offset;
		cookies[i - from] = (uint64_t)f[i].every << AF_BPF_EVERY_SHIFT |
		                    (uint64_t)own << AF_BPF_EXIT_SHIFT |
		                    (uint64_t)(f[i].nr_exits != 0) << AF_BPF_RETURNS_BIT | i;
	}
	int rc = bpf_probes_open(&probes, b->programs->progs.function_call, f[from].path, &at, 0);
	bpf_probes_add(&b->probed, probes);
	return rc ? probe_refused(err, rc, &f[from]) : 0;
}

int bpf_functions_attach(struct af_bpf *b, struct af_err *err)
{
	const struct af_watch_function *f = b->options->functions;
	uint32_t nr = b->options->nr_functions, nr_exits = 0, end;

	if (!nr)
		return 0;
	b->nr_calls = af_xcalloc(nr, sizeof *b->nr_calls);
	b->programs->bss->probes = true;
	for (uint32_t from = 0; from < nr; from = end) {
		for (end = from + 1; end < nr && !strcmp(f[end].path, f[from].path);)
			end++;
		int rc = file_attach(b, from, end, &nr_exits, err);
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
	if (s->out_ns)
		af_stream_put(&out->stream, call_long, s->head.time_ns, .callpath = callpath,
		              .function = function, .duration_ns = s->head.time_ns - s->out_ns);
	else
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
		uint64_t count = (uint64_t)t->passed[i] + t->open[i];
		if (count && !out)
			out = bpf_out_of(b, image);
		if (count && out)
			passed_write(b, out, &t->head, i, count);
	}
}

/* No call at all is what a wrong file, or a probe that the kernel could not place, looks like. */
static void uncalled_report(struct af_bpf *b)
{
	uint32_t nr = b->options->nr_functions;
	struct af_probed_call *all = af_xcalloc(nr, sizeof *all);

	for (uint32_t i = 0; i < nr; i++) {
		const struct af_watch_function *f = &b->options->functions[i];
		all[i] = (struct af_probed_call){f->name, f->path, b->nr_calls[i] != 0};
	}
	af_session_uncalled(b->r, all, nr);
	free(all);
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
