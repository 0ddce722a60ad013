/*
 * Relocations of all objects, in two passes: before the layout, slots and stubs are given to the
 * symbols that need them; after it, the machine changes each field.
 */
#include <errno.h>
#include <string.h>

#include "link/link_private.h"

/* A relocation of section @section, whose symbol was found. */
struct relocation {
	uint32_t object;
	const struct link_section *section;
	Elf64_Rela r;
	const struct link_type *type;
	struct link_value v;
};

/*
 * Call @each for the relocations of all sections that the image has, or of those alone that are
 * loaded, until it fails.
 */
static int each_relocation(struct af_link *l, bool loaded,
                           int (*each)(struct af_link *l, struct relocation *r, void *arg,
                                       struct af_err *err),
                           void *arg, struct af_err *err);

static const struct link_type *type_of(const struct link_machine *m, uint32_t type)
{
	return type < m->nr_types && m->types[type].name ? &m->types[type] : NULL;
}

static int relocation_fail(const struct af_link *l, const struct relocation *r, int rc,
                           const char *why, struct af_err *err)
{
	const struct link_object *o = &l->objects[r->object];
	uint32_t type = (uint32_t)ELF64_R_TYPE(r->r.r_info);
	const char *name = "";
	Elf64_Shdr names;
	Elf64_Sym s = {0};

	if (link_symbol_read(o, ELF64_R_SYM(r->r.r_info), &s))
		name = link_symbol_name(o, &s);
	if (!*name && s.st_shndx && s.st_shndx < o->elf.nr_sections &&
	    af_elf_section(&o->elf, o->elf.names, &names))
		name = o->sections[s.st_shndx].name;
	const struct link_type *t = type_of(l->machine, type);
	return af_fail_plain(err, rc, "%s: section %s+0x%llx: relocation %s%.0u%s%s: %s", o->name,
	                     r->section->name, (unsigned long long)r->r.r_offset,
	                     t ? t->name : "of unknown type ", t ? 0 : type, *name ? " to " : "",
	                     name, why);
}

/* The key of a symbol's slot or stub: a global has one in all objects. */
static uint64_t symbol_key(const struct af_link *l, const struct relocation *r, uint32_t kind)
{
	const struct link_object *o = &l->objects[r->object];
	uint64_t i = ELF64_R_SYM(r->r.r_info), key = (uint64_t)kind << 56;

	if (kind == LINK_SLOT_LD)
		return key;
	if (i >= o->first_global)
		return key | 1ull << 55 | o->globals[i - o->first_global];
	return key | (uint64_t)r->object << 32 | i;
}

static int scan_slot(struct af_link *l, struct relocation *r, uint32_t kind, struct af_err *err)
{
	bool fresh;
	uint64_t key = symbol_key(l, r, kind);
	uint64_t *at = af_map_at(&l->slots, key, &fresh), place = 0;

	if (!fresh)
		return 0;
	int rc = link_out_take(l, l->out_got, kind & (LINK_SLOT_GD | LINK_SLOT_LD) ? 16 : 8, 8,
	                       &place, err);
	*at = place;
	return rc;
}

static int scan_stub(struct af_link *l, struct relocation *r, struct af_err *err)
{
	bool fresh;
	uint64_t *at = af_map_at(&l->stubs, symbol_key(l, r, LINK_STUB), &fresh), place = 0;

	if (!fresh)
		return 0;
	int rc = link_out_take(l, l->out_stubs, l->machine->stub_size, 16, &place, err);
	*at = place;
	return rc ? rc : scan_slot(l, r, LINK_SLOT, err);
}

static int scan_one(struct af_link *l, struct relocation *r, void *arg, struct af_err *err)
{
	static const uint32_t kinds[] = {LINK_SLOT, LINK_SLOT_TP, LINK_SLOT_GD, LINK_SLOT_LD};
	uint32_t needs = r->type->needs, thread = LINK_THREAD | LINK_SLOT_TP | LINK_SLOT_GD;

	if (r->v.is_indirect)
		return relocation_fail(l, r, -ENOTSUP, "an indirect function (ifunc)", err);
	if (needs & thread && !r->v.is_thread && !r->v.is_discarded)
		return relocation_fail(l, r, -ENOTSUP,
		                       r->v.is_external ? "a thread-local variable of a library"
		                                        : "not a thread-local variable",
		                       err);
	if (r->section->h.sh_flags & SHF_ALLOC && needs & LINK_LOW && !r->v.is_absolute)
		l->is_low = true;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		int rc = needs & kinds[i] ? scan_slot(l, r, kinds[i], err) : 0;
		if (rc)
			return rc;
	}
	bool weak = r->v.is_absolute && needs & LINK_STUB;
	if (weak ||
	    (r->v.is_external && (needs & LINK_STUB || (needs & LINK_NEAR && r->v.is_code))))
		return scan_stub(l, r, err);
	return 0;
}

