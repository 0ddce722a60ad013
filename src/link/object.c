/* Relocatable objects: their sections are checked here, and given to output sections by name. */
#include <errno.h>
#include <string.h>

#include "link/link_private.h"

enum { OBJECT_UNWIND = 0x70000001 /* SHT_X86_64_UNWIND */ };

bool link_symbol_read(const struct link_object *o, uint64_t i, Elf64_Sym *s)
{
	if (i >= o->nr_symbols)
		return false;
	af_elf_symbol(&o->elf, &o->symbols, i, s);
	return true;
}

const char *link_symbol_name(const struct link_object *o, const Elf64_Sym *s)
{
	const char *name = af_elf_string(&o->elf, &o->strings, s->st_name);

	return name ? name : "";
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* ".text.hot" is ".text", as ld has it. */
static const char *object_out_name(const char *name)
{
	static const char *const known[] = {
	    ".text",    ".rodata",          ".data.rel.ro",   ".data",
	    ".bss",     ".tdata",           ".tbss",          ".init_array",
	    ".sdata",   ".fini_array",      ".preinit_array", ".sbss",
	    ".srodata", ".gcc_except_table"};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		size_t len = strlen(known[i]);
		if (!strncmp(name, known[i], len) && (!name[len] || name[len] == '.'))
			return known[i];
	}
	return name;
}

static enum link_place object_place(const Elf64_Shdr *h)
{
	if (!(h->sh_flags & SHF_ALLOC))
		return LINK_DEBUG;
	if (h->sh_flags & SHF_TLS && h->sh_type == SHT_NOBITS)
		return LINK_TBSS;
	if (h->sh_flags & SHF_EXECINSTR)
		return LINK_TEXT;
	if (h->sh_type == SHT_NOBITS)
		return LINK_BSS;
	return h->sh_flags & SHF_WRITE ? LINK_DATA : LINK_CONST;
}

/* Is it a section that the image has? Notes are for the static linker. */
static bool object_keeps(const struct link_section *s)
{
	switch (s->h.sh_type) {
	case SHT_PROGBITS:
	case SHT_NOBITS:
	case SHT_INIT_ARRAY:
	case SHT_FINI_ARRAY:
	case SHT_PREINIT_ARRAY:
		break;
	default:
		return s->h.sh_type == OBJECT_UNWIND && !strcmp(s->name, ".eh_frame");
	}
	if (s->h.sh_flags & SHF_EXCLUDE || s->is_discarded)
		return false;
	if (s->h.sh_flags & SHF_ALLOC)
		return true;
	/* Compressed sections cannot be relocated: their lines are lost, their code is not. */
	return begins(s->name, ".debug_") && !(s->h.sh_flags & SHF_COMPRESSED);
}

/* Refuse what would silently not work. */
static int object_check(const struct link_object *o, const struct link_section *s,
                        struct af_err *err)
{
	uint64_t both = SHF_WRITE | SHF_EXECINSTR;

	if ((s->h.sh_flags & both) == both && s->h.sh_flags & SHF_ALLOC)
		return af_fail_plain(err, -ENOTSUP, "%s: section %s is writable code", o->name,
		                     s->name);
	if (begins(s->name, ".ctors") || begins(s->name, ".dtors"))
		return af_fail_plain(err, -ENOTSUP,
		                     "%s: section %s: constructors of this old form are not run; "
		                     "compile with -fuse-init-array",
		                     o->name, s->name);
	if (begins(s->name, ".gnu.lto_"))
		return af_fail_plain(err, -ENOTSUP,
		                     "%s: compiled for optimisation at link time: compile without "
		                     "-flto",
		                     o->name);
	if (s->h.sh_addralign & (s->h.sh_addralign - 1) || s->h.sh_addralign > LINK_ALIGN_MAX)
		return af_fail_plain(err, -ENOEXEC, "%s: section %s: alignment of %llu", o->name,
		                     s->name, (unsigned long long)s->h.sh_addralign);
	return 0;
}

/* True when an object before this one has the group @signature. */
static bool object_group_is_taken(struct af_link *l, const char *signature, uint32_t number)
{
	uint64_t *had = af_keys_at(&l->groups, AF_KEY_TEXT(signature), NULL);

	if (!*had)
		*had = number + 1;
	return *had != number + 1;
}

/*
 * COMDAT groups: of several objects with the same one, the first has it (gABI, "Section Groups").
 */
static void object_groups(struct af_link *l, struct link_object *o, uint32_t number)
{
	for (uint32_t i = 1; i < o->elf.nr_sections; i++) {
		struct link_section *s = &o->sections[i];
		const uint8_t *bytes =
		    s->h.sh_type == SHT_GROUP ? af_elf_bytes(&o->elf, &s->h) : NULL;
		uint32_t word;
		Elf64_Sym signature;

		if (begins(s->name, ".gnu.linkonce."))
			s->is_discarded |= object_group_is_taken(l, s->name, number);
		if (!bytes || s->h.sh_size < 4 || !link_symbol_read(o, s->h.sh_info, &signature))
			continue;
		memcpy(&word, bytes, 4);
		const char *name = link_symbol_name(o, &signature);
		if (!*name)
			name = s->name;
		if (!(word & GRP_COMDAT) || !object_group_is_taken(l, name, number))
			continue;
		for (uint64_t at = 4; at + 4 <= s->h.sh_size; at += 4) {
			memcpy(&word, bytes + at, 4);
			if (word < o->elf.nr_sections)
				o->sections[word].is_discarded = true;
		}
	}
}

