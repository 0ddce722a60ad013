/*
 * Calls of the CUDA driver by processes that carry no libaflame: the kernel's probes (uprobes) at
 * the entries of libcuda's functions, wherever the process has that file from. What is seen is who
 * called what and when: how long it took, and what the device did then, is not.
 *
 * Only entries are probed. A probe of the return writes its own address over the caller's on the
 * stack: whoever else walks that stack (an exception, a sampler, we ourselves) loses its way there.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "base/system/rights.h"
#include "bpf/record.skel.h"
#include "collect/bpf/private.h"
#include "collect/bpf/probe_place.h"
#include "collect/session/session.h"
#include "trace/cuda_functions.h"

enum {
	SITES_MAX = 1024,
	PROBING_PART = 4, /* of the time */
	PROBING_MOST_NS = 250000000,
};

/* The ids that libaflame gives the functions too. */
static const struct {
	const char *name;
	uint32_t category;
} functions[] = {{"", 0},
#define AF_F(id, name, category) {#name, AF_CATEGORY_##category},
                 AF_CUDA_FUNCTIONS(AF_F)
#undef AF_F
};

enum { NR_FUNCTIONS = sizeof functions / sizeof *functions };

_Static_assert(sizeof functions / sizeof *functions <= BPF_FUNCTIONS_MAX,
               "a bit of struct bpf_out for each");

/* Where to probe: an offset in the file. */
struct site {
	uint64_t offset;
	uint32_t function;
};

struct bpf_library {
	dev_t dev;
	ino_t ino;
	struct site *sites; /* by offset */
	uint32_t nr;
	struct bpf_library *next;
};

/* ---- which addresses ---- */

static bool is_wanted(uint32_t category)
{
	return category != AF_CATEGORY_GRAPH && category != AF_CATEGORY_LOAD &&
	       category != AF_CATEGORY_OTHER;
}

static uint32_t function_named(const char *name)
{
	if (name[0] != 'c' || name[1] != 'u')
		return 0;
	for (uint32_t i = 1; i < NR_FUNCTIONS; i++)
		if (!strcmp(functions[i].name, name))
			return is_wanted(functions[i].category) ? i : 0;
	return 0;
}

bool bpf_file_offset(Elf *elf, uint64_t address, uint32_t flags, uint64_t *offset)
{
	size_t nr = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &nr);
	for (size_t i = 0; i < nr && gelf_getphdr(elf, (int)i, &p); i++)
		if (p.p_type == PT_LOAD && p.p_flags & flags && address >= p.p_vaddr &&
		    address - p.p_vaddr < p.p_filesz) {
			*offset = address - p.p_vaddr + p.p_offset;
			return true;
		}
	return false;
}

static int site_order(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static void site_add(struct bpf_library *l, Elf *elf, int fd, uint64_t address, uint32_t function)
{
	uint8_t code[AF_PROBE_CODE];
	uint64_t offset;

	if (l->nr == SITES_MAX || !bpf_file_offset(elf, address, PF_X, &offset))
		return;
	ssize_t n = pread(fd, code, sizeof code, (off_t)offset);
	if (n > 0)
		l->sites[l->nr++] =
		    (struct site){offset + af_probe_place(code, (uint32_t)n), function};
}

/* Two names of one function are one call: the first name it is. */
static void sites_sort(struct bpf_library *l)
{
	uint32_t kept = 0;

	qsort(l->sites, l->nr, sizeof *l->sites, site_order);
	for (uint32_t i = 0; i < l->nr; i++)
		if (!kept || l->sites[kept - 1].offset != l->sites[i].offset)
			l->sites[kept++] = l->sites[i];
	l->nr = kept;
}

static void sites_read(struct bpf_library *l, int fd)
{
	struct bpf_elf file;
	Elf *elf = bpf_elf_open(&file, fd);
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	GElf_Sym symbol;

	l->sites = af_xcalloc(SITES_MAX, sizeof *l->sites);
	while (elf && (section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_DYNSYM)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(elf, head.sh_link, symbol.st_name);
			uint32_t function = name ? function_named(name) : 0;
			if (function && symbol.st_shndx != SHN_UNDEF &&
			    GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
				site_add(l, elf, fd, symbol.st_value, function);
		}
	}
	bpf_elf_close(&file);
	sites_sort(l);
}

static struct bpf_library *library_of(struct af_bpf *b, int fd)
{
	struct bpf_library *l;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	for (l = b->libraries; l; l = l->next)
		if (l->dev == st.st_dev && l->ino == st.st_ino)
			return l;
	l = af_xcalloc(1, sizeof *l);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	sites_read(l, fd);
	l->next = b->libraries;
	b->libraries = l;
	return l;
}

/* ---- probes ---- */

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
	unsigned long long start, end, offset;
	uint64_t at = 0;
	struct bpf_places own = {.offsets = &at, .nr = 1};
	struct bpf_probes *p = NULL;
	char line[PATH_MAX + 128];

	scope_fclose FILE *f = fopen("/proc/self/maps", "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3 &&
		    here >= start && here < end)
			at = here - start + offset;
	int rc = bpf_probes_open(&p, programs->progs.device_call, "/proc/self/exe", &own,
	                         (uint32_t)getpid());
	bpf_probes_free(p);
	return rc;
}

