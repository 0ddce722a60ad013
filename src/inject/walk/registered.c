#include "inject/walk/registered.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/pages.h"
#include "inject/arch/arch.h"
#include "inject/walk/guard.h"

enum {
	REGISTERED_HEADER = 12, /* of .eh_frame_hdr, before its rows */
	REGISTERED_PAGE = 4096,
};

enum registered_state { REGISTERED_NONE, REGISTERED_CHANGES, REGISTERED_READY, REGISTERED_GONE };

/* A row of .eh_frame_hdr: an FDE and the code that it is for, both less the header's address. */
struct registered_row {
	int32_t start, fde;
};

/*
 * A slot keeps its pages for ever: a reader that came before a change reads bytes that make no
 * sense at worst, and sees the change afterwards.
 */
struct registered_slot {
	_Atomic uint32_t state;      /* enum registered_state */
	_Atomic uint32_t changes;    /* grows with each */
	_Atomic uint64_t start, end; /* the code */
	_Atomic bool used;
	const void *frames;
	uint8_t *bytes; /* the table, and behind it its .eh_frame_hdr */
	uint64_t cap, hdr, len;
};

static struct registered_slot *_Atomic registered_slots;
static _Atomic uint32_t registered_nr;
static _Atomic uint64_t registered_bytes;

static struct registered_slot *slots_make(void)
{
	const size_t size = AF_REGISTERED_TABLES * sizeof(struct registered_slot);
	struct registered_slot *slots = atomic_load(&registered_slots), *none = NULL;

	if (slots)
		return slots;
	slots = af_pages(size, MAP_NORESERVE);
	if (!slots || atomic_compare_exchange_strong(&registered_slots, &none, slots))
		return slots;
	munmap(slots, size);
	return none;
}

/* Bytes of the table up to its end, and its FDEs; 0: it is none, or too large. */
static uint64_t table_measure(uint64_t frames, uint32_t *nr)
{
	uint32_t word[2]; /* an entry's length, and 0 for a CIE */
	uint64_t at = 0;

	for (*nr = 0; at < AF_REGISTERED_BYTES; at += 4 + (uint64_t)word[0]) {
		if (af_probed_read(&word[0], frames + at, sizeof word[0]))
			return 0;
		if (!word[0])
			return *nr ? at : 0;
		if (af_probed_read(&word[1], frames + at + 4, sizeof word[1]))
			return 0;
		/* Other unwinders are given an FDE alone, whose CIE lies elsewhere. */
		if (word[0] < 4 || (!at && word[1]))
			return 0;
		*nr += word[1] != 0;
	}
	return 0;
}

/* A slot of @size bytes that is being changed; NULL: there is no room. */
static struct registered_slot *slot_take(struct registered_slot *slots, uint64_t size)
{
	uint32_t nr = atomic_load(&registered_nr);

	for (uint32_t i = 0; i < nr && i < AF_REGISTERED_TABLES; i++) {
		uint32_t gone = REGISTERED_GONE;
		if (atomic_load(&slots[i].state) != gone || slots[i].cap < size)
			continue;
		if (atomic_compare_exchange_strong(&slots[i].state, &gone, REGISTERED_CHANGES))
			return &slots[i];
	}
	size = (size + REGISTERED_PAGE - 1) & ~(uint64_t)(REGISTERED_PAGE - 1);
	if (atomic_fetch_add(&registered_bytes, size) + size > AF_REGISTERED_ALL_BYTES) {
		atomic_fetch_sub(&registered_bytes, size);
		return NULL;
	}
	do {
		if (nr >= AF_REGISTERED_TABLES) {
			atomic_fetch_sub(&registered_bytes, size);
			return NULL;
		}
	} while (!atomic_compare_exchange_weak(&registered_nr, &nr, nr + 1));
	struct registered_slot *slot = &slots[nr];
	slot->bytes = af_pages(size, 0);
	slot->cap = slot->bytes ? size : 0;
	atomic_store(&slot->state, slot->bytes ? REGISTERED_CHANGES : REGISTERED_NONE);
	return slot->bytes ? slot : NULL;
}

/* Compilers write FDEs in the order of their code: then this is one pass. It allocates nothing. */
static void rows_insert(struct registered_row *rows, uint32_t nr, struct registered_row row)
{
	for (; nr && rows[nr - 1].start > row.start; nr--)
		rows[nr] = rows[nr - 1];
	rows[nr] = row;
}

static struct af_cfi slot_cfi(const struct registered_slot *slot)
{
	return (struct af_cfi){.image = {slot->bytes, slot->len, (uint64_t)slot->frames},
	                       .machine = af_machine(AF_ARCH_MACHINE),
	                       .hdr = slot->hdr,
	                       .has_tables = true};
}