int link_scan(struct af_link *l, struct af_err *err)
{
	return each_relocation(l, true, scan_one, NULL, err);
}

/* The address of a symbol's slot or stub, or 0. */
static uint64_t found_at(const struct af_link *l, const struct relocation *r, uint32_t kind,
                         const struct af_map *in, uint32_t out)
{
	const uint64_t *at = af_map_get(in, symbol_key(l, r, kind));

	return at ? l->base + l->outs[out].address + *at : 0;
}

struct applying {
	uint8_t *out;
	bool late;
};

/* A slot's value in the image. */
static void fill_slot(struct af_link *l, uint8_t *out, uint64_t slot, uint64_t value)
{
	const struct link_out *got = &l->outs[l->out_got];

	memcpy(out + got->offset + (slot - l->base - got->address), &value, sizeof value);
}

static void fill_slots(struct af_link *l, uint8_t *out, const struct relocation *r,
                       struct link_reloc *to)
{
	static const uint32_t kinds[] = {LINK_SLOT, LINK_SLOT_TP, LINK_SLOT_GD, LINK_SLOT_LD};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		uint32_t kind = kinds[i];
		uint64_t slot = 0;

		/* A stub jumps to what is in the slot. */
		if (r->type->needs & kind || (kind == LINK_SLOT && to->stub))
			slot = found_at(l, r, kind, &l->slots, l->out_got);
		if (!slot)
			continue;
		fill_slot(l, out, slot,
		          kind == LINK_SLOT      ? to->value
		          : kind == LINK_SLOT_TP ? to->tp
		                                 : l->host.threads.module);
		if (kind == LINK_SLOT_GD)
			fill_slot(l, out, slot + 8, to->dtp);
		if (r->type->needs & kind)
			to->slot = slot;
	}
}

static void fill_stub(struct af_link *l, uint8_t *out, const struct relocation *r,
                      struct link_reloc *to)
{
	const struct link_out *stubs = &l->outs[l->out_stubs];

	if (!(r->type->needs & (LINK_STUB | LINK_NEAR)) || !(r->v.is_external || r->v.is_absolute))
		return;
	uint64_t slot = found_at(l, r, LINK_SLOT, &l->slots, l->out_got);
	to->stub = found_at(l, r, LINK_STUB, &l->stubs, l->out_stubs);
	if (to->stub && slot)
		l->machine->stub(out + stubs->offset + (to->stub - l->base - stubs->address),
		                 to->stub, slot);
}

/*
 * A field in DWARF or in unwind tables about code that was discarded: 0, or 1 in lists that 0 ends.
 */
static int apply_discarded(const struct af_link *l, const struct relocation *r, uint8_t *at,
                           struct af_err *err)
{
	uint64_t value =
	    !strcmp(r->section->name, ".debug_ranges") || !strcmp(r->section->name, ".debug_loc");

	if (r->section->h.sh_flags & SHF_ALLOC && r->section->out != l->out_frames + 1 &&
	    strcmp(link_out_of(l, r->section)->name, ".gcc_except_table"))
		return relocation_fail(l, r, -ENOEXEC, "to a section that is not linked", err);
	memcpy(at, &value, r->type->width);
	return 0;
}

