/*
 * The code that an image has mapped: kept by address, bounded, and written to its stream when it is
 * needed.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/scope.h"
#include "base/system/elf32.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "base/system/rights.h"
#include "collect/bpf/private.h"
#include "collect/session/session.h"

static bool is_same(const struct bpf_mapping *a, const struct bpf_mapping *b)
{
	return a->start == b->start && a->end == b->end && a->path == b->path &&
	       a->offset == b->offset;
}

enum {
	MAPPINGS_MAX = 4096, /* remembered of an image, and when there are too many in all */
	MAPPINGS_FEW = 512,
	MAPPINGS_OF_ALL = 1 << 20,
};

static bool is_file(const char *path)
{
	return path[0] == '/' && path[1] != '/';
}

/*
 * Makes room where that is short: of the older half what is no file goes, as nothing is read of it
 * but names, once it has been written. Run-time compilers, and who means harm, map without end.
 */
static void mappings_forget(struct af_bpf *b, struct bpf_image *image)
{
	uint32_t most = b->nr_mappings < MAPPINGS_OF_ALL ? MAPPINGS_MAX : MAPPINGS_FEW;
	uint32_t nr = image->nr_maps, kept = 0, written = 0;

	if (nr < most)
		return;
	for (uint32_t k = 0; k < nr; k++) {
		const struct bpf_mapping *m = &image->maps[k];
		bool stays = k >= nr - most / 2 ||
		             (kept < most / 4 && is_file(af_strtab_get(&b->strings, m->path)));
		bool is_written = k < image->nr_maps_written;
		b->lost_mappings += !stays && !is_written && !image->registration;
		written += stays && is_written;
		if (stays)
			image->maps[kept++] = *m;
	}
	b->nr_mappings -= nr - kept;
	image->nr_maps = kept;
	image->nr_maps_written = written;
}

static void mapping_put(struct af_bpf *b, struct bpf_image *image, const struct bpf_mapping *m)
{
	mappings_forget(b, image);
	AF_GROW(image->maps, image->nr_maps, image->cap_maps);
	image->maps[image->nr_maps++] = *m;
	b->nr_mappings++;
}

void bpf_mappings_lost(struct af_bpf *b)
{
	if (b->lost_mappings)
		af_stream_put(&b->r->stream, lost, af_now_ns(), .reason = AF_LOST_MAPPINGS,
		              .count = b->lost_mappings);
	b->lost_mappings = 0;
}

void bpf_mappings_free(struct af_bpf *b, struct bpf_image *image)
{
	b->nr_mappings -= image->nr_maps;
	free(image->maps);
}

void bpf_mapping_add(struct af_bpf *b, struct bpf_image *image, struct bpf_mapping m)
{
	uint32_t before = image->epoch;

	/* Where something was mapped before, what follows is of another epoch. */
	for (const struct bpf_image *i = image; i; i = i->exec ? NULL : i->from)
		for (uint32_t k = 0; k < i->nr_maps; k++) {
			const struct bpf_mapping *old = &i->maps[k];
			if (!is_same(old, &m) && old->start < m.end && m.start < old->end &&
			    old->epoch == image->epoch) {
				image->epoch++;
				k = i->nr_maps;
			}
		}
	if (image->epoch != before)
		image->rules_of = 0; /* those were of other code */
	/* Run-time compilers protect and unprotect the same pages, with an event each time. */
	for (uint32_t k = image->nr_maps; k--;)
		if (image->maps[k].epoch == image->epoch && is_same(&image->maps[k], &m))
			return;
	m.epoch = image->epoch;
	mapping_put(b, image, &m);
}

