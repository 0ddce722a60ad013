/*
 * Calls of CUDA, Level Zero and OpenCL by processes that carry no libaflame: the kernel's probes
 * (uprobes) at the entries of the functions of their libraries, wherever the process has such a
 * file from. What is seen is who called what and when: how long it took, and what the device did
 * then, is not.
 *
 * Only entries are probed. A probe of the return writes its own address over the caller's on the
 * stack: whoever else walks that stack (an exception, a sampler, we ourselves) loses its way there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "base/system/rights.h"
#include "bpf/record.skel.h"
#include "collect/bpf/library.h"
#include "collect/bpf/private.h"
#include "collect/session/session.h"

enum {
	PROBING_PART = 4, /* of the time */
	PROBING_MOST_NS = 250000000,
};

static int library_probe(struct bpf_probes **to, const struct record_bpf *programs,
                         const char *path, const struct bpf_library *l, uint32_t pid)
{
	uint64_t *offsets = af_xcalloc(l->nr, sizeof *offsets);
	struct bpf_places at = {.offsets = offsets, .nr = l->nr};

	for (uint32_t i = 0; i < l->nr; i++)
		offsets[i] = l->sites[i].offset;
	int rc = bpf_probes_open(to, programs->progs.device_call, path, &at, pid);
	free(offsets);
	return rc;
}

int bpf_calls_try(const struct record_bpf *programs)
{
	uint64_t here = (uintptr_t)bpf_calls_try;
	struct af_proc_mapping m;
	uint64_t at = 0;
	struct bpf_places own = {.offsets = &at, .nr = 1};
	struct bpf_probes *p = NULL;
	scope_free char *line = NULL;
	size_t cap = 0;

	scope_fclose FILE *f = af_proc_open_maps((unsigned)getpid());
	while (af_proc_mapping_next(f, &line, &cap, &m))
		if (here >= m.start && here < m.end)
			at = here - m.start + m.offset;
	int rc = bpf_probes_open(&p, programs->progs.device_call, "/proc/self/exe", &own,
	                         (uint32_t)getpid());
	bpf_probes_free(p);
	return rc;
}

/* ---- whose ---- */

/* Is it recorded what the API of the library at @path is asked? Then its bit. */
static uint32_t api_bit(const struct af_bpf *b, const char *path)
{
	int api = b->r ? bpf_api_of(path) : -1;

	return api >= 0 && b->r->control->flags & bpf_apis[api].flag ? 1u << api : 0;
}

static void calls_want(struct af_bpf *b, struct bpf_image *image)
{
	if (image->calls != BPF_CALLS_WANTED)
		b->nr_callers++;
	image->calls = BPF_CALLS_WANTED;
}

/* A program that is probed already may map another library later. */
void bpf_calls_see(struct af_bpf *b, struct bpf_image *image, const char *path)
{
	uint32_t bit = api_bit(b, path);

	if (image->apis & bit || !bit)
		return;
	image->apis |= bit;
	calls_want(b, image);
}

static bool maps_driver(const struct af_bpf *b, uint32_t pid)
{
	scope_fclose FILE *f = af_proc_open_maps(pid);
	scope_free char *line = NULL;
	struct af_proc_mapping m;
	size_t cap = 0;

	while (af_proc_mapping_next(f, &line, &cap, &m))
		if (*m.path == '/' && api_bit(b, m.path))
			return true;
	return false;
}

void bpf_calls_find(struct af_bpf *b)
{
	DIR *all = b->r->control->flags & BPF_SESSION_APIS ? opendir("/proc") : NULL;
	const struct dirent *e;

	while (all && (e = readdir(all))) {
		uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);
		if (pid && maps_driver(b, pid))
			bpf_image_need(b, pid, af_now_ns());
	}
	if (all)
		closedir(all);
}

/* A forked process may make the calls that its parent has not made yet: it has the code. */
void bpf_calls_fork(struct af_bpf *b, struct bpf_image *image, const struct bpf_image *from)
{
	if (from->calls == BPF_CALLS_NONE)
		return;
	image->apis = from->apis;
	calls_want(b, image);
}

