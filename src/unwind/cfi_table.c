#include "unwind/cfi_table.h"

#include <errno.h>
#include <string.h>

enum {
	TABLE_MAX_SCAN = 1u << 16, /* entries looked at when there is no search table */
	TABLE_WIDE = 0xffffffff,   /* as a length: one of 64 bits follows */
	TABLE_CIE = 0xffffffff,    /* id of a CIE in .debug_frame; in .eh_frame it is 0 */
};

struct cfi_entry cfi_entry(const struct af_cfi *c, uint64_t at)
{
	struct af_dwarf_cursor from = af_dwarf_cursor(&c->image, at, c->image.len);
	uint64_t len = af_dwarf_uint(&from, 4);
	bool is_wide = len == TABLE_WIDE;

	if (is_wide)
		len = af_dwarf_uint(&from, 8);
	return (struct cfi_entry){af_dwarf_block(&from, len), is_wide};
}

/* In .eh_frame the id is the distance back to the CIE, in .debug_frame where that lies. */
bool cfi_entry_cie(const struct af_cfi *c, struct cfi_entry *e, uint64_t *cie)
{
	uint64_t at = e->body.at;

	if (!c->is_debug_frame) {
		uint64_t id = af_dwarf_uint(&e->body, 4);
		*cie = at - id;
		return !e->body.bad && id && id <= at;
	}
	*cie = af_dwarf_uint(&e->body, e->is_wide ? 8 : 4);
	return !e->body.bad && *cie != (e->is_wide ? UINT64_MAX : TABLE_CIE);
}

static bool table_is_cie(const struct af_cfi *c, struct cfi_entry *e)
{
	if (!c->is_debug_frame)
		return af_dwarf_uint(&e->body, 4) == 0;
	return af_dwarf_uint(&e->body, e->is_wide ? 8 : 4) == (e->is_wide ? UINT64_MAX : TABLE_CIE);
}

static void table_augmentation(struct cfi_cie *cie, struct af_dwarf_cursor *c, const char *name)
{
	struct af_dwarf_cursor data = af_dwarf_block(c, af_dwarf_uleb(c));

	cie->has_size = true;
	for (name++; *name; name++) {
		switch (*name) {
		case 'R':
			cie->fde_encoding = (uint8_t)af_dwarf_uint(&data, 1);
			break;
		case 'L':
			af_dwarf_uint(&data, 1);
			break;
		case 'P':
			af_dwarf_pointer(&data, (uint8_t)af_dwarf_uint(&data, 1), 0);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B':
			break;
		default:
			/* The rest is unknown, but z says where the instructions begin. */
			return;
		}
	}
	c->bad |= data.bad;
}

int cfi_cie(const struct af_cfi *of, uint64_t at, struct cfi_cie *cie)
{
	struct cfi_entry e = cfi_entry(of, at);
	char name[8] = "";

	*cie = (struct cfi_cie){.fde_encoding = AF_PE_ABSPTR};
	if (!table_is_cie(of, &e))
		return -EINVAL;
	struct af_dwarf_cursor c = e.body;
	uint64_t version = af_dwarf_uint(&c, 1);
	if (version != 1 && version != 3 && version != 4)
		return -EINVAL;
	for (unsigned i = 0;; i++) {
		if (i == sizeof name || c.bad)
			return -EINVAL;
		name[i] = (char)af_dwarf_uint(&c, 1);
		if (!name[i])
			break;
	}
	/* Without "z" nothing says how long an unknown augmentation's data is. */
	if (!strcmp(name, "eh")) /* gcc before 3.0 */
		af_dwarf_uint(&c, 8);
	else if (name[0] && name[0] != 'z')
		return -EINVAL;
	if (version == 4 && (af_dwarf_uint(&c, 1) != 8 || af_dwarf_uint(&c, 1) != 0))
		return -EINVAL;
	cie->code_align = af_dwarf_uleb(&c);
	cie->data_align = af_dwarf_sleb(&c);
	cie->ra_register = version == 1 ? af_dwarf_uint(&c, 1) : af_dwarf_uleb(&c);
	if (name[0] == 'z')
		table_augmentation(cie, &c, name);
	cie->insns = c;
	return c.bad ? -EINVAL : 0;
}

int cfi_fde_rest(struct cfi_fde *fde, struct cfi_entry e)
{
	fde->start = af_dwarf_pointer(&e.body, fde->cie.fde_encoding, 0);
	fde->size = af_dwarf_pointer(&e.body, fde->cie.fde_encoding & AF_PE_FORMAT, 0);
	if (fde->cie.has_size)
		af_dwarf_block(&e.body, af_dwarf_uleb(&e.body));
	fde->insns = e.body;
	return e.body.bad ? -EINVAL : 0;
}

