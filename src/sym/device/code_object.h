/* An open code object, for the files code*.c. */
#ifndef AF_SYM_DEVICE_CODE_OBJECT_H
#define AF_SYM_DEVICE_CODE_OBJECT_H

#include "base/arena.h"
#include "base/map.h"
#include "sym/device/code.h"
#include "sym/lines/lines.h"
#include "sym/lines/table.h"
#include "unwind/elf_file.h"

enum {
	CODE_EM_CUDA = 190,
	CODE_SASS_BYTES = 16, /* of an instruction in a cubin */
};

/* Line information, read when it is first asked for. */
struct code_lines {
	bool read;
	struct af_line_table source, ptx;
	Elf64_Shdr names;   /* .debug_str */
	const char **paths; /* of files of source; NULL: not asked for yet */
	const char **texts; /* lines of the PTX */
	uint32_t nr_texts, cap_texts;
	/* .debug_info, by a copy of the object in which each section has an address of its own. */
	struct af_lines full;
	bool full_open;
	uint8_t *copy;
	uint64_t *bases; /* of each section in the copy; NULL: addresses are as in the object */
};

struct code_insn {
	uint32_t offset, line;
	const char *text;
};

struct af_code {
	struct af_elf elf;
	char arch[16];
	uint32_t sm;
	struct code_function {
		struct af_code_function known;
		uint32_t section; /* of the cubin */
		/* State of a listing. */
		const char *file;
		uint32_t first_insn, nr_insns;
	} * functions;
	uint32_t nr, cap;
	uint32_t *by_name; /* functions in the order of names */
	struct af_arena strings;
	struct af_map shown; /* name as in the object → const char *, as people know it */
	struct af_map paths; /* file name as libdw has it → const char * */
	struct code_lines lines;
	struct code_insn *insns; /* of a listing */
	uint32_t nr_insns, cap_insns;
};

/* Add a function. Its name for people, and the function that it is within, are found later. */
void code_add(struct af_code *c, uint32_t section, const struct af_code_function *f);

/* @name for people, kept in @c; NULL for NULL. @name outlives @c. */
const char *code_shown(struct af_code *c, const char *name);

/* The name of a function without "$kernel$" before it. */
const char *code_plain_name(const char *name);

/* Are offsets counted from the start of a section, rather than addresses? */
static inline bool code_by_section(const struct af_code *c)
{
	return c->elf.machine == CODE_EM_CUDA || c->elf.machine == EM_INTELGT;
}

/* Section @i, when it holds code. */
bool code_section(const struct af_code *c, uint32_t i, Elf64_Shdr *s);

/* Call @each with every symbol of the object; @name may be NULL. */
void code_each_symbol(struct af_code *c, void (*each)(struct af_code *c, const Elf64_Sym *s,
                                                      uint32_t number, const char *name));

/* Read the functions of an object, for each machine. */
void code_read_cubin(struct af_code *c);
void code_read_zebin(struct af_code *c);
void code_read_host(struct af_code *c);

/* The same for an object of text: code_listing.c. */
bool code_is_listing(const void *bytes, size_t size);
void code_read_listing(struct af_code *c, const char *bytes, size_t size);
uint32_t code_listing_frames(struct af_code *c, uint32_t i, uint64_t offset,
                             struct af_code_frame *frames, uint32_t most);

/* The length of the zebin instruction at @bytes, of which @left are there. */
uint32_t code_zebin_step(const uint8_t *bytes, uint64_t left);

/* Read .debug_info, where there is one, for libdw: full, copy and bases of @c's lines. */
void code_read_full(struct af_code *c);

/* Free what @l holds. A zeroed struct is fine. */
void code_lines_close(struct code_lines *l);

#endif
