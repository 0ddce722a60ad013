#include "exchange/perf/images.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/builder.h"
#include "sym/module/finder.h"

enum { IMAGE_MAPS = 1 << 16 };

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

static uint32_t build_id_add(struct perf_images *im, uint32_t path, const uint8_t *id, uint32_t len)
{
	struct perf_build_id b = {.path = path, .len = (uint8_t)len};

	memcpy(b.id, id, len);
	AF_GROW(im->build_ids, im->nr_build_ids, im->cap_build_ids);
	im->build_ids[im->nr_build_ids++] = b;
	return im->nr_build_ids;
}

static bool is_kernel(const char *path)
{
	static const char kernel[] = "[kernel.kallsyms]";

	return !strncmp(path, kernel, sizeof kernel - 1);
}

void perf_images_open(struct perf_images *im, struct af_builder *d, uint32_t space,
                      const struct perf_file *f)
{
	*im = (struct perf_images){.builder = d, .space = space};
	for (uint32_t i = 0; i < f->nr_build_ids; i++) {
		const struct perf_build_id *b = &f->build_ids[i];
		const char *text = af_strtab_get(&f->names, b->path);
		uint32_t path = af_builder_text(d, text, strlen(text));
		uint32_t id = build_id_add(im, path, b->id, b->len);

		*af_map_at(&im->by_path, path, NULL) = id;
		if (is_kernel(text))
			im->kernel_id = id;
	}
}

void perf_images_free(struct perf_images *im)
{
	struct af_map *maps[] = {&im->by_pid, &im->comms, &im->by_path, &im->ksymbols};

	for (uint32_t i = 0; i < im->nr; i++)
		free(im->all[i].maps);
	for (unsigned i = 0; i < sizeof maps / sizeof *maps; i++)
		af_map_free(maps[i]);
	af_keys_free(&im->biases);
	free(im->all);
	free(im->build_ids);
	*im = (struct perf_images){0};
}

/* The image that @pid has from here on. Valid until the next call. */
static struct perf_image *image_new(struct perf_images *im, uint32_t pid)
{
	AF_GROW(im->all, im->nr, im->cap);
	im->all[im->nr] = (struct perf_image){.pid = pid, .process = UINT32_MAX};
	*af_map_at(&im->by_pid, pid, NULL) = im->nr + 1;
	return &im->all[im->nr++];
}

static struct perf_image *image_of(struct perf_images *im, uint32_t pid)
{
	const uint64_t *known = af_map_get(&im->by_pid, pid);

	return known ? &im->all[*known - 1] : image_new(im, pid);
}

void perf_images_comm(struct perf_images *im, const struct perf_comm *c)
{
	uint32_t name = af_builder_text(im->builder, c->name, c->len);

	*af_map_at(&im->comms, thread_key(c->pid, c->tid), NULL) = name;
	/* The first record that names an unknown process defines it. */
	if (c->exec && image_of(im, c->pid)->nr_maps)
		image_new(im, c->pid);
}

uint32_t perf_images_thread(const struct perf_images *im, uint32_t pid, uint32_t tid)
{
	const uint64_t *name = af_map_get(&im->comms, thread_key(pid, tid));

	if (!name)
		name = af_map_get(&im->comms, thread_key(pid, pid));
	return name ? (uint32_t)*name : 0;
}

void perf_images_fork(struct perf_images *im, uint32_t pid, uint32_t from, uint32_t tid,
                      uint32_t from_tid)
{
	uint32_t name = perf_images_thread(im, from, from_tid);

	if (name)
		*af_map_at(&im->comms, thread_key(pid, tid), NULL) = name;
	if (pid == from)
		return;
	uint32_t parent = (uint32_t)(image_of(im, from) - im->all);
	struct perf_image *child = image_new(im, pid);
	const struct perf_image *p = &im->all[parent];
	child->from = parent + 1;
	child->exe = p->exe;
	child->epoch = p->epoch;
	if (!p->nr_maps)
		return;
	child->maps = af_xrealloc(NULL, p->nr_maps * sizeof *p->maps);
	memcpy(child->maps, p->maps, p->nr_maps * sizeof *p->maps);
	child->nr_maps = child->cap_maps = p->nr_maps;
}

