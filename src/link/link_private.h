/*
 * The parts of the linker share these. An *object* is an input with its sections; a *global* is a
 * name that objects share; an *output section* collects sections of one name; a *slot* is a word of
 * the global offset table, a *stub* a jump to the address in a slot. Addresses count from the
 * image's base until af_link_write() knows that.
 */
#ifndef AF_LINK_PRIVATE_H
#define AF_LINK_PRIVATE_H

#include <elf.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/keys.h"
#include "base/map.h"
#include "link/link.h"
#include "unwind/elf_file.h"

enum {
	LINK_INPUTS_MAX = 1 << 20, /* objects; a key of a slot has room for as many */
	LINK_ALIGN_MAX = 1 << 20,  /* of a section */
	LINK_SPAN_MAX = 1 << 30,   /* of the image, so that 32 bits reach everywhere */
	LINK_BUILD_ID_SIZE = 20,   /* as ld makes it */
	LINK_NOTE_SIZE = 16 + LINK_BUILD_ID_SIZE,
};

/* The place of an output section: segments in the order of their addresses, then no memory. */
enum link_place { LINK_CONST, LINK_TEXT, LINK_DATA, LINK_BSS, LINK_TBSS, LINK_DEBUG, LINK_PLACES };

struct link_out {
	const char *name;
	uint32_t type;
	enum link_place place;
	uint64_t align, size;
	uint64_t
	    address; /* from the base; of LINK_TBSS and .tdata see `thread_at`; 0 for LINK_DEBUG */
	uint64_t offset; /* in the file */
};

struct link_section {
	Elf64_Shdr h;
	const char *name;
	uint32_t out;      /* number of the output section + 1, 0: left out */
	bool is_discarded; /* another object has its group */
	uint64_t at;       /* in the output section */
};

struct link_object {
	const char *name;
	struct af_elf elf;
	struct link_section *sections; /* elf.nr_sections of them */
	Elf64_Shdr symbols, strings;
	uint32_t nr_symbols, first_global;
	uint32_t *globals; /* for each symbol from first_global on: its global */
};

enum link_state { LINK_UNDEFINED, LINK_EXTERNAL, LINK_WEAK, LINK_COMMON, LINK_STRONG, LINK_MADE };

struct link_global {
	const char *name;
	enum link_state state;
	bool is_wanted; /* some reference is not weak */
	bool is_code;   /* LINK_EXTERNAL */
	uint32_t object,
	    symbol;     /* definition, or the first reference; object 0 with `is_option`: none */
	bool is_option; /* af_link_want() alone refers to it */
	uint64_t value; /* LINK_EXTERNAL: address; LINK_COMMON: its place in .bss; LINK_MADE */
	uint64_t size, align; /* LINK_COMMON */
};

struct link_archive {
	const char *name;
	const uint8_t *bytes;
	size_t size;
	struct af_map loaded; /* offsets of members that were linked */
};

/* A relocation's needs beside the place that it changes. */
enum {
	LINK_SLOT = 1,       /* a slot with the symbol's address */
	LINK_SLOT_TP = 2,    /* a slot with its offset from the thread pointer */
	LINK_SLOT_GD = 4,    /* two slots: module and offset */
	LINK_SLOT_LD = 8,    /* two slots: module and 0 */
	LINK_STUB = 16,      /* a call: a stub where the symbol is external */
	LINK_NEAR = 32,      /* refers directly: a stub only where an external symbol is code */
	LINK_LOW = 64,       /* the image must lie in the first 2 GB */
	LINK_LATE = 128,     /* is applied after the others of its section */
	LINK_THREAD = 256,   /* refers to a thread-local variable */
	LINK_KNOWN = 1 << 30 /* without needs */
};

struct link_type {
	const char *name; /* NULL: this linker does not know the type */
	uint32_t needs;
	uint8_t width; /* of the field in bytes */
};

/* One relocation, ready to be applied. */
struct link_reloc {
	uint32_t type;
	uint8_t *at;    /* the field; its width was checked */
	uint64_t place; /* its address */
	uint64_t value; /* of the symbol */
	int64_t addend;
	uint64_t size;       /* of the symbol */
	uint64_t slot;       /* address of its slot, 0: none */
	uint64_t stub;       /* address of its stub, 0: none */
	uint64_t got;        /* address of the table of slots */
	uint64_t tp;         /* offset of the variable from the thread pointer, */
	uint64_t dtp;        /* and in its module's block */
	struct af_map *high; /* riscv64: values of high parts by their addresses */
};

struct link_machine {
	uint16_t machine;
	uint32_t page, stub_size;
	uint32_t dtv_offset; /* __tls_get_addr() adds it to offsets */
	const struct link_type *types;
	uint32_t nr_types;
	/* 0, -ERANGE: the value does not fit; -ENOTSUP. */
	int (*apply)(const struct link_reloc *r);
	/* Write a stub that runs at @address and jumps to the address in @slot. */
	void (*stub)(uint8_t *at, uint64_t address, uint64_t slot);
	/* The CIE of stubs, from its code alignment on, without padding. */
	const uint8_t *cie;
	uint32_t cie_size;
};

extern const struct link_machine link_x86_64, link_aarch64, link_riscv64;

