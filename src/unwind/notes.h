/*
 * Notes of an ELF file: a header, a name and a description each, the latter two padded to four
 * bytes (System V gABI, "Note Section"). The bytes may be hostile, and need not be there: `read`
 * tells.
 */
#ifndef AF_UNWIND_NOTES_H
#define AF_UNWIND_NOTES_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { AF_NOTE_OWNER_MAX = 8 };

/* Notes that begin at @at; @from is what `read` takes bytes from, false where there are none. */
struct af_notes {
	bool (*read)(const void *from, void *to, uint64_t at, uint64_t len);
	const void *from;
	uint64_t at, end;
};

struct af_note {
	uint32_t type, len; /* of its description, */
	uint64_t at;        /* which is here */
	char owner[AF_NOTE_OWNER_MAX];
	uint32_t owner_len; /* with its NUL; 0 for a longer one */
};

static inline bool af_note_copy(const void *from, void *to, uint64_t at, uint64_t len)
{
	memcpy(to, (const uint8_t *)from + at, len);
	return true;
}

/* Those in @size bytes of memory. */
static inline struct af_notes af_notes_in(const void *data, uint64_t size)
{
	return (struct af_notes){.read = af_note_copy, .from = data, .end = size};
}

/* The next one, or false at the end and at what cannot be. */
static inline bool af_note_next(struct af_notes *notes, struct af_note *n)
{
	uint64_t left = notes->end - notes->at, name_at = notes->at + sizeof(Elf64_Nhdr);
	Elf64_Nhdr h;

	if (left < sizeof h || !notes->read(notes->from, &h, notes->at, sizeof h))
		return false;
	uint64_t before = sizeof h + ((h.n_namesz + UINT64_C(3)) & ~UINT64_C(3));
	uint64_t whole = before + ((h.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
	if (before + h.n_descsz > left)
		return false;
	*n = (struct af_note){.type = h.n_type, .len = h.n_descsz, .at = notes->at + before};
	if (h.n_namesz <= sizeof n->owner &&
	    notes->read(notes->from, n->owner, name_at, h.n_namesz))
		n->owner_len = h.n_namesz;
	notes->at += whole < left ? whole : left;
	return true;
}

/* Is it of this type, and of this owner, whose @size counts the NUL? */
static inline bool af_note_is(const struct af_note *n, uint32_t type, const char *owner,
                              uint32_t size)
{
	return n->type == type && n->owner_len == size && !memcmp(n->owner, owner, size);
}

/* Its length when @n is a build-id of at most @max bytes, which go into @id; or 0. */
static inline uint32_t af_note_build_id(const struct af_notes *notes, const struct af_note *n,
                                        uint8_t *id, uint32_t max)
{
	bool is = af_note_is(n, NT_GNU_BUILD_ID, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU);

	return is && n->len <= max && notes->read(notes->from, id, n->at, n->len) ? n->len : 0;
}

#endif
