/*
 * Opens hostile ELF files of recorded processes in memory for libelf, and finds the places in them
 * that a library keeps for tracers (USDT), as the notes of systemtap's sys/sdt.h tell of them: the
 * address of an instruction, that of the section .stapsdt.base when the note was made, that of the
 * counter of who looks on, then provider, name and arguments.
 */
#include <gelf.h>
#include <string.h>

#include "collect/bpf/private.h"
#include "unwind/notes.h"

Elf *bpf_elf_open(struct bpf_elf *e, int fd)
{
	*e = (struct bpf_elf){0};
	if (elf_version(EV_CURRENT) != EV_NONE && !af_file_map_fd(&e->file, fd) && e->file.data)
		e->elf = elf_memory((char *)e->file.data, e->file.size);
	return e->elf;
}

void bpf_elf_close(struct bpf_elf *e)
{
	elf_end(e->elf);
	af_file_unmap(&e->file);
	e->elf = NULL;
}

enum { NOTE_USDT = 3, ADDRESSES = 3 };

/* The section's address by now: prelinking moves what the notes say. */
static uint64_t base_now(Elf *elf, size_t names)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while ((section = elf_nextscn(elf, section))) {
		const char *name =
		    gelf_getshdr(section, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;
		if (name && !strcmp(name, ".stapsdt.base"))
			return head.sh_addr;
	}
	return 0;
}

/* Does the note's @text begin with these two strings? */
static bool is_named(const char *text, size_t size, const char *provider, const char *name)
{
	size_t first = strlen(provider) + 1, second = strlen(name) + 1;

	return size >= first + second && !memcmp(text, provider, first) &&
	       !memcmp(text + first, name, second);
}

/* The addresses of the place in the notes of one section. */
static bool notes_find(Elf_Data *data, const char *provider, const char *name, uint64_t *at)
{
	struct af_notes notes = af_notes_in(data->d_buf, data->d_size);
	struct af_note note;
	size_t size = ADDRESSES * sizeof *at;

	while (af_note_next(&notes, &note)) {
		const char *text = (const char *)data->d_buf + note.at;
		if (note.type != NOTE_USDT || note.len < size ||
		    !is_named(text + size, note.len - size, provider, name))
			continue;
		memcpy(at, text, size);
		return true;
	}
	return false;
}

static bool elf_find(Elf *elf, const char *provider, const char *name, uint64_t *offset,
                     uint64_t *semaphore)
{
	uint64_t at[ADDRESSES];
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	size_t names;

	if (gelf_getclass(elf) != ELFCLASS64 || elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_NOTE)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		if (!data || !notes_find(data, provider, name, at))
			continue;
		uint64_t base = base_now(elf, names), moved = base ? base - at[1] : 0;
		*semaphore = 0;
		return bpf_file_offset(elf, at[0] + moved, PF_X, offset) &&
		       (!at[2] || bpf_file_offset(elf, at[2] + moved, PF_W, semaphore));
	}
	return false;
}

bool bpf_usdt_find(int fd, const char *provider, const char *name, uint64_t *offset,
                   uint64_t *semaphore)
{
	struct bpf_elf file;
	Elf *elf = bpf_elf_open(&file, fd);
	bool found = elf && elf_find(elf, provider, name, offset, semaphore);

	bpf_elf_close(&file);
	return found;
}