static void probes_over(struct af_bpf *b, struct bpf_image *image)
{
	struct bpf_probes *p;

	while ((p = bpf_probes_take(&image->probes)))
		bpf_probes_add(&b->probing.over, p);
}

void bpf_calls_end(struct af_bpf *b, struct bpf_image *image)
{
	if (image->calls == BPF_CALLS_WANTED) {
		b->nr_callers--;
		b->probing.nr_missed += b->probing.late && image->ended;
	}
	if (image->calls != BPF_CALLS_NONE)
		image->calls = BPF_CALLS_OVER;
	probes_over(b, image);
}

void bpf_calls_admit(struct af_bpf *b, struct bpf_image *image)
{
	bpf_calls_end(b, image);
	image->probed = 0;
	if (image->apis & 1 << BPF_API_CUDA && b->options->calls_twice)
		calls_want(b, image);
}

/* Where @image has the library whose name begins with @file; NULL: it has none. */
static const struct bpf_mapping *mapping_of(const struct af_bpf *b, const struct bpf_image *image,
                                            const char *file)
{
	for (const struct bpf_image *i = image; i; i = i->exec ? NULL : i->from)
		for (uint32_t k = i->nr_maps; k--;)
			if (bpf_is_file(af_strtab_get(&b->strings, i->maps[k].path), file))
				return &i->maps[k];
	return NULL;
}

enum { OPENED_PATH = 64 };

/*
 * The file as the process has it mapped, whatever lies under its name by now, or, where that may
 * not be opened, what its name means to the process; and a path to it for as long as it is open.
 * Negative: it cannot be had.
 */
static int mapping_open(const struct af_bpf *b, const struct bpf_image *image,
                        const struct bpf_mapping *m, char path[OPENED_PATH])
{
	if (!m)
		return -1;
	snprintf(path, OPENED_PATH, "/proc/%u/map_files/%llx-%llx", image->pid,
	         (unsigned long long)m->start, (unsigned long long)m->end);
	uint64_t before = af_rights_raise(AF_RIGHTS_PROCESS);
	int fd = af_open_regular(AT_FDCWD, path, 0);
	af_rights_restore(before);
	if (fd < 0)
		fd = af_open_regular_of(image->pid, af_strtab_get(&b->strings, m->path));
	snprintf(path, OPENED_PATH, "/proc/self/fd/%d", fd);
	return fd;
}

static void calls_say(struct af_bpf *b, const struct bpf_image *image, int api, const char *words)
{
	af_session_note(b->r, bpf_apis[api].note_key, "%s (%u): %s",
	                af_strtab_get(&b->strings, image->comm), image->pid, words);
}

static void calls_refused(struct af_bpf *b, const struct bpf_image *image, int api, int rc)
{
	char words[256];

	snprintf(words, sizeof words, "calls are not seen: %s (%s)", strerror(-rc),
	         rc == -EPERM || rc == -EACCES ? "run aflame as root"
	                                       : "the kernel must be built with CONFIG_UPROBES");
	calls_say(b, image, api, words);
	if (b->r->options->tell && !b->reported_refusal)
		b->r->options->tell(words);
	b->reported_refusal = true;
}

static void api_begin(struct af_bpf *b, struct bpf_image *image, int api)
{
	const struct bpf_mapping *m = mapping_of(b, image, bpf_apis[api].file);
	struct bpf_probes *probes = NULL;
	char path[OPENED_PATH], words[160];

	scope_close int fd = mapping_open(b, image, m, path);
	struct bpf_library *l = fd < 0 ? NULL : bpf_library_of(b, fd);
	if (!l || !l->nr) {
		snprintf(words, sizeof words, "calls are not seen: its %s cannot be read",
		         bpf_apis[api].file);
		calls_say(b, image, api, words);
		return;
	}
	image->libraries[api] = (struct bpf_probed){l, m->path};
	b->programs->bss->probes = true;
	int rc = library_probe(&probes, b->programs, path, l, image->pid);
	if (rc == -ESRCH || rc == -ENOENT)
		return; /* it has ended meanwhile */
	if (rc) {
		calls_refused(b, image, api, rc);
		return;
	}
	bpf_probes_add(&image->probes, probes);
	snprintf(words, sizeof words,
	         "calls of %u functions of %s are seen from outside: no device times, which "
	         "aflame run has",
	         l->nr, bpf_apis[api].file);
	calls_say(b, image, api, words);
}

