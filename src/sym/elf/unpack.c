#include "sym/elf/unpack.h"

#include <endian.h>
#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/scope.h"

enum {
	UNPACK_XZ_MAX = 256 << 20,
	UNPACK_XZ_MEMORY = 128 << 20, /* xz -9 needs 65 MiB */
	UNPACK_XZ_FIRST = 1 << 20,
	UNPACK_SECTION_MAX = 64 << 20,
};

#define UNPACK_ZSTD_MAX (UINT64_C(2) << 30)

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2 /* glibc before 2.37 does not know it */
#endif

/* Run @xz to its end, with as much room as it takes. */
static int unpack_xz(lzma_stream *xz, uint8_t **data, size_t *size)
{
	size_t cap = UNPACK_XZ_FIRST;
	scope_free uint8_t *out = af_xrealloc(NULL, cap);
	lzma_ret ret;

	do {
		if (xz->total_out == cap) {
			if (cap == UNPACK_XZ_MAX)
				return -EFBIG;
			cap *= 2;
			out = af_xrealloc(out, cap);
		}
		xz->next_out = out + xz->total_out;
		xz->avail_out = cap - xz->total_out;
		ret = lzma_code(xz, LZMA_FINISH);
	} while (ret == LZMA_OK);
	if (ret != LZMA_STREAM_END)
		return -EBADMSG;
	*size = xz->total_out;
	*data = give(out);
	return 0;
}

int af_unpack_minidebug(const struct af_elf *e, uint8_t **data, size_t *size)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	Elf64_Shdr s;

	if (!af_elf_named(e, ".gnu_debugdata", &s) || s.sh_type == SHT_NOBITS)
		return -ENODATA;
	if (lzma_stream_decoder(&xz, UNPACK_XZ_MEMORY, 0) != LZMA_OK)
		return -EBADMSG;
	xz.next_in = af_elf_bytes(e, &s);
	xz.avail_in = s.sh_size;
	int rc = unpack_xz(&xz, data, size);
	lzma_end(&xz);
	return rc;
}

/* Section @i when zstd has compressed it: its headers. */
static bool unpack_is_zstd(const struct af_elf *e, uint32_t i, Elf64_Shdr *s, Elf64_Chdr *c)
{
	if (e->is_32 || !af_elf_section(e, i, s) || s->sh_type == SHT_NOBITS ||
	    !(s->sh_flags & SHF_COMPRESSED) || s->sh_size < sizeof *c)
		return false;
	memcpy(c, af_elf_bytes(e, s), sizeof *c);
	return c->ch_type == ELFCOMPRESS_ZSTD;
}

/* The sections that libdw reads; others are left out. */
static bool unpack_is_read(const struct af_elf *e, const Elf64_Shdr *s)
{
	static const char *const read[] = {
	    ".debug_info",     ".debug_abbrev",  ".debug_line",   ".debug_line_str",
	    ".debug_str",      ".debug_addr",    ".debug_ranges", ".debug_str_offsets",
	    ".debug_rnglists", ".debug_aranges", ".debug_types",
	};
	Elf64_Shdr names;
	const char *name = NULL;

	if (af_elf_section(e, e->names, &names))
		name = af_elf_string(e, &names, s->sh_name);
	for (size_t i = 0; name && i < sizeof read / sizeof *read; i++)
		if (!strcmp(name, read[i]))
			return true;
	return false;
}

/* Bytes that all such sections take, each at a multiple of 16; UINT64_MAX when that is absurd. */
static uint64_t unpack_zstd_size(const struct af_elf *e)
{
	uint64_t total = 0;
	Elf64_Shdr s;
	Elf64_Chdr c;

	for (uint32_t i = 1; i < e->nr_sections; i++) {
		if (!unpack_is_zstd(e, i, &s, &c))
			continue;
		if (c.ch_size > UNPACK_ZSTD_MAX || total > UNPACK_ZSTD_MAX)
			return UINT64_MAX;
		total += 16 + (unpack_is_read(e, &s) ? (c.ch_size + 15) & ~UINT64_C(15) : 0);
	}
	return total;
}

