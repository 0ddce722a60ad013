/* Program images: which program a pid ran at which time, its ordinal, user, rank and words. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/scope.h"
#include "base/system/proc.h"
#include "collect/bpf/cgroup.h"
#include "collect/bpf/private.h"
#include "collect/session/session.h"
#include "trace/write/rank.h"

enum { ENVIRONMENT_BYTES = 1 << 18 };

static const char *text_of(const struct af_bpf *b, uint32_t string)
{
	return af_strtab_get(&b->strings, string);
}

static struct bpf_image *image_newest(struct af_bpf *b, uint32_t pid)
{
	const uint64_t *at = af_map_get(&b->by_pid, pid);

	return at ? (struct bpf_image *)(uintptr_t)*at : NULL;
}

struct bpf_image *bpf_image_at(struct af_bpf *b, uint32_t pid, uint64_t time_ns)
{
	struct bpf_image *i = image_newest(b, pid);

	while (i && i->start_ns > time_ns)
		i = i->older;
	return i;
}

static struct bpf_image *image_new(struct af_bpf *b, uint32_t pid, uint64_t start_ns)
{
	struct bpf_image *i = af_xcalloc(1, sizeof *i);
	uint64_t *at = af_map_at(&b->by_pid, pid, NULL);

	i->pid = pid;
	i->start_ns = start_ns;
	i->older = (struct bpf_image *)(uintptr_t)*at;
	*at = (uint64_t)(uintptr_t)i;
	AF_GROW(b->images, b->nr_images, b->cap_images);
	b->images[b->nr_images++] = i;
	return i;
}

static void image_adopt(struct bpf_image *i, struct bpf_image *from)
{
	i->from = from;
	if (from)
		from->nr_forked++;
}

void bpf_image_orphan(struct bpf_image *i)
{
	if (i->from)
		i->from->nr_forked--;
	i->from = NULL;
}

static uint32_t words_joined(struct af_bpf *b, char *words, size_t len)
{
	while (len && !words[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		if (!words[i])
			words[i] = ' ';
	return af_strtab_id(&b->strings, words, len);
}

static void image_read_user(struct bpf_image *i)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%u", i->pid);
	if (stat(path, &st))
		return;
	i->has_user = true;
	i->user = st.st_uid;
}

/*
 * Among the process's places in the trees of cgroups(7), take one that is a container's, else that
 * of version 2, else the first.
 */
static void image_read_cgroup(struct af_bpf *b, struct bpf_image *i)
{
	char text[4096], name[64], *best = NULL;
	int best_worth = 0;

	af_proc_read((int)i->pid, "cgroup", text, sizeof text);
	for (char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		char *next = line + len + (line[len] == '\n');
		line[len] = 0;
		char *path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		int worth = !path || !strcmp(path + 1, "/")                  ? 0
		            : af_container_name(path + 1, name, sizeof name) ? 3
		            : !strncmp(line, "0::", 3)                       ? 2
		                                                             : 1;
		if (worth > best_worth) {
			best_worth = worth;
			best = path + 1;
		}
		line = next;
	}
	i->cgroup = best ? af_strtab_id_z(&b->strings, best) : 0;
}

/*
 * As the environment had it when its program began; that of the parent where nobody tells. The
 * kernel tells of an exec before the new environment can be read, so this is asked again until it
 * can be.
 */
static void image_read_rank(struct af_bpf *b, struct bpf_image *i)
{
	if (i->has_environment || i != image_newest(b, i->pid))
		return;
	scope_free char *text = malloc(ENVIRONMENT_BYTES);
	size_t len = text ? af_proc_read((int)i->pid, "environ", text, ENVIRONMENT_BYTES) : 0;
	const char *rank = len ? af_rank_of(text, len) : NULL;

	i->has_environment = len;
	if (len)
		i->rank = rank ? af_strtab_id_z(&b->strings, rank) : 0;
}

/* Read what can be read about a process that began before us, or that no event announced. */
static void image_read_proc(struct af_bpf *b, struct bpf_image *i)
{
	char text[4096];
	size_t n = af_proc_read_exe(i->pid, text, sizeof text);

	if (n)
		i->exe = af_strtab_id(&b->strings, text, n);
	n = af_proc_read((int)i->pid, "cmdline", text, sizeof text);
	i->cmdline = words_joined(b, text, n);
	af_proc_read((int)i->pid, "comm", text, sizeof text);
	text[strcspn(text, "\n")] = 0;
	i->comm = af_strtab_id_z(&b->strings, text);
	af_proc_read((int)i->pid, "status", text, sizeof text);
	const char *ids = strstr(text, "\nNSpid:");
	if (ids) {
		size_t len = strcspn(ids + 1, "\n");
		while (len && ids[len] != '\t')
			len--;
		i->ns_pid = (uint32_t)strtoul(ids + len + 1, NULL, 10);
	}
	const char *parent = strstr(text, "\nPPid:");
	if (parent && i->ns_pid == i->pid && (int)i->pid != b->r->child)
		i->ppid = (uint32_t)strtoul(parent + strlen("\nPPid:"), NULL, 10);
	image_read_cgroup(b, i);
	image_read_user(i);
	image_read_rank(b, i);
	bpf_mappings_read(b, i);
}