/* The libraries that it is not probed for yet; libaflame may be there, and see all but CUDA. */
static void calls_begin(struct af_bpf *b, struct bpf_image *image)
{
	for (int api = 0; api < BPF_APIS; api++) {
		uint32_t bit = 1u << api;
		if (!(image->apis & bit) || image->probed & bit ||
		    (image->outside && api != BPF_API_CUDA))
			continue;
		image->probed |= bit;
		api_begin(b, image, api);
	}
}

/* The calls that libaflame records, where it says of each that it does. */
static void twice_begin(struct af_bpf *b, struct bpf_image *image)
{
	char path[OPENED_PATH];
	uint64_t offset, semaphore;
	struct bpf_places at = {.offsets = &offset, .semaphores = &semaphore, .nr = 1};
	const uint32_t bit = 1u << BPF_API_CUDA;
	struct bpf_probes *probes = NULL;

	if (!(image->apis & bit) || image->probed & bit)
		return;
	image->probed |= bit;
	const struct bpf_mapping *m = mapping_of(b, image, "libaflame.so");
	scope_close int fd = mapping_open(b, image, m, path);
	if (fd < 0 || !bpf_usdt_find(fd, "aflame", "cuda_call", &offset, &semaphore)) {
		calls_say(b, image, BPF_API_CUDA,
		          "calls are not seen twice: its libaflame.so cannot be read");
		return;
	}
	b->programs->bss->probes = true;
	int rc = bpf_probes_open(&probes, b->programs->progs.recorded_call, path, &at, image->pid);
	if (rc && rc != -ESRCH && rc != -ENOENT)
		calls_refused(b, image, BPF_API_CUDA, rc);
	else if (!rc)
		calls_say(b, image, BPF_API_CUDA,
		          "calls are also seen by the kernel, by their numbers");
	bpf_probes_add(&image->probes, probes);
}

/*
 * Not yet: a process this young may carry libaflame, which records more, and not have registered.
 */
static bool is_early(const struct af_bpf *b, const struct bpf_image *image, uint64_t now)
{
	return b->r->child > 0 && !image->outside && !image->registration &&
	       now - image->start_ns < HOLD_NS;
}

static void image_begin(struct af_bpf *b, struct bpf_image *image)
{
	b->nr_callers--;
	image->calls = BPF_CALLS_OVER;
	if (bpf_calls_are_ours(image))
		calls_begin(b, image);
	else
		twice_begin(b, image);
}

/*
 * To put probes into a process, and to take them away, waits for all CPUs (RCU), some 10 ms each,
 * in which the rings are not read. Anybody may start processes that map a libcuda.so without end,
 * so that no more than a part of the time goes into it; a job's processes begin together, and they
 * are not kept waiting.
 */
static bool probing_may(struct bpf_probing *p, uint64_t now)
{
	if (now > p->counted_ns) {
		uint64_t more = (now - p->counted_ns) / PROBING_PART;
		p->left_ns += more < PROBING_MOST_NS ? (int64_t)more : PROBING_MOST_NS;
		p->counted_ns = now;
	}
	if (p->left_ns > PROBING_MOST_NS)
		p->left_ns = PROBING_MOST_NS;
	return p->left_ns > 0;
}

static void probing_took(struct bpf_probing *p, uint64_t begin_ns)
{
	p->left_ns -= (int64_t)(af_now_ns() - begin_ns);
}

static bool is_to_be_probed(struct af_bpf *b, const struct bpf_image *i)
{
	return i->in_scope && (bpf_calls_are_ours(i) || b->options->calls_twice) && !i->ended &&
	       bpf_image_at(b, i->pid, UINT64_MAX) == i;
}