void bpf_mappings_read(struct af_bpf *b, struct bpf_image *image)
{
	scope_fclose FILE *f = af_proc_open_maps(image->pid);
	scope_free char *line = NULL;
	struct af_proc_mapping m;
	size_t cap = 0;

	while (af_proc_mapping_next(f, &line, &cap, &m)) {
		if (!m.executable)
			continue;
		const char *path = *m.path ? m.path : "//anon";
		bpf_mapping_add(b, image,
		                (struct bpf_mapping){
				    .start = m.start,
				    .end = m.end,
				    .offset = m.offset,
				    .path = af_strtab_id_z(&b->strings, path),
				});
		bpf_calls_see(b, image, path);
	}
}

uint32_t bpf_mapping_epoch(const struct bpf_image *image, uint64_t time_ns)
{
	for (uint32_t i = image->nr_maps; i--;)
		if (image->maps[i].time_ns <= time_ns)
			return image->maps[i].epoch;
	return image->exec || !image->from ? 0 : image->from->epoch;
}

/* Program header @i of those that begin at @at. */
static bool elf_segment(int fd, bool is_32, uint64_t at, int i, Elf64_Phdr *p)
{
	union {
		Elf64_Phdr bits64;
		Elf32_Phdr bits32;
	} u;
	size_t size = is_32 ? sizeof u.bits32 : sizeof u.bits64;

	if (pread(fd, &u, size, (off_t)(at + (uint64_t)i * size)) != (ssize_t)size)
		return false;
	*p = is_32 ? af_elf32_segment(&u.bits32) : u.bits64;
	return true;
}

/* By the segment that holds @offset. */
static uint64_t elf_bias(int fd, uint64_t start, uint64_t offset)
{
	union {
		Elf64_Ehdr bits64;
		Elf32_Ehdr bits32;
	} e;

	if (pread(fd, &e, sizeof e, 0) != (ssize_t)sizeof e ||
	    memcmp(e.bits64.e_ident, ELFMAG, SELFMAG))
		return start - offset;
	bool is_32 = e.bits64.e_ident[EI_CLASS] == ELFCLASS32;
	Elf64_Ehdr h = is_32 ? af_elf32_header(&e.bits32) : e.bits64;
	for (int i = 0; i < h.e_phnum && i < 128; i++) {
		Elf64_Phdr p;
		if (!elf_segment(fd, is_32, h.e_phoff, i, &p))
			break;
		uint64_t page = p.p_offset & ~4095ull;
		if (p.p_type == PT_LOAD && p.p_flags & PF_X && offset >= page &&
		    offset < p.p_offset + p.p_filesz)
			return start - (p.p_vaddr - p.p_offset + offset);
	}
	return start - offset;
}

/* The file is opened as the process sees it, while it is there to ask. */
uint64_t bpf_mapping_bias(const struct af_bpf *b, const struct bpf_image *image,
                          const struct bpf_mapping *m, int *fd)
{
	const char *path = af_strtab_get(&b->strings, m->path);

	*fd = -1;
	if (!is_file(path))
		return m->start;
	*fd = af_open_regular_of(image->pid, path);
	if (*fd < 0)
		*fd = af_open_regular(AT_FDCWD, path, O_NOFOLLOW);
	return *fd < 0 ? m->start - m->offset : elf_bias(*fd, m->start, m->offset);
}

const struct bpf_mapping *bpf_mapping_at(const struct bpf_image *image, uint64_t address)
{
	for (const struct bpf_image *i = image; i; i = i->exec ? NULL : i->from)
		for (uint32_t k = i->nr_maps; k--;)
			if (address >= i->maps[k].start && address < i->maps[k].end)
				return &i->maps[k];
	return NULL;
}

/* In another mount namespace the path means another file here. */
static bool other_root(uint32_t pid)
{
	char path[64];
	struct stat theirs, ours;

	snprintf(path, sizeof path, "/proc/%u/ns/mnt", pid);
	scope_rights(AF_RIGHTS_PROCESS);
	return !stat(path, &theirs) && !stat("/proc/self/ns/mnt", &ours) &&
	       theirs.st_ino != ours.st_ino;
}