int af_unpack_zstd(const struct af_elf *e, uint8_t **data, size_t *size)
{
	uint64_t more = unpack_zstd_size(e), at = (e->size + 15) & ~UINT64_C(15);
	Elf64_Shdr s;
	Elf64_Chdr c;

	if (!more)
		return -ENODATA;
	if (more > UNPACK_ZSTD_MAX)
		return -EFBIG;
	scope_free uint8_t *out = malloc(at + more);
	if (!out)
		return -ENOMEM;
	memcpy(out, e->data, e->size);
	for (uint32_t i = 1; i < e->nr_sections; i++) {
		if (!unpack_is_zstd(e, i, &s, &c))
			continue;
		size_t n = unpack_is_read(e, &s) ? ZSTD_decompress(out + at, c.ch_size,
		                                                   af_elf_bytes(e, &s) + sizeof c,
		                                                   s.sh_size - sizeof c)
		                                 : 0;
		s.sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
		s.sh_offset = at;
		s.sh_size = ZSTD_isError(n) ? 0 : n;
		if (!s.sh_size)
			s.sh_type = SHT_NOBITS;
		memcpy(out + e->sections_at + (uint64_t)i * sizeof s, &s, sizeof s);
		at += (s.sh_size + 15) & ~UINT64_C(15);
	}
	*size = at;
	*data = give(out);
	return 0;
}

/* The bytes behind the header: exactly @size, or nothing. */
static int unpack_exactly(uint64_t type, const uint8_t *from, uint64_t len, uint64_t size,
                          uint8_t **unpacked)
{
	if (size > UNPACK_SECTION_MAX)
		return -EFBIG;
	scope_free uint8_t *out = malloc(size + 1);
	uLongf nr = size;

	if (!out)
		return -ENOMEM;
	if (type == ELFCOMPRESS_ZSTD) {
		if (ZSTD_decompress(out, size, from, len) != size)
			return -EBADMSG;
	} else if (type != ELFCOMPRESS_ZLIB || uncompress(out, &nr, from, len) != Z_OK ||
	           nr != size) {
		return -EBADMSG;
	}
	*unpacked = give(out);
	return 0;
}

/* The form before SHF_COMPRESSED: "ZLIB", the size with its high byte first, and the data. */
static int unpack_old(const struct af_elf *e, const char *name, uint64_t *size, uint8_t **unpacked)
{
	enum { MAGIC = 4, HEAD = MAGIC + 8 };
	char old[64];
	Elf64_Shdr s;

	snprintf(old, sizeof old, ".z%s", name + 1);
	if (!af_elf_named(e, old, &s) || s.sh_type == SHT_NOBITS)
		return -ENODATA;
	const uint8_t *from = af_elf_bytes(e, &s);
	if (s.sh_size < HEAD || memcmp(from, "ZLIB", MAGIC))
		return -EBADMSG;
	memcpy(size, from + MAGIC, sizeof *size);
	*size = be64toh(*size);
	return unpack_exactly(ELFCOMPRESS_ZLIB, from + HEAD, s.sh_size - HEAD, *size, unpacked);
}

int af_unpack_section(const struct af_elf *e, const char *name, const uint8_t **bytes,
                      uint64_t *size, uint8_t **unpacked)
{
	Elf64_Shdr s;
	Elf64_Chdr c;
	int rc = 0;

	*unpacked = NULL;
	if (!af_elf_named(e, name, &s) || s.sh_type == SHT_NOBITS) {
		rc = unpack_old(e, name, size, unpacked);
	} else if (!(s.sh_flags & SHF_COMPRESSED)) {
		*size = s.sh_size;
	} else if (e->is_32 || s.sh_size < sizeof c) {
		rc = -EBADMSG;
	} else {
		memcpy(&c, af_elf_bytes(e, &s), sizeof c);
		*size = c.ch_size;
		rc = unpack_exactly(c.ch_type, af_elf_bytes(e, &s) + sizeof c, s.sh_size - sizeof c,
		                    c.ch_size, unpacked);
	}
	if (!rc)
		*bytes = *unpacked ? *unpacked : af_elf_bytes(e, &s);
	return rc;
}