int cfi_fde(const struct af_cfi *c, uint64_t at, struct cfi_fde *fde)
{
	struct cfi_entry e = cfi_entry(c, at);
	uint64_t cie;

	if (!cfi_entry_cie(c, &e, &cie))
		return -EINVAL;
	int rc = cfi_cie(c, cie, &fde->cie);
	return rc ? rc : cfi_fde_rest(fde, e);
}

/* Bytes of an address in the search table; 0: it cannot be searched. */
static unsigned table_word(uint8_t encoding)
{
	uint8_t format = encoding & AF_PE_FORMAT & ~AF_PE_SIGNED;

	switch (format) {
	case AF_PE_UDATA2:
		return 2;
	case AF_PE_UDATA4:
		return 4;
	case AF_PE_UDATA8:
	case AF_PE_ABSPTR:
		return 8;
	default:
		return 0;
	}
}

int cfi_header(const struct af_cfi *c, struct cfi_header *h)
{
	struct af_dwarf_cursor at = af_dwarf_cursor(&c->image, c->hdr, c->image.len);

	h->data = c->image.address + c->hdr;
	uint8_t version = (uint8_t)af_dwarf_uint(&at, 1);
	uint8_t eh_frame_encoding = (uint8_t)af_dwarf_uint(&at, 1);
	uint8_t nr_encoding = (uint8_t)af_dwarf_uint(&at, 1);
	h->encoding = (uint8_t)af_dwarf_uint(&at, 1);
	if (at.bad || version != 1 || eh_frame_encoding == AF_PE_OMIT)
		return -EINVAL;
	h->nr = 0;
	h->eh_frame = af_dwarf_pointer(&at, eh_frame_encoding, h->data) - c->image.address;
	if (at.bad)
		return -EINVAL;
	h->table = at;
	h->table.bad = true;
	unsigned word = table_word(h->encoding);
	if (nr_encoding == AF_PE_OMIT || h->encoding == AF_PE_OMIT || !word)
		return 0;
	h->nr = af_dwarf_pointer(&at, nr_encoding, h->data);
	if (at.bad || h->nr > (at.end - at.at) / (UINT64_C(2) * word))
		return -EINVAL;
	h->table = at;
	/* Whether the rest of the encoding can be read is known where something is. */
	if (h->nr)
		af_dwarf_pointer(&at, h->encoding, h->data);
	h->table.bad = at.bad;
	return 0;
}

/* The start in row @i; most linkers write one encoding, and most of a search is this. */
static uint64_t table_start(const struct cfi_header *h, unsigned word, uint64_t i)
{
	struct af_dwarf_cursor row = h->table;
	int32_t offset;

	row.at += i * 2 * word;
	if (h->encoding != (AF_PE_DATAREL | AF_PE_SDATA4))
		return af_dwarf_pointer(&row, h->encoding, h->data);
	memcpy(&offset, row.image->bytes + row.at, sizeof offset);
	return h->data + (uint64_t)(int64_t)offset;
}

static int table_search_header(const struct af_cfi *c, uint64_t pc, struct af_cfi_entry *e)
{
	struct cfi_header h;
	int rc = cfi_header(c, &h);

	if (rc || h.table.bad)
		return rc ? rc : -ENOTSUP;
	unsigned word = table_word(h.encoding);
	uint64_t low = 0, high = h.nr;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (table_start(&h, word, middle) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	h.table.at += (low - 1) * 2 * word;
	e->start = af_dwarf_pointer(&h.table, h.encoding, h.data);
	e->at = af_dwarf_pointer(&h.table, h.encoding, h.data) - c->image.address;
	return h.table.bad ? -EINVAL : 0;
}

int cfi_search(const struct af_cfi *c, uint64_t pc, struct af_cfi_entry *e)
{
	uint32_t low = 0, high = c->nr_index;

	if (!c->index)
		return table_search_header(c, pc, e);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (c->index[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	*e = c->index[low - 1];
	return 0;
}

/* Without a table, where none can be made: look at every FDE of .eh_frame. */
static int table_scan(const struct af_cfi *c, uint64_t pc, struct cfi_fde *fde)
{
	struct cfi_header h;
	int rc = cfi_header(c, &h);

	for (unsigned i = 0; !rc && i < TABLE_MAX_SCAN; i++) {
		struct cfi_entry e = cfi_entry(c, h.eh_frame);
		if (e.body.bad)
			return -EINVAL;
		if (e.body.at == e.body.end)
			return -ENOENT;
		if (!cfi_fde(c, h.eh_frame, fde) && pc - fde->start < fde->size)
			return 0;
		h.eh_frame = e.body.end;
	}
	return rc ? rc : -ENOENT;
}

int cfi_find(const struct af_cfi *c, uint64_t pc, struct cfi_fde *fde)
{
	struct af_cfi_entry e;
	int rc = cfi_search(c, pc, &e);

	if (rc == -ENOTSUP)
		return table_scan(c, pc, fde);
	if (!rc)
		rc = cfi_fde(c, e.at, fde);
	if (!rc && pc - fde->start >= fde->size)
		rc = -ENOENT;
	return rc;
}