static void mapping_write(struct af_bpf *b, struct bpf_image *image, const struct bpf_mapping *m,
                          uint64_t time_ns)
{
	static const char gone[] = " (deleted)";
	char path[PATH_MAX + 32];
	struct af_ev_mapping ev = {
	    .start = m->start,
	    .end = m->end,
	    .bias = m->start,
	    .epoch = BPF_EPOCH + m->epoch,
	};

	snprintf(path, sizeof path, "%s", af_strtab_get(&b->strings, m->path));
	size_t len = strlen(path);
	if (len > sizeof gone - 1 && !strcmp(path + len - (sizeof gone - 1), gone)) {
		path[len - (sizeof gone - 1)] = 0;
		ev.flags |= AF_MAPPING_DELETED;
	}
	if (is_file(path)) {
		scope_close int fd = -1;
		ev.bias = bpf_mapping_bias(b, image, m, &fd);
		if (image->exe && !strcmp(path, af_strtab_get(&b->strings, image->exe)))
			ev.flags |= AF_MAPPING_MAIN;
		if (other_root(image->pid)) {
			char inside[PATH_MAX];
			snprintf(inside, sizeof inside, "%s", path);
			snprintf(path, sizeof path, "/proc/%u/root%s", image->pid, inside);
		}
	} else if (strcmp(path, "[vdso]") != 0) {
		ev.flags |= AF_MAPPING_JIT;
		strcpy(path, "[jit]");
	}
	struct af_tail tail[] = {
	    {m->build_id, m->build_id_size, 1},
	    {path, (uint32_t)strlen(path), 0},
	};
	af_stream_put_tail(&image->out->stream, AF_KIND_MAPPING, time_ns, &ev, sizeof ev, tail, 2);
}

/* A fork's code is its parent's as it was at the fork. */
static void inherited_write(struct af_bpf *b, struct bpf_image *image, const struct bpf_image *from,
                            uint64_t until_ns, uint64_t time_ns)
{
	if (!from->exec && from->from)
		inherited_write(b, image, from->from, from->start_ns, time_ns);
	for (uint32_t i = 0; i < from->nr_maps && from->maps[i].time_ns <= until_ns; i++)
		mapping_write(b, image, &from->maps[i], time_ns);
}

void bpf_mappings_write(struct af_bpf *b, struct bpf_image *image, uint64_t time_ns)
{
	if (!image->inherited_written && !image->exec && image->from)
		inherited_write(b, image, image->from, image->start_ns, time_ns);
	image->inherited_written = true;
	for (; image->nr_maps_written < image->nr_maps; image->nr_maps_written++)
		mapping_write(b, image, &image->maps[image->nr_maps_written], time_ns);
}

/* jit-PID.dump, which nobody executes: docs/symbols.md. */
static bool is_marker(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t len = name ? strlen(name) : 0;

	return len > strlen("/jit-.dump") && !strncmp(name, "/jit-", 5) &&
	       !strcmp(name + len - 5, ".dump");
}

void bpf_markers_write(struct af_bpf *b, const struct bpf_image *image)
{
	struct af_stream *s = &b->r->stream;

	for (uint32_t i = image->nr_maps_written; i < image->nr_maps; i++) {
		const struct bpf_mapping *m = &image->maps[i];
		const char *path = af_strtab_get(&b->strings, m->path);
		struct af_ev_mapping ev = {
		    .start = m->start,
		    .end = m->end,
		    .bias = m->start,
		    .flags = AF_MAPPING_JIT,
		    .epoch = BPF_EPOCH + m->epoch,
		};
		struct af_tail tail[] = {{NULL, 0, 1}, {path, (uint32_t)strlen(path), 0}};
		if (!is_marker(path))
			continue;
		/* The process stands in the packet's header. */
		af_stream_flush(s);
		s->process = image->process;
		af_stream_put_tail(s, AF_KIND_MAPPING, af_now_ns(), &ev, sizeof ev, tail, 2);
		af_stream_flush(s);
		s->process = 0;
	}
}
