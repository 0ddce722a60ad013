/*
 * Debug information of hostile bytes: the sections of a small ELF file, whose lengths the first
 * bytes say. The seeds are of a compiler. Checked on the way: an answer has its bounds, and its
 * strings can be read.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sym/lines/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SECTIONS = 7, MOST = 64 };

static const char names[] = "\0.debug_info\0.debug_abbrev\0.debug_line\0.debug_str\0"
			    ".debug_line_str\0.debug_rnglists\0.debug_aranges\0.names";

/* Seven sections, each as long as two bytes say, one after the other. */
static void image_make(struct af_buf *b, const uint8_t *data, size_t size)
{
	Elf64_Ehdr h = {.e_type = ET_DYN,
	                .e_machine = EM_X86_64,
	                .e_version = EV_CURRENT,
	                .e_ehsize = sizeof h,
	                .e_shentsize = sizeof(Elf64_Shdr),
	                .e_shnum = SECTIONS + 2,
	                .e_shstrndx = SECTIONS + 1};
	Elf64_Shdr s[SECTIONS + 2] = {{0}};
	size_t at = SECTIONS * 2;
	uint32_t name = 1;

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	af_buf_add(b, &h, sizeof h);
	for (int i = 0; i <= SECTIONS; i++) {
		size_t length = sizeof names;

		if (i < SECTIONS) {
			length = data[i * 2] | (size_t)data[i * 2 + 1] << 8;
			length = length < size - at ? length : size - at;
		}
		s[i + 1] = (Elf64_Shdr){.sh_name = name,
		                        .sh_type = i < SECTIONS ? SHT_PROGBITS : SHT_STRTAB,
		                        .sh_offset = b->len,
		                        .sh_size = length,
		                        .sh_addralign = 1};
		af_buf_add(b, i < SECTIONS ? (const void *)(data + at) : names, length);
		at += i < SECTIONS ? length : 0;
		name += (uint32_t)strlen(names + name) + 1;
	}
	h.e_shoff = b->len;
	af_buf_add(b, s, sizeof s);
	memcpy(b->data, &h, sizeof h);
}

static void check(struct af_lines *l, uint64_t vaddr)
{
	struct af_lines_frame frames[MOST];
	uint32_t nr = af_lines_find(l, vaddr, frames, MOST);
	size_t total = 0;

	if (nr > MOST)
		abort();
	for (uint32_t i = 0; i < nr; i++) {
		total += frames[i].name ? strlen(frames[i].name) : 0;
		total += frames[i].file ? strlen(frames[i].file) : 0;
		total += frames[i].directory ? strlen(frames[i].directory) : 0;
	}
	if (total > 1 << 24)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_buf b = {0};
	struct af_lines l;

	if (size < SECTIONS * 2)
		return 0;
	image_make(&b, data, size);
	if (!af_lines_open(&l, &(struct af_lines_image){(uint8_t *)b.data, b.len}, NULL)) {
		for (uint64_t vaddr = 0x1000; vaddr < 0x1400; vaddr += 5)
			check(&l, vaddr);
		check(&l, 0);
		check(&l, UINT64_MAX);
		af_lines_close(&l);
	}
	af_buf_free(&b);
	return 0;
}
