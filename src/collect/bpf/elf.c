/* Opens hostile ELF files of recorded processes in memory for libelf. */
#include "collect/bpf/private.h"

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