/* ---- whose ---- */

static bool is_driver(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && path[1] != '/' && !strncmp(name, "/libcuda.so", sizeof "/libcuda.so" - 1);
}

void bpf_calls_see(struct af_bpf *b, struct bpf_image *image, const char *path)
{
	if (image->calls == BPF_CALLS_NONE && b->r && b->r->control->flags & AF_SESSION_CUDA &&
	    is_driver(path)) {
		image->calls = BPF_CALLS_WANTED;
		b->nr_callers++;
	}
}

static bool maps_driver(uint32_t pid)
{
	char line[PATH_MAX + 128];
	scope_fclose FILE *f = af_proc_open_maps(pid);

	while (f && fgets(line, sizeof line, f)) {
		const char *path = strchr(line, '/');
		if (path && is_driver(path))
			return true;
	}
	return false;
}

void bpf_calls_find(struct af_bpf *b)
{
	DIR *all = b->r->control->flags & AF_SESSION_CUDA ? opendir("/proc") : NULL;
	const struct dirent *e;

	while (all && (e = readdir(all))) {
		uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);
		if (pid && maps_driver(pid))
			bpf_image_need(b, pid, af_now_ns());
	}
	if (all)
		closedir(all);
}

/* What forked may call where it forked from has not yet: its code is there. */
void bpf_calls_fork(struct af_bpf *b, struct bpf_image *image, const struct bpf_image *from)
{
	if (from->calls == BPF_CALLS_NONE)
		return;
	image->calls = BPF_CALLS_WANTED;
	b->nr_callers++;
}

void bpf_calls_end(struct af_bpf *b, struct bpf_image *image)
{
	if (image->calls == BPF_CALLS_WANTED) {
		b->nr_callers--;
		b->probing.nr_missed += b->probing.late && image->ended;
	}
	if (image->calls != BPF_CALLS_NONE)
		image->calls = BPF_CALLS_OVER;
	bpf_probes_add(&b->probing.over, image->probes);
	image->probes = NULL;
}

void bpf_calls_admit(struct af_bpf *b, struct bpf_image *image)
{
	bool has_driver = image->calls != BPF_CALLS_NONE;

	bpf_calls_end(b, image);
	if (!has_driver || !b->options->calls_twice)
		return;
	image->calls = BPF_CALLS_WANTED;
	b->nr_callers++;
}

static const struct bpf_mapping *mapping_of(const struct af_bpf *b, const struct bpf_image *image,
                                            bool (*is)(const char *path))
{
	for (const struct bpf_image *i = image; i; i = i->exec ? NULL : i->from)
		for (uint32_t k = i->nr_maps; k--;)
			if (is(af_strtab_get(&b->strings, i->maps[k].path)))
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
                        bool (*is)(const char *path), char path[OPENED_PATH])
{
	const struct bpf_mapping *m = mapping_of(b, image, is);

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

static void calls_say(struct af_bpf *b, const struct bpf_image *image, const char *words)
{
	af_session_note(b->r, "cuda.seen", "%s (%u): %s", af_strtab_get(&b->strings, image->comm),
	                image->pid, words);
}

static void calls_refused(struct af_bpf *b, const struct bpf_image *image, int rc)
{
	char words[256];

	snprintf(words, sizeof words, "calls are not seen: %s (%s)", strerror(-rc),
	         rc == -EPERM || rc == -EACCES ? "run aflame as root"
	                                       : "the kernel must be built with CONFIG_UPROBES");
	calls_say(b, image, words);
	if (b->r->options->tell && !b->reported_refusal)
		b->r->options->tell(words);
	b->reported_refusal = true;
}

static void calls_begin(struct af_bpf *b, struct bpf_image *image)
{
	char path[OPENED_PATH], words[160];

	scope_close int fd = mapping_open(b, image, is_driver, path);
	struct bpf_library *l = fd < 0 ? NULL : library_of(b, fd);
	if (!l || !l->nr) {
		calls_say(b, image, "calls are not seen: its libcuda cannot be read");
		return;
	}
	image->library = l;
	b->programs->bss->probes = true;
	int rc = library_probe(&image->probes, b->programs, path, l, image->pid);
	if (rc == -ESRCH || rc == -ENOENT)
		return; /* it has ended meanwhile */
	if (rc) {
		calls_refused(b, image, rc);
		return;
	}
	snprintf(words, sizeof words,
	         "calls of %u functions of libcuda are seen from outside: no device times, which "
	         "aflame run has",
	         l->nr);
	calls_say(b, image, words);
}

static bool is_libaflame(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && !strcmp(name, "/libaflame.so");
}

/* The calls that libaflame records, where it says of each that it does. */
static void twice_begin(struct af_bpf *b, struct bpf_image *image)
{
	char path[OPENED_PATH];
	uint64_t offset, semaphore;
	struct bpf_places at = {.offsets = &offset, .semaphores = &semaphore, .nr = 1};

	scope_close int fd = mapping_open(b, image, is_libaflame, path);
	if (fd < 0 || !bpf_usdt_find(fd, "aflame", "cuda_call", &offset, &semaphore)) {
		calls_say(b, image, "calls are not seen twice: its libaflame.so cannot be read");
		return;
	}
	b->programs->bss->probes = true;
	int rc = bpf_probes_open(&image->probes, b->programs->progs.recorded_call, path, &at,
	                         image->pid);
	if (rc && rc != -ESRCH && rc != -ENOENT)
		calls_refused(b, image, rc);
	else if (!rc)
		calls_say(b, image, "calls are also seen by the kernel, by their numbers");
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
		                "calls of %u processes are not seen: too many that map a libcuda "
		                "began at once",
		                b->probing.nr_missed);
}

