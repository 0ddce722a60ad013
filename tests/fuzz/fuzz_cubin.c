/*
 * Device code of hostile bytes: a whole object, or, when the first byte says so, the sections of a
 * cubin, or of a zebin, whose lengths the next bytes say. Checked on the way: functions lie in the
 * object and within each other, frames have their bounds, and all strings can be read.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sym/device/code.h"
#include "sym/device/code_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	SECTIONS = 13,
	FRONT = 2 + SECTIONS * 2, /* whether there are sections, of which ABI, and their lengths */
	ZEBIN = 2,                /* the first byte: sections of one */
	STEPS = 64,               /* instructions of a function that are asked for */
};

static const struct {
	const char *name;
	uint32_t type, link, info;
	uint64_t flags;
} sections[SECTIONS] = {
    {".symtab", SHT_SYMTAB, 2, 0, 0},
    {".strtab", SHT_STRTAB, 0, 0, 0},
    {".text.kernel", SHT_PROGBITS, 0, 0, SHF_ALLOC | SHF_EXECINSTR},
    {".debug_line", SHT_PROGBITS, 0, 0, 0},
    {".rela.debug_line", SHT_RELA, 1, 4, 0},
    {".debug_str", SHT_PROGBITS, 0, 0, 0},
    {".debug_info", SHT_PROGBITS, 0, 0, 0},
    {".debug_abbrev", SHT_PROGBITS, 0, 0, 0},
    {".rel.debug_info", SHT_REL, 1, 7, 0},
    {".nv_debug_ptx_txt", SHT_PROGBITS, 0, 0, 0},
    {".nv_debug_line_sass", SHT_PROGBITS, 0, 0, 0},
    {".rela.nv_debug_line_sass", SHT_RELA, 1, 11, 0},
    {".debug_line_str", SHT_PROGBITS, 0, 0, 0},
};

static void cubin_names(struct af_buf *b, uint32_t at[SECTIONS + 1])
{
	af_buf_char(b, 0);
	for (int i = 0; i < SECTIONS; i++) {
		at[i] = (uint32_t)b->len;
		af_buf_add(b, sections[i].name, strlen(sections[i].name) + 1);
	}
	at[SECTIONS] = (uint32_t)b->len;
	af_buf_add(b, ".shstrtab", sizeof ".shstrtab");
}

static void cubin_make(struct af_buf *b, const uint8_t *data, size_t size)
{
	Elf64_Ehdr h = {.e_type = ET_EXEC,
	                .e_machine = data[0] == ZEBIN ? EM_INTELGT : CODE_EM_CUDA,
	                .e_flags = 0x5a004b,
	                .e_shentsize = sizeof(Elf64_Shdr),
	                .e_shnum = SECTIONS + 2,
	                .e_shstrndx = SECTIONS + 1};
	Elf64_Shdr s[SECTIONS + 2] = {{0}};
	struct af_buf names = {0};
	uint32_t name[SECTIONS + 1];
	size_t at = FRONT;

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	h.e_ident[EI_ABIVERSION] = data[1];
	cubin_names(&names, name);
	af_buf_add(b, &h, sizeof h);
	for (int i = 0; i < SECTIONS; i++) {
		size_t length = data[2 + i * 2] | (size_t)data[3 + i * 2] << 8;

		length = length < size - at ? length : size - at;
		s[i + 1] = (Elf64_Shdr){.sh_name = name[i],
		                        .sh_type = sections[i].type,
		                        .sh_flags = sections[i].flags,
		                        .sh_link = sections[i].link,
		                        .sh_info = sections[i].info,
		                        .sh_offset = b->len,
		                        .sh_size = length,
		                        .sh_addralign = 1};
		af_buf_add(b, data + at, length);
		at += length;
	}
	s[SECTIONS + 1] = (Elf64_Shdr){.sh_name = name[SECTIONS],
	                               .sh_type = SHT_STRTAB,
	                               .sh_offset = b->len,
	                               .sh_size = names.len};
	af_buf_add(b, names.data, names.len);
	h.e_shoff = b->len;
	af_buf_add(b, s, sizeof s);
	memcpy(b->data, &h, sizeof h);
	af_buf_free(&names);
}

static volatile uint8_t seen;

static void look(const char *text)
{
	while (text && *text)
		seen ^= (uint8_t)*text++;
}

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void frames_check(struct af_code *c, uint32_t i, uint64_t offset)
{
	struct af_code_frame frames[8];
	uint32_t nr = af_code_frames(c, i, offset, frames, 8);

	check(nr <= 8);
	for (uint32_t k = 0; k < nr; k++) {
		look(frames[k].function);
		look(frames[k].file);
		if (frames[k].file == AF_CODE_PTX)
			look(af_code_ptx(c, frames[k].line));
	}
	check(!nr || frames[nr - 1].function);
}

static void function_check(struct af_code *c, uint32_t i)
{
	const struct af_code_function *f = af_code_function(c, i);
	uint64_t holder;

	check(f->holder <= i && strlen(f->shown) && af_code_find(c, f->name, f->symbol) >= 0);
	if (f->bytes && f->size)
		seen ^= f->bytes[0] ^ f->bytes[f->size - 1];
	uint64_t step = f->size / STEPS + 1;
	for (uint64_t at = 0; at < f->size; at += step) {
		frames_check(c, i, at);
		check(af_code_next(c, i, at) - at - 1 < 16);
	}
	check(af_code_innermost(c, i, f->size, &holder) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_buf made = {0};
	struct af_code *c;
	uint8_t *whole = NULL;
	int rc;

	if (size < FRONT)
		return 0;
	if (data[0]) {
		cubin_make(&made, data, size);
		rc = af_code_open(&c, made.data, made.len, NULL);
	} else {
		/* A copy of its own, so that reading behind it is seen. */
		whole = malloc(size - 1);
		memcpy(whole, data + 1, size - 1);
		rc = af_code_open(&c, whole, size - 1, NULL);
	}
	if (!rc) {
		for (uint32_t i = 0; i < af_code_nr_functions(c) && i < STEPS; i++)
			function_check(c, i);
		af_code_close(c);
	}
	free(whole);
	af_buf_free(&made);
	return 0;
}
