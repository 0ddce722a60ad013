/*
 * Symbols of all objects: one global for each name, with the definition that holds (gABI, "Symbol
 * Table": a strong one, else a common one with the largest size, else the first weak one).
 */
#include <errno.h>
#include <string.h>

#include "link/link_private.h"

struct link_global *link_global_at(struct af_link *l, const char *name)
{
	bool fresh;
	uint64_t *at = af_keys_at(&l->names, AF_KEY_TEXT(name), &fresh);

	if (fresh) {
		AF_GROW(l->globals, l->nr_globals, l->cap_globals);
		l->globals[l->nr_globals] = (struct link_global){
		    .name = af_arena_strdup(&l->arena, name, strlen(name)), .object = UINT32_MAX};
		*at = ++l->nr_globals;
	}
	return &l->globals[*at - 1];
}

static enum link_state symbol_state(const struct link_object *o, const Elf64_Sym *s)
{
	if (s->st_shndx == SHN_UNDEF)
		return LINK_UNDEFINED;
	if (s->st_shndx == SHN_COMMON)
		return LINK_COMMON;
	if (s->st_shndx < o->elf.nr_sections && o->sections[s->st_shndx].is_discarded)
		return LINK_UNDEFINED;
	return ELF64_ST_BIND(s->st_info) == STB_GLOBAL ? LINK_STRONG : LINK_WEAK;
}

static int symbol_common(struct link_global *g, const struct link_object *o, const Elf64_Sym *s,
                         struct af_err *err)
{
	/* Its value is the alignment. */
	if (!s->st_value || s->st_value & (s->st_value - 1) || s->st_value > LINK_ALIGN_MAX)
		return af_fail_plain(err, -ENOEXEC, "%s: common symbol %s: alignment of %llu",
		                     o->name, g->name, (unsigned long long)s->st_value);
	if (s->st_size > g->size)
		g->size = s->st_size;
	if (s->st_value > g->align)
		g->align = s->st_value;
	return 0;
}

static int symbol_enter(struct af_link *l, uint32_t number, uint32_t i, const Elf64_Sym *s,
                        struct link_global *g, struct af_err *err)
{
	const struct link_object *o = &l->objects[number];
	enum link_state state = symbol_state(o, s);

	if (g->object == UINT32_MAX || state > g->state) {
		g->object = number;
		g->symbol = i;
	} else if (state == LINK_STRONG && g->state == LINK_STRONG) {
		return af_fail_plain(err, -EEXIST, "%s is defined twice: in %s and in %s", g->name,
		                     l->objects[g->object].name, o->name);
	}
	if (state > g->state)
		g->state = state;
	if (state == LINK_UNDEFINED)
		g->is_wanted |= ELF64_ST_BIND(s->st_info) != STB_WEAK;
	return state == LINK_COMMON ? symbol_common(g, o, s, err) : 0;
}

