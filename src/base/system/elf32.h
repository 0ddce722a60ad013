/*
 * Headers of 32-bit ELF files converted to 64-bit ones (System V gABI, chapters 4 and 5): the
 * fields are the same, some in another order.
 */
#ifndef AF_BASE_SYSTEM_ELF32_H
#define AF_BASE_SYSTEM_ELF32_H

#include <elf.h>

static inline Elf64_Ehdr af_elf32_header(const Elf32_Ehdr *h)
{
	return (Elf64_Ehdr){
	    .e_type = h->e_type,
	    .e_machine = h->e_machine,
	    .e_version = h->e_version,
	    .e_entry = h->e_entry,
	    .e_phoff = h->e_phoff,
	    .e_shoff = h->e_shoff,
	    .e_flags = h->e_flags,
	    .e_ehsize = h->e_ehsize,
	    .e_phentsize = h->e_phentsize,
	    .e_phnum = h->e_phnum,
	    .e_shentsize = h->e_shentsize,
	    .e_shnum = h->e_shnum,
	    .e_shstrndx = h->e_shstrndx,
	};
}

static inline Elf64_Phdr af_elf32_segment(const Elf32_Phdr *p)
{
	return (Elf64_Phdr){p->p_type,  p->p_flags,  p->p_offset, p->p_vaddr,
	                    p->p_paddr, p->p_filesz, p->p_memsz,  p->p_align};
}

static inline Elf64_Shdr af_elf32_section(const Elf32_Shdr *s)
{
	return (Elf64_Shdr){s->sh_name, s->sh_type, s->sh_flags, s->sh_addr,      s->sh_offset,
	                    s->sh_size, s->sh_link, s->sh_info,  s->sh_addralign, s->sh_entsize};
}

static inline Elf64_Sym af_elf32_symbol(const Elf32_Sym *s)
{
	return (Elf64_Sym){s->st_name,  s->st_info,  s->st_other,
	                   s->st_shndx, s->st_value, s->st_size};
}

#endif
