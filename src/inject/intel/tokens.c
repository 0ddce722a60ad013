/*
 * Binaries that Intel's drivers made before zebin, in an ELF file's section (specification: "patch
 * tokens", iOpenCL::SProgramBinaryHeader and SKernelBinaryHeaderCommon of intel/compute-runtime,
 * shared/source/device_binary_format/patchtokens_decoder.cpp): a header, then for each kernel a
 * header, its name, its code, three other heaps, and tokens. All numbers are little-endian.
 */
#include <string.h>

#include "base/cursor.h"
#include "inject/intel/zebin.h"
#include "unwind/elf_file.h"

enum {
	MAGIC = 0x494e5443, /* CTNI */
	KERNELS_MOST = 1 << 16,
	WORD = 4,
	HASH = 8,
};

/* A kernel's header: sizes of what follows it. */
struct kernel_sizes {
	uint64_t name, tokens, code, heaps;
};

static struct kernel_sizes sizes_read(struct af_cursor *c)
{
	struct kernel_sizes s;

	af_cursor_bytes(c, WORD + HASH); /* check sum, hash of the shader */
	s.name = af_cursor_uint(c, WORD);
	s.tokens = af_cursor_uint(c, WORD);
	s.code = af_cursor_uint(c, WORD);
	s.heaps = af_cursor_uint(c, WORD);
	s.heaps += af_cursor_uint(c, WORD);
	s.heaps += af_cursor_uint(c, WORD);
	af_cursor_bytes(c, WORD); /* the code without padding */
	return s;
}

/* The number of kernels; the cursor is at the first. */
static uint64_t kernels_begin(struct af_cursor *c)
{
	uint64_t magic = af_cursor_uint(c, WORD);

	af_cursor_bytes(c, 3 * WORD); /* version, device, bytes of pointers */
	uint64_t nr = af_cursor_uint(c, WORD);
	af_cursor_bytes(c, WORD); /* stepping */
	af_cursor_bytes(c, af_cursor_uint(c, WORD));
	return magic == MAGIC && !c->bad && nr < KERNELS_MOST ? nr : 0;
}

bool af_tokens_kernel(const void *data, size_t size, const char *name, struct af_zebin_kernel *k)
{
	size_t len = strlen(name);
	struct af_elf e;
	Elf64_Shdr s;

	if (!data || af_elf_parse(&e, data, size) ||
	    !af_elf_named(&e, "Intel(R) OpenCL Device Binary", &s) || s.sh_type == SHT_NOBITS)
		return false;
	const uint8_t *at = af_elf_bytes(&e, &s);
	struct af_cursor c = {at, at + s.sh_size, false};
	for (uint64_t nr = kernels_begin(&c); nr && !c.bad; nr--) {
		struct kernel_sizes is = sizes_read(&c);
		const uint8_t *text = af_cursor_bytes(&c, is.name);
		af_cursor_bytes(&c, is.code);
		bool found = text && !c.bad && is.code && len < is.name &&
		             !memcmp(text, name, len) && !text[len];
		if (found)
			*k = (struct af_zebin_kernel){.size = is.code};
		if (found)
			return true;
		af_cursor_bytes(&c, is.heaps);
		af_cursor_bytes(&c, is.tokens);
	}
	return false;
}