static void image_add(struct perf_images *im, struct perf_image *image, struct perf_mapping m)
{
	/*
	 * The newest mapping at these addresses is the one that @m replaces; that begins a new
	 * epoch.
	 */
	for (uint32_t i = image->nr_maps; i--;) {
		const struct perf_mapping *old = &image->maps[i];
		if (old->start >= m.end || m.start >= old->end)
			continue;
		/*
		 * JIT compilers protect and unprotect the same pages again and again, with a record
		 * each time.
		 */
		if (old->start == m.start && old->end == m.end && old->path == m.path &&
		    old->offset == m.offset)
			return;
		image->epoch++;
		break;
	}
	if (image->nr_maps == IMAGE_MAPS) {
		im->builder->unused[AF_BUILDER_MAPPINGS_UNUSED]++;
		return;
	}
	m.epoch = image->epoch;
	AF_GROW(image->maps, image->nr_maps, image->cap_maps);
	image->maps[image->nr_maps++] = m;
}

const struct perf_image *perf_images_image(struct perf_images *im, uint32_t pid)
{
	return image_of(im, pid);
}

const struct perf_mapping *perf_images_mapping(const struct perf_image *image, uint64_t pc)
{
	for (uint32_t i = image->nr_maps; i--;)
		if (image->maps[i].start <= pc && pc < image->maps[i].end)
			return &image->maps[i];
	return NULL;
}

static bool is_called(const struct perf_images *im, uint32_t path, uint32_t comm)
{
	const char *text = af_strtab_get(&im->builder->names, path), *slash = strrchr(text, '/');
	const char *name = af_strtab_get(&im->builder->names, comm);

	return *name && slash && !strncmp(slash + 1, name, strlen(name));
}

/*
 * The executable is the first file that is mapped; of a process that already ran, it is the one
 * below the others. If the lowest is something else, it is the file that has the process's name.
 */
static void image_exe(struct perf_images *im, struct perf_image *image, uint32_t path)
{
	const char *text = af_strtab_get(&im->builder->names, path);
	uint32_t comm = perf_images_thread(im, image->pid, image->pid);

	if (text[0] != '/' || text[1] == '/' || !strncmp(text, "/memfd:", 7) ||
	    !strncmp(text, "/dev/", 5))
		return;
	if (image->exe && (is_called(im, image->exe, comm) || !is_called(im, path, comm)))
		return;
	image->exe = path;
	if (image->process != UINT32_MAX)
		im->builder->processes[image->process].exe = path;
}

/* "[kernel.kallsyms]_text": the symbol is part of the name, and the offset is its address. */
static void kernel_map(struct perf_images *im, const struct perf_mmap *m, const char *path,
                       uint32_t id)
{
	const char *symbol = strchr(path, ']') + 1;

	im->kernel_text = m->offset;
	im->kernel_symbol = af_builder_name(im->builder, symbol, strlen(symbol));
	im->kernel_id = id ? id : im->kernel_id;
}

void perf_images_map(struct perf_images *im, const struct perf_mmap *m)
{
	uint32_t path = af_builder_text(im->builder, m->path, m->path_len), id = 0;
	const char *text = af_strtab_get(&im->builder->names, path);

	if (m->build_id_len)
		id = build_id_add(im, path, m->build_id, m->build_id_len);
	if (m->kernel) {
		if (is_kernel(text))
			kernel_map(im, m, text, id);
		return;
	}
	if (!m->code || !m->size)
		return;
	const uint64_t *known = af_map_get(&im->by_path, path);
	struct perf_image *image = image_of(im, m->pid);
	image_exe(im, image, path);
	image_add(im, image,
	          (struct perf_mapping){.start = m->start,
	                                .end = m->start + m->size,
	                                .offset = m->offset,
	                                .path = path,
	                                .build_id = id      ? id
	                                            : known ? (uint32_t)*known
	                                                    : 0});
}

bool perf_images_file(const struct perf_images *im, const struct perf_mapping *m,
                      struct af_found *found)
{
	const struct perf_build_id *b = m->build_id ? &im->build_ids[m->build_id - 1] : NULL;
	const char *path = af_strtab_get(&im->builder->names, m->path), *home = getenv("HOME");
	char kept[512];
	const struct af_finder finder = {.kept = home ? kept : NULL};