struct af_link {
	struct af_link_host host;
	const struct link_machine *machine;
	struct af_arena arena;
	struct link_object *objects;
	uint32_t nr_objects, cap_objects;
	struct link_global *globals;
	uint32_t nr_globals, cap_globals;
	struct af_keys names, groups; /* name → global + 1; signature → object + 1 */
	struct link_archive *archives;
	uint32_t nr_archives, cap_archives;
	struct link_out *outs;
	uint32_t nr_outs, cap_outs;
	struct af_keys out_names;
	/* Numbers of output sections of our own. */
	uint32_t out_note, out_header, out_frames, out_stubs, out_got, out_bss;
	struct af_map slots, stubs; /* link_key() → offset in .got, in .plt */
	struct af_map high;
	uint64_t frames_end;                             /* of the inputs' bytes in .eh_frame */
	uint32_t nr_fdes;                                /* at most */
	uint64_t thread_size, thread_align, thread_init; /* .tdata and .tbss; of .tdata alone */
	uint64_t thread_at;              /* padding before them in the host's block */
	uint64_t place_end[LINK_PLACES]; /* from the base, of LINK_CONST to LINK_BSS */
	uint64_t place_start[LINK_PLACES], place_offset[LINK_PLACES];
	uint64_t span, loaded_size, file_size, align;
	uint64_t symbols_at, nr_symbols, nr_local, strings_at, strings_size, headers_at;
	uint64_t names_at, names_size;
	uint64_t base;
	bool is_laid_out, is_low, has_written, is_mapped;
	struct af_buf undefined;
};

/* Parse a relocatable object and add its sections and symbols. 0 or -ENOEXEC. */
int link_object_add(struct af_link *l, const char *name, const uint8_t *bytes, size_t size,
                    struct af_err *err);

/* Remember an archive, without linking a member. 0 or -ENOEXEC. */
int link_archive_add(struct af_link *l, const char *name, const uint8_t *bytes, size_t size,
                     struct af_err *err);
bool link_is_archive(const uint8_t *bytes, size_t size); /* By its first bytes. */

/* Link members of all archives until none defines a missing symbol. 0 or -ENOEXEC. */
int link_archives_load(struct af_link *l, struct af_err *err);

/* The global called @name, made as undefined where it is new. Valid until the next call. */
struct link_global *link_global_at(struct af_link *l, const char *name);

/* Enter the global symbols of object @number. 0, or -EEXIST for a second definition. */
int link_symbols_add(struct af_link *l, uint32_t number, struct af_err *err);

/* Find missing symbols in the host. -ENOENT when some are undefined. */
int link_symbols_find(struct af_link *l, struct af_err *err);

/* A symbol of object @o; false when there is none. */
bool link_symbol_read(const struct link_object *o, uint64_t i, Elf64_Sym *s);

/* A symbol's name; "" when it has none. */
const char *link_symbol_name(const struct link_object *o, const Elf64_Sym *s);

/* A symbol as relocations see it. */
struct link_value {
	uint64_t address, size;
	bool is_external, is_code, is_discarded, is_thread, is_indirect, is_absolute;
};

/* The value of symbol @i of object @number, with the base added. False: there is no such symbol. */
bool link_value(const struct af_link *l, uint32_t number, uint64_t i, struct link_value *v);

/* The value of a global, likewise. */
void link_global_value(const struct af_link *l, const struct link_global *g, struct link_value *v);

/* The output section called @name in @place, made where it is new; its number. */
uint32_t link_out_at(struct af_link *l, const char *name, enum link_place place, uint32_t type);

/* @size bytes at the end of an output section: their place in it. -EFBIG: too much. */
int link_out_take(struct af_link *l, uint32_t out, uint64_t size, uint64_t align, uint64_t *at,
                  struct af_err *err);

/* Slots and stubs that relocations need. 0, -ENOTSUP or -ENOEXEC. */
int link_scan(struct af_link *l, struct af_err *err);

/* Apply all relocations to the image at @out; fill slots and stubs. 0, -ERANGE or -ENOTSUP. */
int link_relocate(struct af_link *l, uint8_t *out, struct af_err *err);

/* FDEs in the objects, at most; and the bytes for the stubs' own. */
uint32_t link_frames_count(const uint8_t *bytes, uint64_t size);
uint64_t link_frames_extra(const struct af_link *l);

/* Write the stubs' FDE, and .eh_frame_hdr, into the relocated image at @out. */
void link_frames_write(struct af_link *l, uint8_t *out);

/* The size of the tables behind the sections: called at the end of the layout. */
void link_image_plan(struct af_link *l);

/* ELF header, program headers, section headers, symbols, the build-id. */
void link_image_write(struct af_link *l, uint8_t *out);

/* Sections called @name of an output: its header, or NULL. */
static inline const struct link_out *link_out_of(const struct af_link *l,
                                                 const struct link_section *s)
{
	return s->out ? &l->outs[s->out - 1] : NULL;
}

/* Is @size bytes at @at inside of @whole? */
static inline bool link_inside(uint64_t at, uint64_t size, uint64_t whole)
{
	return at <= whole && size <= whole - at;
}

static inline uint64_t link_align(uint64_t at, uint64_t align)
{
	return (at + align - 1) & ~(align - 1);
}

#endif