int link_symbols_add(struct af_link *l, uint32_t number, struct af_err *err)
{
	for (uint32_t i = l->objects[number].first_global; i < l->objects[number].nr_symbols; i++) {
		const struct link_object *o = &l->objects[number];
		Elf64_Sym s;

		link_symbol_read(o, i, &s);
		struct link_global *g = link_global_at(l, link_symbol_name(o, &s));
		o->globals[i - o->first_global] = (uint32_t)(g - l->globals);
		if (ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC && s.st_shndx != SHN_UNDEF)
			return af_fail_plain(err, -ENOTSUP,
			                     "%s: %s is an indirect function (ifunc)", o->name,
			                     g->name);
		int rc = symbol_enter(l, number, i, &s, g, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Names that linkers define; the value is made when the layout is known. */
static bool symbol_is_made(const struct af_link *l, const char *name)
{
	static const char *const made[] = {
	    "_GLOBAL_OFFSET_TABLE_",
	    "__dso_handle",
	    "__ehdr_start",
	    "__executable_start",
	    "_end",
	    "end",
	    "_edata",
	    "edata",
	    "_etext",
	    "etext",
	    "__bss_start",
	    "__init_array_start",
	    "__init_array_end",
	    "__fini_array_start",
	    "__fini_array_end",
	    "__preinit_array_start",
	    "__preinit_array_end",
	    "__global_pointer$",
	};

	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		if (!strcmp(name, made[i]))
			return true;
	/* The bounds of a section whose name is one of C. */
	if (!strncmp(name, "__start_", 8) && af_keys_get(&l->out_names, AF_KEY_TEXT(name + 8)))
		return true;
	return !strncmp(name, "__stop_", 7) && af_keys_get(&l->out_names, AF_KEY_TEXT(name + 7));
}

int link_symbols_find(struct af_link *l, struct af_err *err)
{
	uint32_t nr = 0;
	const struct link_global *first = NULL;

	for (uint32_t i = 0; i < l->nr_globals; i++) {
		struct link_global *g = &l->globals[i];
		struct af_link_external e = {0};

		if (g->state != LINK_UNDEFINED)
			continue;
		if (symbol_is_made(l, g->name)) {
			g->state = LINK_MADE;
		} else if (l->host.find && *g->name && l->host.find(l->host.arg, g->name, &e)) {
			g->state = LINK_EXTERNAL;
			g->value = e.address;
			g->is_code = e.is_code;
		} else if (g->is_wanted) {
			const char *by =
			    g->object < l->nr_objects ? l->objects[g->object].name : NULL;
			af_buf_terminal(&l->undefined, g->name, strlen(g->name), "");
			if (by) {
				af_buf_str(&l->undefined, " (");
				af_buf_terminal(&l->undefined, by, strlen(by), "");
				af_buf_str(&l->undefined, ")");
			}
			af_buf_char(&l->undefined, '\n');
			first = first ? first : g;
			nr++;
		}
	}
	if (!nr)
		return 0;
	return af_fail_plain(err, -ENOENT, "%u undefined symbol%s, the first %s", nr,
	                     nr > 1 ? "s" : "", first->name);
}

/* The bounds of an output section, by name. */
static uint64_t made_bound(const struct af_link *l, const char *section, bool end)
{
	const uint64_t *at = af_keys_get(&l->out_names, AF_KEY_TEXT(section));
	const struct link_out *o = at ? &l->outs[*at - 1] : NULL;

	if (!o || o->place >= LINK_TBSS)
		return l->base;
	return l->base + o->address + (end ? o->size : 0);
}

static uint64_t made_value(const struct af_link *l, const char *name)
{
	static const char *const arrays[] = {"init_array", "fini_array", "preinit_array"};
	char section[32] = ".";

	if (!strcmp(name, "_GLOBAL_OFFSET_TABLE_"))
		return l->base + l->outs[l->out_got].address;
	if (!strcmp(name, "__global_pointer$"))
		return l->base + l->place_start[LINK_DATA] + 0x800;
	if (strstr(name, "etext"))
		return l->base + l->place_end[LINK_TEXT];
	if (strstr(name, "edata") || !strcmp(name, "__bss_start"))
		return l->base + l->place_end[LINK_DATA];
	if (!strcmp(name, "end") || !strcmp(name, "_end"))
		return l->base + l->span;
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
		size_t len = strlen(arrays[i]);
		if (strncmp(name, "__", 2) || strncmp(name + 2, arrays[i], len))
			continue;
		strcpy(section + 1, arrays[i]);
		return made_bound(l, section, !strcmp(name + 2 + len, "_end"));
	}
	if (!strncmp(name, "__start_", 8))
		return made_bound(l, name + 8, false);
	return !strncmp(name, "__stop_", 7) ? made_bound(l, name + 7, true) : l->base;
}

/* A symbol that stands in section @number of @o. */
static void section_value(const struct af_link *l, const struct link_object *o, const Elf64_Sym *s,
                          struct link_value *v)
{
	const struct link_section *in = &o->sections[s->st_shndx];
	const struct link_out *out = link_out_of(l, in);

	v->size = s->st_size;
	v->is_thread = in->h.sh_flags & SHF_TLS;
	v->is_indirect = ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC;
	if (!out) {
		v->is_discarded = true;
		return;
	}
	v->address = in->at + s->st_value;
	if (v->is_thread)
		v->address += out->place == LINK_TBSS ? out->address : 0;
	else if (out->place != LINK_DEBUG)
		v->address += l->base + out->address;
}

static void symbol_value(const struct af_link *l, const struct link_object *o, const Elf64_Sym *s,
                         struct link_value *v)
{
	if (s->st_shndx && s->st_shndx < o->elf.nr_sections) {
		section_value(l, o, s, v);
	} else if (s->st_shndx == SHN_ABS) {
		v->address = s->st_value;
		v->size = s->st_size;
		v->is_absolute = true;
	} else {
		v->is_discarded = true;
	}
}

void link_global_value(const struct af_link *l, const struct link_global *g, struct link_value *v)
{
	Elf64_Sym s;

	*v = (struct link_value){0};
	switch (g->state) {
	case LINK_UNDEFINED:
		v->is_absolute = true;
		break;
	case LINK_EXTERNAL:
		*v = (struct link_value){
		    .address = g->value, .is_external = true, .is_code = g->is_code};
		break;
	case LINK_COMMON:
		v->address = l->base + l->outs[l->out_bss].address + g->value;
		v->size = g->size;
		break;
	case LINK_MADE:
		v->address = made_value(l, g->name);
		break;
	default:
		if (link_symbol_read(&l->objects[g->object], g->symbol, &s))
			symbol_value(l, &l->objects[g->object], &s, v);
	}
}

bool link_value(const struct af_link *l, uint32_t number, uint64_t i, struct link_value *v)
{
	const struct link_object *o = &l->objects[number];
	Elf64_Sym s;

	*v = (struct link_value){0};
	if (!i) { /* the null symbol: a relocation without one */
		v->is_absolute = true;
		return true;
	}
	if (!link_symbol_read(o, i, &s))
		return false;
	if (i >= o->first_global)
		link_global_value(l, &l->globals[o->globals[i - o->first_global]], v);
	else
		symbol_value(l, o, &s, v);
	return true;
}
