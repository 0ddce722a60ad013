#include "inject/walk/elf_image.h"

#include <errno.h>
#include <string.h>

#include "inject/walk/guard.h"
#include "unwind/notes.h"

enum {
	ELF_MAX_DYNAMIC = 128, /* entries; real files have 25 to 40 */
	ELF_MAX_CHAIN = 4096,  /* symbols of one hash bucket */
	ELF_MAX_NOTES = 32,    /* notes of one segment */
	ELF_MAX_SYMBOL = 128,  /* bytes of a name that can be looked up */
};

static bool elf_inside(const struct af_elf_image *image, uint64_t addr, uint64_t len)
{
	return addr >= image->start && addr < image->end && len <= image->end - addr;
}

static int elf_read(const struct af_elf_image *image, void *dst, uint64_t addr, uint64_t len)
{
	return elf_inside(image, addr, len) ? af_probed_read(dst, addr, len) : -EFAULT;
}

/* The bias and the bounds from the segments; false when no segment maps the header. */
static bool elf_bounds(struct af_elf_image *image)
{
	uint64_t low = UINT64_MAX, high = 0, first = 0;
	bool found = false;

	for (unsigned i = 0; i < image->nr_phdrs; i++) {
		const Elf64_Phdr *ph = &image->phdrs[i];
		if (ph->p_type != PT_LOAD || ph->p_vaddr + ph->p_memsz < ph->p_vaddr)
			continue;
		if (!found && ph->p_offset < 4096) {
			first = ph->p_vaddr - ph->p_offset;
			found = true;
		}
		if (ph->p_vaddr < low)
			low = ph->p_vaddr;
		if (ph->p_vaddr + ph->p_memsz > high)
			high = ph->p_vaddr + ph->p_memsz;
	}
	if (!found)
		return false;
	image->bias = image->header - first;
	image->start = image->bias + low;
	image->end = image->bias + high;
	return image->start < image->end;
}

int af_elf_image_open(struct af_elf_image *image, uint64_t header)
{
	Elf64_Ehdr ehdr;

	image->header = header;
	image->nr_phdrs = 0;
	if (af_probed_read(&ehdr, header, sizeof ehdr))
		return -EFAULT;
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_phentsize != sizeof(Elf64_Phdr) || ehdr.e_phoff > 4096)
		return -ENOEXEC;
	unsigned nr = ehdr.e_phnum < AF_ELF_MAX_PHDRS ? ehdr.e_phnum : AF_ELF_MAX_PHDRS;
	if (af_probed_read(image->phdrs, header + ehdr.e_phoff, nr * sizeof(Elf64_Phdr)))
		return -EFAULT;
	image->nr_phdrs = nr;
	return elf_bounds(image) ? 0 : -ENOEXEC;
}

const Elf64_Phdr *af_elf_image_segment(const struct af_elf_image *image, uint64_t addr)
{
	for (unsigned i = 0; i < image->nr_phdrs; i++) {
		const Elf64_Phdr *ph = &image->phdrs[i];
		if (ph->p_type == PT_LOAD && addr - image->bias - ph->p_vaddr < ph->p_memsz)
			return ph;
	}
	return NULL;
}

const Elf64_Phdr *af_elf_image_phdr(const struct af_elf_image *image, uint32_t type)
{
	for (unsigned i = 0; i < image->nr_phdrs; i++)
		if (image->phdrs[i].p_type == type)
			return &image->phdrs[i];
	return NULL;
}

static bool elf_note_read(const void *image, void *to, uint64_t at, uint64_t len)
{
	return !elf_read(image, to, at, len);
}

unsigned af_elf_image_build_id(const struct af_elf_image *image, uint8_t *id, unsigned max)
{
	struct af_note note;
	unsigned len = 0;

	for (unsigned i = 0; i < image->nr_phdrs && !len; i++) {
		const Elf64_Phdr *ph = &image->phdrs[i];
		uint64_t at = image->bias + ph->p_vaddr;
		struct af_notes notes = {elf_note_read, image, at, at + ph->p_memsz};
		if (ph->p_type != PT_NOTE)
			continue;
		for (int n = 0; n < ELF_MAX_NOTES && !len && af_note_next(&notes, &note); n++)
			len = af_note_build_id(&notes, &note, id, max);
	}
	return len;
}

struct elf_dynamic {
	uint64_t hash, symtab, strtab, strsz;
};

/* glibc adds the bias to the table in place; other loaders, and the vDSO, leave it as it was. */
static uint64_t elf_address(const struct af_elf_image *image, uint64_t value)
{
	return elf_inside(image, value, 0) ? value : value + image->bias;
}