void bpf_calls_outside(struct af_bpf *b, struct bpf_image *image)
{
	image->outside = true;
	bpf_probes_add(&b->probing.over, image->probes);
	image->probes = NULL;
	if (image->calls != BPF_CALLS_WANTED)
		b->nr_callers++;
	image->calls = BPF_CALLS_WANTED;
	bpf_calls_poll(b, af_now_ns());
}

void bpf_calls_close(struct af_bpf *b)
{
	while (b->probing.over)
		bpf_probes_free(bpf_probes_take(&b->probing.over));
	for (struct bpf_library *l = b->libraries, *next; l; l = next) {
		next = l->next;
		free(l->sites);
		free(l);
	}
	b->libraries = NULL;
}

/* ---- what they called ---- */

static const struct bpf_library *library_at(const struct bpf_image *image)
{
	for (; image; image = image->exec ? NULL : image->from)
		if (image->library)
			return image->library;
	return NULL;
}

uint32_t bpf_calls_function(const struct bpf_image *image, const struct af_bpf_stacks *s)
{
	const struct bpf_library *l = library_at(image);
	const struct bpf_mapping *m = s->user_bytes ? bpf_mapping_at(image, s->pcs[0]) : NULL;

	if (!l || !m || s->kernel_bytes)
		return 0;
	/* What the driver calls within itself is part of a call that was seen. */
	uint64_t caller = s->stack_bytes ? s->pcs[s->user_bytes / 8] : 0;
	const struct bpf_mapping *from = bpf_mapping_at(image, caller);
	if (from && from->path == m->path)
		return 0;
	struct site key = {.offset = s->pcs[0] - m->start + m->offset};
	for (uint32_t low = 0, high = l->nr; low < high;) {
		uint32_t middle = (low + high) / 2;
		if (l->sites[middle].offset == key.offset)
			return l->sites[middle].function;
		if (l->sites[middle].offset < key.offset)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

bool bpf_calls_recorded(const struct bpf_image *image, const struct af_bpf_stacks *s)
{
	return !bpf_calls_are_ours(image) && s->what && s->what < NR_FUNCTIONS;
}

void bpf_calls_write(struct bpf_out *out, const struct af_bpf_stacks *s, uint32_t callpath)
{
	uint64_t time_ns = s->head.time_ns;
	uint32_t function = s->what;
	uint64_t *word = &out->functions[function / 64], bit = 1ull << function % 64;

	if (!(*word & bit)) {
		const char *name = functions[function].name;
		struct af_ev_function ev = {function, AF_API_CUDA, functions[function].category};
		struct af_tail tail[] = {{name, (uint32_t)strlen(name), 0}};
		af_stream_put_tail(&out->stream, AF_KIND_FUNCTION, time_ns, &ev, sizeof ev, tail,
		                   1);
		*word |= bit;
	}
	af_stream_put(&out->stream, call_seen, time_ns, .callpath = callpath, .function = function,
	              .correlation = (uint32_t)s->wake);
}
