/*
 * The layout: members of archives are chosen, sections come one behind the other in their output
 * sections, and these in segments: constants behind the headers, then code, then data. The file has
 * the same order, and behind it DWARF and the tables.
 */
#include <errno.h>
#include <string.h>

#include "link/link_private.h"

enum { LAYOUT_HEADERS = sizeof(Elf64_Ehdr) + 5 * sizeof(Elf64_Phdr), LAYOUT_NO_PRIORITY = 1 << 16 };

uint32_t link_out_at(struct af_link *l, const char *name, enum link_place place, uint32_t type)
{
	uint64_t *at = af_keys_at(&l->out_names, AF_KEY_TEXT(name), NULL);
	struct af_buf other = {0};

	/* A second segment with a section of the same name has a key with its number. */
	if (*at && l->outs[*at - 1].place != place) {
		af_buf_str(&other, name);
		af_buf_char(&other, '\0');
		af_buf_char(&other, (char)('0' + place));
		at = af_keys_at(&l->out_names, other.data, other.len, NULL);
		af_buf_free(&other);
	}
	if (!*at) {
		AF_GROW(l->outs, l->nr_outs, l->cap_outs);
		l->outs[l->nr_outs] =
		    (struct link_out){.name = af_arena_strdup(&l->arena, name, strlen(name)),
		                      .place = place,
		                      .type = type,
		                      .align = 1};
		*at = ++l->nr_outs;
	}
	return (uint32_t)(*at - 1);
}

int link_out_take(struct af_link *l, uint32_t out, uint64_t size, uint64_t align, uint64_t *at,
                  struct af_err *err)
{
	struct link_out *o = &l->outs[out];

	if (!align)
		align = 1;
	*at = link_align(o->size, align);
	if (size > LINK_SPAN_MAX || *at > LINK_SPAN_MAX - size)
		return af_fail_plain(err, -EFBIG, "section %s is larger than 1 GB", o->name);
	o->size = *at + size;
	if (align > o->align)
		o->align = align;
	return 0;
}

/* A section of functions that run at the beginning or the end, which are in order of priorities. */
struct layout_array {
	struct link_section *s;
	uint32_t priority, seq;
};

static int array_order(const void *a, const void *b)
{
	const struct layout_array *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static bool is_array(const struct link_section *s)
{
	return !strncmp(s->name, ".init_array", 11) || !strncmp(s->name, ".fini_array", 11);
}

/* The priority in ".init_array.00101"; those without one run last, or end first. */
static uint32_t array_priority(const char *name)
{
	const char *dot = strrchr(name, '.');
	uint32_t v = 0;

	if (dot == name || !dot[1])
		return LAYOUT_NO_PRIORITY;
	for (dot++; *dot >= '0' && *dot <= '9' && v < LAYOUT_NO_PRIORITY; dot++)
		v = v * 10 + (uint32_t)(*dot - '0');
	return *dot || v > LAYOUT_NO_PRIORITY ? LAYOUT_NO_PRIORITY : v;
}

static int layout_section(struct af_link *l, const struct link_object *o, struct link_section *s,
                          struct af_err *err)
{
	uint64_t align = s->h.sh_addralign;

	/* A gap between tables of frames would read as their end. */
	if (s->out == l->out_frames + 1) {
		align = 4;
		if (s->h.sh_size % 4)
			return af_fail_plain(err, -ENOEXEC, "%s: section %s has an odd size",
			                     o->name, s->name);
		l->nr_fdes += link_frames_count(af_elf_bytes(&o->elf, &s->h), s->h.sh_size);
	}
	return link_out_take(l, s->out - 1, s->h.sh_size, align, &s->at, err);
}

static int layout_arrays(struct af_link *l, struct layout_array *arrays, uint32_t nr,
                         struct af_err *err)
{
	int rc = 0;

	AF_SORT(arrays, nr, array_order);
	for (uint32_t i = 0; i < nr && !rc; i++)
		rc = link_out_take(l, arrays[i].s->out - 1, arrays[i].s->h.sh_size,
		                   arrays[i].s->h.sh_addralign, &arrays[i].s->at, err);
	return rc;
}

static int layout_sections(struct af_link *l, struct af_err *err)
{
	struct layout_array *arrays = NULL;
	uint32_t nr = 0, cap = 0;
	int rc = 0;

	for (uint32_t n = 0; n < l->nr_objects && !rc; n++) {
		struct link_object *o = &l->objects[n];

		for (uint32_t i = 1; i < o->elf.nr_sections && !rc; i++) {
			struct link_section *s = &o->sections[i];

			if (!s->out)
				continue;
			if (!is_array(s)) {
				rc = layout_section(l, o, s, err);
				continue;
			}
			AF_GROW(arrays, nr, cap);
			arrays[nr] = (struct layout_array){s, array_priority(s->name), nr};
			nr++;
		}
	}
	if (!rc)
		rc = layout_arrays(l, arrays, nr, err);
	free(arrays);
	return rc;
}

static int layout_commons(struct af_link *l, struct af_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < l->nr_globals && !rc; i++) {
		struct link_global *g = &l->globals[i];

		if (g->state == LINK_COMMON)
			rc = link_out_take(l, l->out_bss, g->size, g->align, &g->value, err);
	}
	return rc;
}