/* The rows of .eh_frame_hdr behind the copy, whose addresses are those of the original. */
static uint32_t slot_rows(struct registered_slot *slot, uint64_t size)
{
	const struct af_cfi c = slot_cfi(slot);
	struct registered_row *rows = (void *)(slot->bytes + slot->hdr + REGISTERED_HEADER);
	const uint64_t header = (uint64_t)slot->frames + slot->hdr;
	uint32_t word[2], nr = 0;
	uint64_t start;

	for (uint64_t at = 0; at < size; at += 4 + (uint64_t)word[0]) {
		memcpy(word, slot->bytes + at, sizeof word);
		if (!word[1] || !af_cfi_start(&c, at, &start))
			continue;
		int64_t from = (int64_t)(start - header);
		if (from == (int32_t)from)
			rows_insert(
			    rows, nr++,
			    (struct registered_row){(int32_t)from, (int32_t)(at - slot->hdr)});
	}
	return nr;
}

/* The header, and the code from the first function to the last. False: there is none. */
static bool slot_fill(struct registered_slot *slot, uint64_t size)
{
	static const uint8_t version_and_encodings[] = {0x01, 0x1b, 0x03, 0x3b};
	const uint64_t header = (uint64_t)slot->frames + slot->hdr;
	uint8_t *hdr = slot->bytes + slot->hdr;
	uint32_t nr = slot_rows(slot, size);
	int32_t to_frames = (int32_t) - (int64_t)(slot->hdr + 4);
	struct af_cfi_function last;
	struct registered_row *rows = (void *)(hdr + REGISTERED_HEADER);

	if (!nr)
		return false;
	memcpy(hdr, version_and_encodings, sizeof version_and_encodings);
	memcpy(hdr + 4, &to_frames, sizeof to_frames);
	memcpy(hdr + 8, &nr, sizeof nr);
	const struct af_cfi c = slot_cfi(slot);
	uint64_t last_start = header + (uint64_t)(int64_t)rows[nr - 1].start;
	if (!af_cfi_function(&c, last_start, &last) || last.size == UINT64_MAX)
		return false;
	atomic_store(&slot->start, header + (uint64_t)(int64_t)rows[0].start);
	atomic_store(&slot->end, last.start + last.size);
	return true;
}

void af_registered_add(const void *frames)
{
	uint32_t nr;
	uint64_t size = table_measure((uint64_t)frames, &nr), hdr = (size + 4 + 7) & ~UINT64_C(7),
		 len = hdr + REGISTERED_HEADER + nr * sizeof(struct registered_row);
	struct registered_slot *slots = size ? slots_make() : NULL;
	struct registered_slot *slot = slots ? slot_take(slots, len) : NULL;

	if (!slot)
		return;
	atomic_fetch_add(&slot->changes, 1);
	slot->frames = frames;
	slot->hdr = hdr;
	slot->len = len;
	atomic_store(&slot->used, false);
	memset(slot->bytes + size, 0, hdr - size);
	bool fits = !af_probed_read(slot->bytes, (uint64_t)frames, size) && slot_fill(slot, size);
	atomic_store(&slot->state, fits ? REGISTERED_READY : REGISTERED_GONE);
}

bool af_registered_remove(const void *frames)
{
	struct registered_slot *slots = atomic_load(&registered_slots);
	uint32_t nr = atomic_load(&registered_nr);

	for (uint32_t i = 0; slots && i < nr && i < AF_REGISTERED_TABLES; i++) {
		uint32_t ready = REGISTERED_READY;
		if (atomic_load(&slots[i].state) != ready || slots[i].frames != frames ||
		    !atomic_compare_exchange_strong(&slots[i].state, &ready, REGISTERED_CHANGES))
			continue;
		atomic_fetch_add(&slots[i].changes, 1);
		bool used = atomic_load(&slots[i].used);
		atomic_store(&slots[i].state, REGISTERED_GONE);
		return used;
	}
	return false;
}

static int slot_rule(struct registered_slot *slot, uint64_t pc, struct af_rule *rule)
{
	uint32_t insns = AF_CFI_INSNS_MAX, changes = atomic_load(&slot->changes);

	if (atomic_load(&slot->state) != REGISTERED_READY || pc < atomic_load(&slot->start) ||
	    pc >= atomic_load(&slot->end))
		return -ENOENT;
	atomic_store(&slot->used, true);
	const struct af_cfi c = slot_cfi(slot);
	/* Lengths of one table and pages of the slot: read together, or not at all. */
	if (c.image.len > slot->cap || atomic_load(&slot->changes) != changes)
		return -ENOENT;
	int rc = af_cfi_rule(&c, pc, &insns, rule);
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(&slot->changes) == changes ? rc : -ENOENT;
}

int af_registered_rule(uint64_t pc, struct af_rule *rule)
{
	struct registered_slot *slots =
	    atomic_load_explicit(&registered_slots, memory_order_acquire);
	uint32_t nr = slots ? atomic_load_explicit(&registered_nr, memory_order_acquire) : 0;
	int rc = -ENOENT;

	/* The newest first: code that is gone may have been forgotten by nobody. */
	for (uint32_t i = nr < AF_REGISTERED_TABLES ? nr : AF_REGISTERED_TABLES;
	     rc == -ENOENT && i;)
		rc = slot_rule(&slots[--i], pc, rule);
	return rc;
}
