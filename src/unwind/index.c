/* The tables of a file, with an index of its FDEs where it brings no search table. */
#include <stdlib.h>

#include "base/arena.h"
#include "unwind/cfi_table.h"
#include "unwind/elf_file.h"

/* State while one section is read. */
struct index_walk {
	const struct af_cfi *c;
	struct cfi_fde fde;
	uint64_t cie; /* the one that fde.cie is; UINT64_MAX: none */
};

/* Is the entry an FDE that can be read? Most share a CIE with the one before. */
static bool index_reads(struct index_walk *w, struct cfi_entry e)
{
	uint64_t cie;

	if (!cfi_entry_cie(w->c, &e, &cie))
		return false;
	if (cie != w->cie && cfi_cie(w->c, cie, &w->fde.cie)) {
		w->cie = UINT64_MAX;
		return false;
	}
	w->cie = cie;
	/* The address of code that the linker has left out is 0. */
	return !cfi_fde_rest(&w->fde, e) && w->fde.start && w->fde.size;
}

static int index_order(const void *a, const void *b)
{
	const struct af_cfi_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Count the entry that begins at @at. False: there are more than @most. */
static bool index_make(struct af_cfi *c, uint64_t at, uint32_t most)
{
	struct index_walk w = {.c = c, .cie = UINT64_MAX};
	struct af_cfi_entry *index = NULL;
	uint32_t nr = 0, cap = 0, nr_seen = 0;

	while (at < c->image.len && nr_seen++ < most) {
		struct cfi_entry e = cfi_entry(c, at);
		if (e.body.bad || (e.body.at == e.body.end && !c->is_debug_frame))
			break;
		if (index_reads(&w, e)) {
			AF_GROW(index, nr, cap);
			index[nr++] = (struct af_cfi_entry){w.fde.start, at};
		}
		at = e.body.end;
	}
	AF_SORT(index, nr, index_order);
	c->index = index;
	c->nr_index = nr;
	c->nr_read = nr_seen;
	c->has_tables = nr;
	return nr_seen <= most;
}

bool af_cfi_open_debug(struct af_cfi *c, uint16_t elf_machine, const uint8_t *bytes, uint64_t len)
{
	*c = (struct af_cfi){
	    .image = {bytes, len, 0}, .machine = af_machine(elf_machine), .is_debug_frame = true};
	index_make(c, 0, AF_CFI_INDEX_MAX);
	return c->has_tables;
}

/* The segment that holds .eh_frame_hdr, as far as it is in the file. */
static bool index_image(struct af_cfi *c, const struct af_elf *elf)
{
	Elf64_Phdr hdr, load;
	uint32_t i = 0;

	do {
		if (!af_elf_segment(elf, i++, &hdr))
			return false;
	} while (hdr.p_type != PT_GNU_EH_FRAME);
	for (i = 0; af_elf_segment(elf, i, &load); i++) {
		uint64_t in = hdr.p_vaddr - load.p_vaddr, left = elf->size - load.p_offset;
		if (load.p_type != PT_LOAD || in >= load.p_filesz || load.p_offset > elf->size)
			continue;
		c->image.bytes = elf->data + load.p_offset;
		c->image.len = load.p_filesz < left ? load.p_filesz : left;
		c->image.address = load.p_vaddr;
		c->hdr = in;
		return true;
	}
	return false;
}

bool af_cfi_open(struct af_cfi *c, const struct af_elf *elf, uint32_t most, bool *too_many)
{
	struct cfi_header h;
	Elf64_Shdr s;
	bool whole = true;

	*c = (struct af_cfi){.machine = af_machine(elf->machine)};
	if (index_image(c, elf)) {
		bool readable = !cfi_header(c, &h);
		c->has_tables = readable && !h.table.bad;
		if (readable && h.table.bad)
			whole = index_make(c, h.eh_frame, most);
	} else if (elf->type != ET_REL && af_elf_named(elf, ".eh_frame", &s) &&
	           s.sh_type != SHT_NOBITS) {
		/* Addresses of a relocatable file are not yet addresses. */
		c->image = (struct af_cfi_image){af_elf_bytes(elf, &s), s.sh_size, s.sh_addr};
		whole = index_make(c, 0, most);
	}
	if (too_many)
		*too_many = !whole;
	return c->has_tables;
}

void af_cfi_close(struct af_cfi *c)
{
	free(c->index);
	*c = (struct af_cfi){0};
}