struct bpf_image *bpf_image_need(struct af_bpf *b, uint32_t pid, uint64_t time_ns)
{
	struct bpf_image *i = bpf_image_at(b, pid, time_ns);

	if (i || image_newest(b, pid))
		return i ? i : image_newest(b, pid);
	i = image_new(b, pid, 0);
	i->in_scope = b->options->all;
	image_read_proc(b, i);
	return i;
}

/* For a process that no event announced, its parent's or its own past is all we know. */
static void sideband_fork(struct af_bpf *b, const struct af_sideband_event *e)
{
	struct bpf_image *from = image_newest(b, e->parent);
	bool ours = b->r->child > 0 && e->pid == (uint32_t)b->r->child;

	if (!from && b->options->all)
		from = bpf_image_need(b, e->parent, e->time_ns);
	if (!ours && (!from || !from->in_scope))
		return;
	struct bpf_image *i = image_new(b, e->pid, e->time_ns);
	bpf_usage_fresh(b, e->pid);
	i->in_scope = true;
	if (ours)
		image_read_proc(b, i);
	if (ours || !from)
		return;
	image_adopt(i, from);
	i->comm = from->comm;
	i->cgroup = from->cgroup;
	i->rank = from->rank;
	i->has_user = from->has_user;
	i->user = from->user;
	i->epoch = from->epoch;
	bpf_calls_fork(b, i, from);
}

static void sideband_exec(struct af_bpf *b, const struct af_sideband_event *e)
{
	struct bpf_image *was = image_newest(b, e->pid);

	if (!was && b->options->all)
		was = bpf_image_need(b, e->pid, e->time_ns);
	if (!was || !was->in_scope)
		return;
	struct bpf_image *i = image_new(b, e->pid, e->time_ns);
	i->exec = i->in_scope = true;
	image_adopt(i, was->from);
	i->ns_pid = was->ns_pid;
	i->comm = af_strtab_id_z(&b->strings, af_sideband_text(&b->sideband, e));
	i->cgroup = was->cgroup;
	i->rank = was->rank;
	i->has_user = was->has_user;
	i->user = was->user;
	image_read_cgroup(b, i);
	image_read_user(i);
	image_read_rank(b, i);
	if (!b->programs) { /* nobody else tells */
		char text[AF_BPF_TEXT_MAX];
		size_t len = af_proc_read((int)i->pid, "cmdline", text, sizeof text);
		i->cmdline = words_joined(b, text, len);
		i->begun = true;
	}
}

static void sideband_mmap(struct af_bpf *b, const struct af_sideband_event *e)
{
	struct bpf_image *i = bpf_image_at(b, e->pid, e->time_ns);

	if (!i || e->start + e->size < e->start)
		return;
	struct bpf_mapping m = {
	    .start = e->start,
	    .end = e->start + e->size,
	    .offset = e->offset,
	    .time_ns = e->time_ns,
	    .path = af_strtab_id_z(&b->strings, af_sideband_text(&b->sideband, e)),
	    .build_id_size = e->build_id_size,
	};
	memcpy(m.build_id, e->build_id, sizeof m.build_id);
	/* The kernel maps the program first, then its interpreter. */
	if (i->exec && !i->nr_maps && !i->exe)
		i->exe = m.path;
	bpf_mapping_add(b, i, m);
	if (i->exec)
		image_read_rank(b, i);
	bpf_calls_see(b, i, af_strtab_get(&b->strings, m.path));
}

void bpf_image_sideband(struct af_bpf *b, const struct af_sideband_event *e)
{
	switch (e->kind) {
	case AF_SIDEBAND_FORK:
		sideband_fork(b, e);
		break;
	case AF_SIDEBAND_EXEC:
		sideband_exec(b, e);
		break;
	case AF_SIDEBAND_MMAP:
		sideband_mmap(b, e);
		break;
	case AF_SIDEBAND_THREAD:
	case AF_SIDEBAND_COMM:
		break;
	}
}

void bpf_image_exec(struct bpf_image *i, struct af_bpf *b, const struct af_bpf_text *t)
{
	char args[AF_BPF_TEXT_MAX];
	uint32_t bytes = t->args_bytes < sizeof args ? t->args_bytes : sizeof args;

	i->ns_pid = t->head.ns_pid;
	i->begun = true;
	i->max_rss_pages = t->max_rss_pages;
	image_read_user(i); /* a set-user-ID program's is set after the event of its exec, too */
	image_read_rank(b, i);
	if (!i->exe)
		i->exe = af_strtab_id(&b->strings, t->text,
		                      strnlen(t->text, t->file_bytes < AF_BPF_TEXT_MAX
		                                           ? t->file_bytes
		                                           : AF_BPF_TEXT_MAX));
	memcpy(args, t->text + AF_BPF_TEXT_MAX, bytes);
	i->cmdline = words_joined(b, args, bytes);
}