/* Those that are over wait until nobody does who is to be seen. */
void bpf_calls_poll(struct af_bpf *b, uint64_t now)
{
	struct bpf_probing *p = &b->probing;

	p->late = false;
	for (uint32_t k = 0; b->nr_callers && k < b->nr_images; k++) {
		struct bpf_image *i = b->images[k];
		if (i->calls != BPF_CALLS_WANTED || is_early(b, i, now))
			continue;
		if (!is_to_be_probed(b, i)) {
			bpf_calls_end(b, i);
			continue;
		}
		uint64_t begin_ns = af_now_ns();
		p->late = !probing_may(p, begin_ns);
		if (p->late)
			return;
		image_begin(b, i);
		probing_took(p, begin_ns);
	}
	while (p->over && probing_may(p, af_now_ns())) {
		uint64_t begin_ns = af_now_ns();
		bpf_probes_free(bpf_probes_take(&p->over));
		probing_took(p, begin_ns);
	}
}

void bpf_calls_over(struct af_bpf *b)
{
	if (b->probing.nr_missed)
		af_session_note(b->r, "cuda.seen",
		                "calls of %u processes are not seen: too many that map a device's "
		                "library began at once",
		                b->probing.nr_missed);
}

void bpf_calls_outside(struct af_bpf *b, struct bpf_image *image)
{
	image->outside = true;
	image->probed = 0;
	probes_over(b, image);
	calls_want(b, image);
	bpf_calls_poll(b, af_now_ns());
}

void bpf_calls_close(struct af_bpf *b)
{
	while (b->probing.over)
		bpf_probes_free(bpf_probes_take(&b->probing.over));
	bpf_libraries_free(b);
}

/* ---- what they called ---- */

/* The library that is mapped as @m. */
static const struct bpf_library *library_at(const struct bpf_image *image,
                                            const struct bpf_mapping *m)
{
	for (; image; image = image->exec ? NULL : image->from)
		for (int api = 0; api < BPF_APIS; api++)
			if (image->libraries[api].library && image->libraries[api].path == m->path)
				return image->libraries[api].library;
	return NULL;
}

uint32_t bpf_calls_function(const struct bpf_image *image, const struct af_bpf_stacks *s)
{
	const struct bpf_mapping *m = s->user_bytes ? bpf_mapping_at(image, s->pcs[0]) : NULL;
	const struct bpf_library *l = m ? library_at(image, m) : NULL;

	if (!l || s->kernel_bytes)
		return 0;
	/* A call from within the driver is part of a call that was seen. */
	uint64_t caller = s->stack_bytes ? s->pcs[s->user_bytes / 8] : 0;
	const struct bpf_mapping *from = bpf_mapping_at(image, caller);
	if (from && from->path == m->path)
		return 0;
	return bpf_library_function(l, s->pcs[0] - m->start + m->offset);
}

bool bpf_calls_recorded(const struct bpf_image *image, const struct af_bpf_stacks *s)
{
	return !bpf_calls_are_ours(image) && s->what && s->what < bpf_nr_cuda_functions;
}

void bpf_calls_write(struct bpf_out *out, const struct af_bpf_stacks *s, uint32_t callpath)
{
	uint64_t time_ns = s->head.time_ns;
	uint32_t function = s->what;
	uint64_t *word = &out->functions[function / 64], bit = 1ull << function % 64;

	if (!(*word & bit)) {
		const char *name = bpf_functions[function].name;
		struct af_ev_function ev = {function, bpf_functions[function].api,
		                            bpf_functions[function].category};
		struct af_tail tail[] = {{name, (uint32_t)strlen(name), 0}};
		af_stream_put_tail(&out->stream, AF_KIND_FUNCTION, time_ns, &ev, sizeof ev, tail,
		                   1);
		*word |= bit;
	}
	af_stream_put(&out->stream, call_seen, time_ns, .callpath = callpath, .function = function,
	              .correlation = (uint32_t)s->wake);
}