/* The linker's own sections, when it is known what they hold. */
static int layout_own(struct af_link *l, struct af_err *err)
{
	uint64_t at;
	int rc = link_out_take(l, l->out_note, LINK_NOTE_SIZE, 4, &at, err);

	l->frames_end = l->outs[l->out_frames].size;
	if (l->stubs.nr)
		l->nr_fdes++;
	if (!rc)
		rc = link_out_take(l, l->out_frames, link_frames_extra(l), 4, &at, err);
	l->outs[l->out_frames].align = 8;
	if (!rc)
		rc = link_out_take(l, l->out_header, 12 + 8 * (uint64_t)l->nr_fdes, 4, &at, err);
	return rc;
}

/* Thread-local variables: those with values, then zeroes, as one block in the host's. */
static int layout_threads(struct af_link *l, struct af_err *err)
{
	const struct af_link_threads *t = &l->host.threads;
	uint64_t end = 0;

	l->thread_align = 1;
	for (int zero = 0; zero < 2; zero++) {
		for (uint32_t i = 0; i < l->nr_outs; i++) {
			struct link_out *o = &l->outs[i];

			if (zero ? o->place != LINK_TBSS : strcmp(o->name, ".tdata") || !o->size)
				continue;
			if (o->align > l->thread_align)
				l->thread_align = o->align;
			end = link_align(end, o->align);
			if (zero)
				o->address = end;
			end += o->size;
		}
		if (!zero)
			l->thread_init = end;
	}
	l->thread_size = end;
	l->thread_at = link_align((uint64_t)t->tp_offset, l->thread_align) - (uint64_t)t->tp_offset;
	if (end && (end > t->size || l->thread_at > t->size - end))
		return af_fail_plain(
		    err, -ENOTSUP,
		    "thread-local variables of %llu bytes, and there is room for %llu",
		    (unsigned long long)end, (unsigned long long)t->size);
	return 0;
}

/*
 * Addresses and offsets in the file of all output sections in @place, from *@address and *@offset.
 */
static void layout_place(struct af_link *l, enum link_place place, uint64_t *address,
                         uint64_t *offset)
{
	for (uint32_t i = 0; i < l->nr_outs; i++) {
		struct link_out *o = &l->outs[i];
		uint64_t before = place == LINK_DEBUG ? *offset : *address;

		if (o->place != place || !o->size)
			continue;
		uint64_t pad = link_align(before, o->align) - before;
		*offset += pad;
		*address += pad;
		o->offset = *offset;
		o->address = place == LINK_DEBUG ? 0 : *address;
		*address += o->size;
		if (place != LINK_BSS)
			*offset += o->size;
		if (o->align > l->align && place != LINK_DEBUG)
			l->align = o->align;
	}
}

/*
 * Each segment begins on a page of its own, in memory and in the file, because the machine's pages
 * may be as large.
 */
static int layout_places(struct af_link *l, struct af_err *err)
{
	uint64_t address = LAYOUT_HEADERS, offset = LAYOUT_HEADERS, page = l->machine->page;

	l->align = page;
	for (enum link_place place = LINK_CONST; place <= LINK_BSS; place++) {
		if (place == LINK_TEXT || place == LINK_DATA)
			address = offset = link_align(address, page);
		l->place_start[place] = place == LINK_CONST ? 0 : address;
		l->place_offset[place] = place == LINK_CONST ? 0 : offset;
		layout_place(l, place, &address, &offset);
		l->place_end[place] = address;
		if (address > LINK_SPAN_MAX)
			return af_fail_plain(err, -EFBIG, "the program is larger than 1 GB");
		if (place == LINK_DATA)
			l->loaded_size = offset;
	}
	l->span = link_align(address, page);
	layout_place(l, LINK_DEBUG, &address, &offset);
	l->file_size = offset;
	link_image_plan(l);
	return l->file_size > 2ull * LINK_SPAN_MAX
	           ? af_fail_plain(err, -EFBIG, "the program is larger than 2 GB")
	           : 0;
}

int af_link_layout(struct af_link *l, struct af_err *err)
{
	if (!l->machine)
		return af_fail_plain(err, -ENOTSUP, "no linker for ELF machine %u",
		                     l->host.machine);
	int rc = link_archives_load(l, err);

	if (!rc)
		rc = link_symbols_find(l, err);
	if (!rc)
		rc = layout_sections(l, err);
	if (!rc)
		rc = layout_commons(l, err);
	if (!rc)
		rc = link_scan(l, err);
	if (!rc)
		rc = layout_own(l, err);
	if (!rc)
		rc = layout_threads(l, err);
	if (!rc)
		rc = layout_places(l, err);
	l->is_laid_out = !rc;
	return rc;
}