uint32_t bpf_image_process(struct af_bpf *b, struct bpf_image *i)
{
	if (!i->process)
		i->process = atomic_fetch_add(&b->r->control->nr_processes, 1) + 1;
	return i->process;
}

static void process_note(struct af_stream *s, uint32_t process, const char *key, const char *value,
                         size_t len)
{
	struct af_ev_process_note ev = {.process = process};
	struct af_tail tail[] = {{key, (uint32_t)strlen(key), 0}, {value, (uint32_t)len, 0}};

	af_stream_put_tail(s, AF_KIND_PROCESS_NOTE, af_now_ns(), &ev, sizeof ev, tail, 2);
}

/* A fork runs its parent's program; the kernel's record of that may come after the fork. */
static const struct bpf_image *image_program(const struct bpf_image *i)
{
	while (!i->exec && !i->exe && i->from)
		i = i->from;
	return i;
}

static void introduce(struct af_bpf *b, struct bpf_image *i)
{
	struct af_stream *s = i->out ? &i->out->stream : &b->r->stream;
	uint32_t process = bpf_image_process(b, i);

	if (i->written)
		return;
	i->written = true;
	if (!i->registration) {
		const struct bpf_image *program = image_program(i);
		const char *exe = text_of(b, program->exe);
		const char *cmdline = text_of(b, program->cmdline);
		if (!*exe)
			exe = text_of(b, i->comm); /* a thread of the kernel has only that */
		const struct bpf_image *from = i->from;
		struct af_ev_process ev = {
		    .pid = i->ns_pid ? i->ns_pid : i->pid,
		    .ppid = from ? from->ns_pid ? from->ns_pid : from->pid : i->ppid,
		    .parent = i->exec || !i->from ? 0 : bpf_image_process(b, i->from),
		};
		struct af_tail tail[] = {
		    {exe, (uint32_t)strlen(exe), 0},
		    {cmdline, (uint32_t)strlen(cmdline), 0},
		};
		uint64_t begin_ns = i->start_ns > b->r->start_ns ? i->start_ns : b->r->start_ns;
		/* The process stands in the packet's header. */
		if (!i->out) {
			af_stream_flush(s);
			s->process = process;
		}
		af_stream_put_tail(s, AF_KIND_PROCESS, i->out ? begin_ns : af_now_ns(), &ev,
		                   sizeof ev, tail, 2);
		if (!i->out) {
			af_stream_flush(s);
			s->process = 0;
		}
	}
	if (i->exec) /* its code is its own, and whose child it is has been written */
		bpf_image_orphan(i);
	/*
	 * The user whose files of run-time code are believed when the process is gone; ours always
	 * are.
	 */
	if (i->has_user && i->user != geteuid()) {
		char user[16];
		snprintf(user, sizeof user, "%u", i->user);
		process_note(&b->r->stream, process, "uid", user, strlen(user));
	}
	const char *cgroup = text_of(b, i->cgroup);
	if (*cgroup && i->cgroup != b->own_cgroup) {
		process_note(&b->r->stream, process, "cgroup", cgroup, strlen(cgroup));
		char name[64];
		if (af_container_name(cgroup, name, sizeof name))
			process_note(&b->r->stream, process, "container", name, strlen(name));
	}
	const char *rank = text_of(b, i->rank);
	if (*rank && !i->registration)
		process_note(&b->r->stream, process, "rank", rank, strlen(rank));
}

/* Its forebears first: a process that did nothing is the parent of some that did. */
void bpf_image_introduce(struct af_bpf *b, struct bpf_image *i)
{
	struct bpf_image **line = NULL;
	uint32_t nr = 0, cap = 0;

	for (struct bpf_image *f = i->from; f && !f->written; f = f->from) {
		AF_GROW(line, nr, cap);
		line[nr++] = f;
	}
	while (nr)
		introduce(b, line[--nr]);
	free(line);
	introduce(b, i);
}

void bpf_image_exit(struct bpf_image *i, struct af_bpf *b, const struct af_bpf_exit *e)
{
	i->ended = true;
	i->ended_ns = af_now_ns();
	if (!i->ns_pid)
		i->ns_pid = e->head.ns_pid;
	if (!i->comm)
		i->comm = af_strtab_id(&b->strings, e->head.comm,
		                       strnlen(e->head.comm, sizeof e->head.comm));
	if (i->in_scope) {
		if (i->registration)
			bpf_markers_write(b, i);
		else
			bpf_image_introduce(b, i);
		bpf_usage_exit(b, i, e);
	}
	for (; i; i = i->older) {
		bpf_out_close(b, i);
		bpf_calls_end(b, i);
	}
}

void bpf_image_free(struct af_bpf *b, struct bpf_image *i)
{
	bpf_calls_end(b, i);
	bpf_drm_free(b, i);
	bpf_mappings_free(b, i);
	free(i);
}

void bpf_images_free(struct af_bpf *b)
{
	for (uint32_t k = 0; k < b->nr_images; k++) {
		bpf_out_close(b, b->images[k]);
		bpf_image_free(b, b->images[k]);
	}
	free(b->images);
	af_map_free(&b->by_pid);
}
