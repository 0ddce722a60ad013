#include "link/link.h"

#include <errno.h>
#include <string.h>

#include "link/link_private.h"

static const struct link_machine *machine_of(uint16_t machine)
{
	static const struct link_machine *const all[] = {&link_x86_64, &link_aarch64,
	                                                 &link_riscv64};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i]->machine == machine)
			return all[i];
	return NULL;
}

struct af_link *af_link_new(const struct af_link_host *host)
{
	struct af_link *l = af_xcalloc(1, sizeof *l);

	l->host = *host;
	l->machine = machine_of(host->machine);
	l->out_note = link_out_at(l, ".note.gnu.build-id", LINK_CONST, SHT_NOTE);
	l->out_header = link_out_at(l, ".eh_frame_hdr", LINK_CONST, SHT_PROGBITS);
	l->out_frames = link_out_at(l, ".eh_frame", LINK_CONST, SHT_PROGBITS);
	l->out_stubs = link_out_at(l, ".plt", LINK_TEXT, SHT_PROGBITS);
	l->out_got = link_out_at(l, ".got", LINK_DATA, SHT_PROGBITS);
	l->out_bss = link_out_at(l, ".bss", LINK_BSS, SHT_NOBITS);
	return l;
}

void af_link_free(struct af_link *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->nr_archives; i++)
		af_map_free(&l->archives[i].loaded);
	free(l->archives);
	free(l->objects);
	free(l->globals);
	free(l->outs);
	af_keys_free(&l->names);
	af_keys_free(&l->groups);
	af_keys_free(&l->out_names);
	af_map_free(&l->slots);
	af_map_free(&l->stubs);
	af_map_free(&l->high);
	af_buf_free(&l->undefined);
	af_arena_free(&l->arena);
	free(l);
}

int af_link_add(struct af_link *l, const char *name, const uint8_t *bytes, size_t size,
                struct af_err *err)
{
	if (!l->machine)
		return af_fail_plain(err, -ENOTSUP, "%s: no linker for ELF machine %u", name,
		                     l->host.machine);
	if (link_is_archive(bytes, size))
		return link_archive_add(l, name, bytes, size, err);
	return link_object_add(l, name, bytes, size, err);
}

void af_link_want(struct af_link *l, const char *name)
{
	link_global_at(l, name)->is_wanted = true;
}

const char *af_link_undefined(const struct af_link *l)
{
	return l->undefined.data ? l->undefined.data : "";
}

uint64_t af_link_span(const struct af_link *l)
{
	return l->span;
}

uint64_t af_link_file_size(const struct af_link *l)
{
	return l->file_size;
}

int af_link_write(struct af_link *l, uint64_t base, uint8_t *out, struct af_err *err)
{
	if (!l->is_laid_out)
		return af_fail_plain(err, -EINVAL, "nothing is laid out");
	l->base = base;
	for (uint32_t n = 0; n < l->nr_objects; n++) {
		const struct link_object *o = &l->objects[n];

		for (uint32_t i = 1; i < o->elf.nr_sections; i++) {
			const struct link_section *s = &o->sections[i];
			const struct link_out *to = link_out_of(l, s);

			if (to && s->h.sh_type != SHT_NOBITS)
				memcpy(out + to->offset + s->at, af_elf_bytes(&o->elf, &s->h),
				       s->h.sh_size);
		}
	}
	int rc = link_relocate(l, out, err);
	if (rc)
		return rc;
	link_frames_write(l, out);
	link_image_write(l, out);
	l->has_written = true;
	return 0;
}

uint64_t af_link_symbol(const struct af_link *l, const char *name)
{
	const uint64_t *at = af_keys_get(&l->names, AF_KEY_TEXT(name));
	struct link_value v = {0};

	if (!at || !l->has_written)
		return 0;
	link_global_value(l, &l->globals[*at - 1], &v);
	return v.is_discarded || v.is_thread ? 0 : v.address;
}

void af_link_functions(const struct af_link *l,
                       void (*each)(void *arg, const char *name, uint64_t start, uint64_t size),
                       void *arg)
{
	for (uint32_t n = 0; n < l->nr_objects; n++) {
		const struct link_object *o = &l->objects[n];
		struct link_value v;
		Elf64_Sym s;

		for (uint32_t i = 1; link_symbol_read(o, i, &s); i++) {
			if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF)
				continue;
			if (i >= o->first_global &&
			    (l->globals[o->globals[i - o->first_global]].object != n ||
			     l->globals[o->globals[i - o->first_global]].symbol != i))
				continue;
			if (link_value(l, n, i, &v) && !v.is_discarded)
				each(arg, link_symbol_name(o, &s), v.address, s.st_size);
		}
	}
}