static int object_sections(struct af_link *l, struct link_object *o, struct af_err *err)
{
	Elf64_Shdr names;

	if (!af_elf_section(&o->elf, o->elf.names, &names) || names.sh_type == SHT_NOBITS)
		return af_fail_plain(err, -ENOEXEC, "%s: has no names of sections", o->name);
	for (uint32_t i = 1; i < o->elf.nr_sections; i++) {
		struct link_section *s = &o->sections[i];

		if (!af_elf_section(&o->elf, i, &s->h))
			return af_fail_plain(err, -ENOEXEC, "%s: section %u is not in the file",
			                     o->name, i);
		s->name = af_elf_string(&o->elf, &names, s->h.sh_name);
		if (!s->name)
			return af_fail_plain(err, -ENOEXEC, "%s: section %u has no name", o->name,
			                     i);
		if (s->h.sh_type != SHT_SYMTAB)
			continue;
		o->symbols = s->h;
		o->nr_symbols = (uint32_t)(s->h.sh_size / sizeof(Elf64_Sym));
		o->first_global = s->h.sh_info;
		if (o->nr_symbols > 1 && !af_elf_section(&o->elf, s->h.sh_link, &o->strings))
			return af_fail_plain(err, -ENOEXEC, "%s: has no names of symbols", o->name);
	}
	if (o->first_global > o->nr_symbols || o->symbols.sh_size >> 32)
		return af_fail_plain(err, -ENOEXEC, "%s: its symbol table is damaged", o->name);
	return 0;
}

/* Give each section that is kept to an output section. */
static int object_outs(struct af_link *l, struct link_object *o, struct af_err *err)
{
	for (uint32_t i = 1; i < o->elf.nr_sections; i++) {
		struct link_section *s = &o->sections[i];
		int rc = object_check(o, s, err);

		if (rc)
			return rc;
		if (!object_keeps(s))
			continue;
		enum link_place place = object_place(&s->h);
		uint32_t type = place == LINK_BSS || place == LINK_TBSS ? SHT_NOBITS
		                : s->h.sh_type == SHT_NOBITS            ? SHT_PROGBITS
		                                                        : s->h.sh_type;
		if (!strcmp(s->name, ".eh_frame"))
			s->out = l->out_frames + 1;
		else if (s->h.sh_flags & SHF_TLS && s->h.sh_flags & SHF_ALLOC)
			s->out = link_out_at(l, place == LINK_TBSS ? ".tbss" : ".tdata",
			                     place == LINK_TBSS ? place : LINK_DATA, type) +
			         1;
		else
			s->out = link_out_at(l, object_out_name(s->name), place, type) + 1;
	}
	return 0;
}

static int object_header(const struct af_link *l, struct link_object *o, const uint8_t *bytes,
                         size_t size, struct af_err *err)
{
	if (af_elf_parse(&o->elf, bytes, size) || o->elf.is_32 || o->elf.type != ET_REL)
		return af_fail_plain(err, -ENOEXEC,
		                     "%s: neither a relocatable object nor an archive", o->name);
	if (o->elf.machine != l->host.machine)
		return af_fail_plain(err, -ENOEXEC,
		                     "%s: for another machine (ELF machine %u, not %u)", o->name,
		                     o->elf.machine, l->host.machine);
	return 0;
}

int link_object_add(struct af_link *l, const char *name, const uint8_t *bytes, size_t size,
                    struct af_err *err)
{
	struct link_object o = {.name = af_arena_strdup(&l->arena, name, strlen(name))};
	int rc = object_header(l, &o, bytes, size, err);

	if (rc)
		return rc;
	if (l->nr_objects >= LINK_INPUTS_MAX)
		return af_fail_plain(err, -EFBIG, "%s: more than %d objects", name,
		                     LINK_INPUTS_MAX);
	o.sections = af_arena_alloc(&l->arena, (o.elf.nr_sections + 1) * sizeof *o.sections);
	rc = object_sections(l, &o, err);
	if (rc)
		return rc;
	object_groups(l, &o, l->nr_objects);
	rc = object_outs(l, &o, err);
	if (rc)
		return rc;
	o.globals =
	    af_arena_alloc(&l->arena, (o.nr_symbols - o.first_global + 1) * sizeof *o.globals);
	AF_GROW(l->objects, l->nr_objects, l->cap_objects);
	l->objects[l->nr_objects] = o;
	return link_symbols_add(l, l->nr_objects++, err);
}