/* False at the end of the table. */
static bool elf_take_dynamic(const struct af_elf_image *image, const Elf64_Dyn *dyn,
                             struct elf_dynamic *out)
{
	switch (dyn->d_tag) {
	case DT_NULL:
		return false;
	case DT_GNU_HASH:
		out->hash = elf_address(image, dyn->d_un.d_ptr);
		break;
	case DT_SYMTAB:
		out->symtab = elf_address(image, dyn->d_un.d_ptr);
		break;
	case DT_STRTAB:
		out->strtab = elf_address(image, dyn->d_un.d_ptr);
		break;
	case DT_STRSZ:
		out->strsz = dyn->d_un.d_val;
		break;
	}
	return true;
}

static bool elf_read_dynamic(const struct af_elf_image *image, struct elf_dynamic *out)
{
	const Elf64_Phdr *ph = af_elf_image_phdr(image, PT_DYNAMIC);
	Elf64_Dyn chunk[16];
	uint64_t left = ph ? ph->p_memsz / sizeof *chunk : 0;
	uint64_t at = ph ? image->bias + ph->p_vaddr : 0;
	bool more = true;

	memset(out, 0, sizeof *out);
	if (left > ELF_MAX_DYNAMIC)
		left = ELF_MAX_DYNAMIC;
	while (more && left) {
		uint64_t nr = left < 16 ? left : 16;
		if (elf_read(image, chunk, at, nr * sizeof *chunk))
			break;
		for (uint64_t i = 0; i < nr && more; i++)
			more = elf_take_dynamic(image, &chunk[i], out);
		at += nr * sizeof *chunk;
		left -= nr;
	}
	return out->hash && out->symtab && out->strtab;
}

static uint32_t elf_gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static bool elf_symbol_is(const struct af_elf_image *image, const struct elf_dynamic *dyn,
                          uint32_t index, const char *name, Elf64_Sym *sym)
{
	char text[ELF_MAX_SYMBOL];
	size_t size = strlen(name) + 1;

	if (elf_read(image, sym, dyn->symtab + index * sizeof *sym, sizeof *sym) ||
	    sym->st_shndx == SHN_UNDEF || sym->st_name >= dyn->strsz ||
	    size > dyn->strsz - sym->st_name)
		return false;
	return !elf_read(image, text, dyn->strtab + sym->st_name, size) &&
	       !memcmp(text, name, size);
}

/* Index of the first symbol of the hash's bucket, 0 when the filter or the bucket says no. */
static uint32_t elf_bucket(const struct af_elf_image *image, const struct elf_dynamic *dyn,
                           uint32_t hash, uint64_t *chain)
{
	struct {
		uint32_t nr_buckets, first, nr_words, shift;
	} table;
	uint64_t word;
	uint32_t index;

	if (elf_read(image, &table, dyn->hash, sizeof table) || !table.nr_buckets ||
	    !table.nr_words || table.shift > 31)
		return 0;
	uint64_t words = dyn->hash + sizeof table;
	uint64_t buckets = words + table.nr_words * sizeof word;
	if (elf_read(image, &word, words + hash / 64 % table.nr_words * sizeof word, sizeof word) ||
	    !(word >> (hash % 64) & 1) || !(word >> ((hash >> table.shift) % 64) & 1))
		return 0;
	if (elf_read(image, &index, buckets + hash % table.nr_buckets * 4ull, 4) ||
	    index < table.first)
		return 0;
	*chain = buckets + table.nr_buckets * 4ull + (index - table.first) * 4ull;
	return index;
}

uint64_t af_elf_image_symbol(const struct af_elf_image *image, const char *name, uint64_t *size)
{
	struct elf_dynamic dyn;
	uint32_t hash = elf_gnu_hash(name), other;
	uint64_t chain = 0;

	if (strlen(name) >= ELF_MAX_SYMBOL || !elf_read_dynamic(image, &dyn))
		return 0;
	uint32_t index = elf_bucket(image, &dyn, hash, &chain);
	for (unsigned i = 0; index && i < ELF_MAX_CHAIN; i++, index++, chain += 4) {
		Elf64_Sym sym;
		if (elf_read(image, &other, chain, sizeof other))
			return 0;
		if ((other | 1) == (hash | 1) && elf_symbol_is(image, &dyn, index, name, &sym)) {
			if (size)
				*size = sym.st_size;
			return image->bias + sym.st_value;
		}
		if (other & 1)
			return 0;
	}
	return 0;
}