static int apply_one(struct af_link *l, struct relocation *r, void *arg, struct af_err *err)
{
	const struct applying *a = arg;
	const struct link_out *o = link_out_of(l, r->section);
	uint64_t in = r->section->at + r->r.r_offset;
	uint64_t base = o->place == LINK_DEBUG ? 0 : l->base;

	if (!!(r->type->needs & LINK_LATE) != a->late)
		return 0;
	if (r->v.is_discarded)
		return apply_discarded(l, r, a->out + o->offset + in, err);
	struct link_reloc to = {.type = (uint32_t)ELF64_R_TYPE(r->r.r_info),
	                        .at = a->out + o->offset + in,
	                        .place = base + o->address + in,
	                        .value = r->v.address,
	                        .addend = r->r.r_addend,
	                        .size = r->v.size,
	                        .got = l->base + l->outs[l->out_got].address,
	                        .high = &l->high};
	to.dtp = l->host.threads.offset + l->thread_at + r->v.address - l->machine->dtv_offset;
	to.tp = (uint64_t)l->host.threads.tp_offset + l->thread_at + r->v.address;
	fill_stub(l, a->out, r, &to);
	fill_slots(l, a->out, r, &to);
	int rc = l->machine->apply(&to);
	if (rc == -ERANGE)
		return relocation_fail(l, r, rc,
		                       r->v.is_external
		                           ? "too far: compile with -fPIC"
		                           : "the value does not fit: compile with -fPIC",
		                       err);
	return rc ? relocation_fail(l, r, rc, "not supported", err) : 0;
}

int link_relocate(struct af_link *l, uint8_t *out, struct af_err *err)
{
	int rc = each_relocation(l, false, apply_one, &(struct applying){out, false}, err);

	if (!rc && l->host.machine == EM_RISCV)
		rc = each_relocation(l, false, apply_one, &(struct applying){out, true}, err);
	return rc;
}

/* Find the type and the symbol; and is the field in the section? */
static int relocation_read(const struct af_link *l, struct relocation *r, struct af_err *err)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(r->r.r_info);

	r->type = type_of(l->machine, type);
	if (!r->type)
		return relocation_fail(l, r, -ENOTSUP, "not supported", err);
	if (!link_inside(r->r.r_offset, r->type->width, r->section->h.sh_size) ||
	    r->section->h.sh_type == SHT_NOBITS)
		return relocation_fail(l, r, -ENOEXEC, "outside of the section", err);
	if (!link_value(l, r->object, ELF64_R_SYM(r->r.r_info), &r->v))
		return relocation_fail(l, r, -ENOEXEC, "its symbol is not in the table", err);
	return 0;
}

static int each_of_table(struct af_link *l, uint32_t object, const Elf64_Shdr *table,
                         int (*each)(struct af_link *l, struct relocation *r, void *arg,
                                     struct af_err *err),
                         void *arg, struct af_err *err)
{
	const struct link_object *o = &l->objects[object];
	struct relocation r = {.object = object, .section = &o->sections[table->sh_info]};
	const uint8_t *bytes = af_elf_bytes(&o->elf, table);
	int rc = 0;

	for (uint64_t i = 0; i < table->sh_size / sizeof r.r && !rc; i++) {
		memcpy(&r.r, bytes + i * sizeof r.r, sizeof r.r);
		if (!ELF64_R_TYPE(r.r.r_info))
			continue;
		rc = relocation_read(l, &r, err);
		if (!rc)
			rc = each(l, &r, arg, err);
	}
	return rc;
}

static int each_relocation(struct af_link *l, bool loaded,
                           int (*each)(struct af_link *l, struct relocation *r, void *arg,
                                       struct af_err *err),
                           void *arg, struct af_err *err)
{
	for (uint32_t n = 0; n < l->nr_objects; n++) {
		const struct link_object *o = &l->objects[n];

		for (uint32_t i = 1; i < o->elf.nr_sections; i++) {
			const Elf64_Shdr *h = &o->sections[i].h;

			if ((h->sh_type != SHT_RELA && h->sh_type != SHT_REL) || !h->sh_info ||
			    h->sh_info >= o->elf.nr_sections || !o->sections[h->sh_info].out)
				continue;
			if (loaded && !(o->sections[h->sh_info].h.sh_flags & SHF_ALLOC))
				continue;
			if (h->sh_type == SHT_REL)
				return af_fail_plain(err, -ENOTSUP,
				                     "%s: section %s: relocations without addends",
				                     o->name, o->sections[i].name);
			int rc = each_of_table(l, n, h, each, arg, err);
			if (rc)
				return rc;
		}
	}
	return 0;
}
