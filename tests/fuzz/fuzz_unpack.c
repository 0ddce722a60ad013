/*
 * Compressed parts of an ELF file of hostile bytes: one section, which the first byte says is
 * MiniDebugInfo or a section that zstd has compressed. With an even second byte the rest is
 * compressed first, so that what comes out of it is reached without seeds: it is read as an ELF
 * file.
 */
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/buf.h"
#include "sym/elf/symtab.h"
#include "sym/elf/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char names[] = "\0.gnu_debugdata\0.debug_info\0.names";

/* An ELF file with @body as its only section but for the names of both. */
static void image_make(struct af_buf *b, bool zstd, const uint8_t *body, size_t size)
{
	Elf64_Ehdr h = {.e_type = ET_DYN,
	                .e_machine = EM_X86_64,
	                .e_ehsize = sizeof h,
	                .e_shentsize = sizeof(Elf64_Shdr),
	                .e_shnum = 3,
	                .e_shstrndx = 2};
	Elf64_Shdr s[3] = {
	    {0},
	    {.sh_name = zstd ? 16 : 1,
	     .sh_type = SHT_PROGBITS,
	     .sh_flags = zstd ? SHF_COMPRESSED : 0,
	     .sh_offset = sizeof h,
	     .sh_size = size},
	    {.sh_name = 28,
	     .sh_type = SHT_STRTAB,
	     .sh_offset = sizeof h + size,
	     .sh_size = sizeof names},
	};

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_shoff = sizeof h + size + sizeof names;
	af_buf_add(b, &h, sizeof h);
	af_buf_add(b, body, size);
	af_buf_add(b, names, sizeof names);
	af_buf_add(b, s, sizeof s);
}

static void read_image(const uint8_t *data, size_t size)
{
	struct af_symtab t = {0};
	struct af_elf e;

	if (af_elf_parse(&e, data, size))
		return;
	af_symtab_add(&t, &e);
	af_symtab_build(&t);
	af_symtab_find(&t, 0x1000);
	af_symtab_free(&t);
}

/* @data compressed as @zstd says, into @b, with the header of a section before it. */
static void compress(struct af_buf *b, bool zstd, const uint8_t *data, size_t size)
{
	size_t room = zstd ? ZSTD_compressBound(size) : lzma_stream_buffer_bound(size), len = 0;
	uint8_t *out = malloc(room);
	Elf64_Chdr c = {.ch_type = 2, .ch_size = size};

	if (zstd)
		len = ZSTD_compress(out, room, data, size, 1);
	else if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data, size, out, &len, room))
		len = 0;
	if (zstd)
		af_buf_add(b, &c, sizeof c);
	if (!zstd || !ZSTD_isError(len))
		af_buf_add(b, out, len);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_buf body = {0}, image = {0};
	struct af_elf e;
	uint8_t *out;
	size_t out_size;

	if (size < 3)
		return 0;
	bool zstd = data[0] & 1;
	if (data[1] & 1)
		af_buf_add(&body, data + 2, size - 2);
	else
		compress(&body, zstd, data + 2, size - 2);
	image_make(&image, zstd, (uint8_t *)body.data, body.len);
	if (!af_elf_parse(&e, (uint8_t *)image.data, image.len) &&
	    !(zstd ? af_unpack_zstd(&e, &out, &out_size)
	           : af_unpack_minidebug(&e, &out, &out_size))) {
		read_image(out, out_size);
		free(out);
	}
	af_buf_free(&body);
	af_buf_free(&image);
	return 0;
}