	snprintf(kept, sizeof kept, "%s/.debug", home ? home : "");
	return !af_finder_file(&finder, found, path, true, b ? b->id : NULL, b ? b->len : 0);
}

void perf_images_ksymbol(struct perf_images *im, const struct perf_ksymbol *k)
{
	bool fresh;
	size_t len = k->len;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)k->name[i] <= ' ')
			len = i;
	if (k->gone || !len || im->ksymbols.nr >= IMAGE_MAPS)
		return;
	af_map_at(&im->ksymbols, k->start, &fresh);
	if (!fresh)
		return;
	af_builder_note(im->builder, "kernel.symbol", "%" PRIx64 "-%" PRIx64 " %.*s", k->start,
	                k->start + k->size, (int)len, k->name);
}

/*
 * The file's virtual address at the offset of @m, by the segment that holds it, less the offset: of
 * the file that names will come from.
 */
static uint64_t file_shift(const struct perf_images *im, const struct perf_mapping *m)
{
	struct af_found found = {0};
	Elf64_Phdr p;
	uint64_t shift = 0;

	if (!perf_images_file(im, m, &found))
		return 0;
	for (uint32_t i = 0; af_elf_segment(&found.elf, i, &p); i++)
		if (p.p_type == PT_LOAD && p.p_flags & PF_X &&
		    m->offset >= (p.p_offset & ~UINT64_C(4095)) &&
		    m->offset < p.p_offset + p.p_filesz)
			shift = p.p_vaddr - p.p_offset;
	af_found_close(&found);
	return shift;
}

uint64_t perf_images_bias(struct perf_images *im, const struct perf_mapping *m)
{
	const char *path = af_strtab_get(&im->builder->names, m->path);
	bool fresh;

	if (path[0] != '/' || path[1] == '/')
		return strcmp(path, "[vdso]") ? m->start - m->offset : m->start;
	uint64_t *shift = af_keys_at(&im->biases, AF_KEY(m->path, m->offset, m->build_id), &fresh);
	if (fresh)
		*shift = file_shift(im, m);
	return m->start - m->offset - *shift;
}

static void mapping_write(struct perf_images *im, const struct perf_image *image,
                          const struct perf_mapping *m)
{
	static const char gone[] = " (deleted)";
	const char *path = af_strtab_get(&im->builder->names, m->path);
	size_t len = strlen(path);
	struct af_builder_mapping to = {
	    .start = m->start,
	    .end = m->end,
	    .bias = perf_images_bias(im, m),
	    .process = image->process,
	    .epoch = m->epoch,
	    .path = m->path,
	    .flags = m->path == image->exe ? AF_MAPPING_MAIN : 0,
	};

	if (len > sizeof gone - 1 && !strcmp(path + len - (sizeof gone - 1), gone)) {
		to.flags |= AF_MAPPING_DELETED;
		to.path = af_builder_name(im->builder, path, len - (sizeof gone - 1));
	}
	if (m->build_id) {
		const struct perf_build_id *b = &im->build_ids[m->build_id - 1];
		to.build_id_len = b->len;
		memcpy(to.build_id, b->id, b->len);
	}
	af_builder_mapping(im->builder, &to);
}

uint32_t perf_images_process(struct perf_images *im, uint32_t pid, uint32_t *epoch)
{
	struct af_builder *d = im->builder;
	struct perf_image *image = image_of(im, pid);

	if (image->process == UINT32_MAX) {
		uint32_t comm = perf_images_thread(im, pid, pid);
		image->process = af_builder_process_new(d, im->space, pid);
		struct af_builder_process *p = &d->processes[image->process];
		p->exe = image->exe ? image->exe : comm;
		if (!p->exe && !pid)
			p->exe = af_builder_name(d, "swapper", 7);
		uint32_t parent = image->from ? im->all[image->from - 1].process : UINT32_MAX;
		p->parent = parent == UINT32_MAX ? 0 : parent + 1;
	}
	for (; image->nr_written < image->nr_maps; image->nr_written++)
		mapping_write(im, image, &image->maps[image->nr_written]);
	*epoch = image->epoch;
	return image->process;
}
