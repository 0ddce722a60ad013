#include "cmd/functions/heads.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "sym/module/finder.h"
#include "unwind/elf_file.h"

#ifndef AF_HAVE_CAPSTONE

int af_functions_heads(const struct af_functions *f, struct af_probe *to, struct af_err *err)
{
	(void)f, (void)to;
	return af_fail_plain(err, -ENOTSUP,
	                     "without root it needs a disassembler, which this build of aflame has "
	                     "not: install Capstone (Debian: libcapstone-dev) and build it again");
}

#else

#include <capstone/capstone.h>

enum { WORD = 8 };

struct heads {
	const struct af_watch_function *f;
	struct af_elf elf;
	csh handle;
	cs_insn *insn;
	struct af_err *err;
};

static int refused(const struct heads *h, const char *why)
{
	return af_fail_plain(h->err, -ENOTSUP, "without root %s cannot be probed: %s; leave it out",
	                     h->f->name, why);
}

static bool is_branch(const cs_insn *insn)
{
	const cs_detail *d = insn->detail;

	for (uint8_t i = 0; i < d->groups_count; i++)
		if (d->groups[i] == X86_GRP_JUMP || d->groups[i] == X86_GRP_CALL ||
		    d->groups[i] == X86_GRP_RET || d->groups[i] == X86_GRP_IRET ||
		    d->groups[i] == X86_GRP_BRANCH_RELATIVE)
			return true;
	return insn->id == X86_INS_LOOP || insn->id == X86_INS_LOOPE || insn->id == X86_INS_LOOPNE;
}

/* Where in @insn are 4 bytes that count from the instruction's end? 0: nowhere. */
static uint8_t relative_at(const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;

	for (uint8_t i = 0; i < x->op_count; i++)
		if (x->operands[i].type == X86_OP_MEM && x->operands[i].mem.base == X86_REG_RIP)
			return x->encoding.disp_offset;
	return 0;
}

/* A jump by the longest distance: jmp rel32, Jcc rel32 (Intel SDM, volume 2). */
static bool jump_take(struct af_probe *to, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	uint8_t opcode = x->opcode[0];
	bool condition = opcode >> 4 == 7 || (opcode == 0x0f && x->opcode[1] >> 4 == 8);
	uint8_t *code = to->code + to->code_len;

	if (to->relative || x->operands[0].type != X86_OP_IMM ||
	    (!condition && opcode != 0xe9 && opcode != 0xeb))
		return false;
	if (condition)
		*code++ = 0x0f;
	*code++ = condition ? 0x80 | ((opcode == 0x0f ? x->opcode[1] : opcode) & 15) : 0xe9;
	to->relative = (uint8_t)(code - to->code);
	int32_t distance = (int32_t)((uint64_t)x->operands[0].imm -
	                             (to->address + to->relative + sizeof distance));
	memcpy(code, &distance, sizeof distance);
	to->code_len = (uint8_t)(to->relative + sizeof distance);
	return true;
}

/* It does the same at another address, or what differs is known. */
static bool insn_take(struct af_probe *to, const cs_insn *insn)
{
	uint8_t relative = relative_at(insn);

	if (insn->id != X86_INS_RET && is_branch(insn))
		return jump_take(to, insn);
	if (insn->id == X86_INS_SYSCALL || insn->id == X86_INS_INT3 || (relative && to->relative))
		return false;
	/* Behind a jump that became longer it would count from elsewhere. */
	if (relative && to->code_len != to->len)
		return false;
	if (relative)
		to->relative = to->code_len + relative;
	memcpy(to->code + to->code_len, insn->bytes, insn->size);
	to->code_len += insn->size;
	return true;
}

/*
 * Whole instructions, as many as a jump takes; behind the function's end it may take what fills the
 * room before the next one.
 */
static int head_read(struct heads *h, struct af_probe *to, const uint8_t *code, size_t left)
{
	const uint64_t end = h->f->address + h->f->size;
	uint64_t address = h->f->address;
	const uint8_t *at = code;

	while (to->len < AF_PROBE_JUMP) {
		bool is_behind = address >= end;
		if (!left || !cs_disasm_iter(h->handle, &at, &left, &address, h->insn))
			return refused(h, "it is too short, or its instructions are not known");
		bool fills = h->insn->id == X86_INS_NOP || h->insn->id == X86_INS_INT3;
		if (is_behind && !fills)
			return refused(h, "it is too short");
		if (!is_behind && !insn_take(to, h->insn))
			return refused(h, "its first instructions work only where they are");
		to->len += h->insn->size;
	}
	if (to->len > AF_PROBE_HEAD)
		to->len = AF_PROBE_HEAD;
	memcpy(to->head, code, to->len);
	return 0;
}

/* Nothing of the function jumps behind the first byte of what a jump is to replace. */
static int jumps_check(struct heads *h, const struct af_probe *to, const uint8_t *code, size_t left)
{
	uint64_t address = h->f->address;

	while (left) {
		if (!cs_disasm_iter(h->handle, &code, &left, &address, h->insn))
			return refused(h, "some of its instructions are not known");
		const cs_x86 *x = &h->insn->detail->x86;
		if (!is_branch(h->insn) || !x->op_count || x->operands[0].type != X86_OP_IMM)
			continue;
		uint64_t into = (uint64_t)x->operands[0].imm - h->f->address;
		if (into && into < to->len)
			return refused(h, "it has a loop over its first instructions");
	}
	return 0;
}

static int function_probe(struct heads *h, struct af_probe *to)
{
	const struct af_watch_function *f = h->f;
	uint64_t left = 0;
	const uint8_t *code = af_elf_at(&h->elf, f->address, &left);
	Elf64_Shdr go;

	if (h->elf.machine != EM_X86_64)
		return refused(h, "it is not of x86-64");
	if (af_elf_named(&h->elf, ".gopclntab", &go))
		return refused(h, "its program is of Go, whose stacks are too small for it");
	if (!code || !f->size || f->size > left)
		return refused(h, "the end of its code is not known");
	/* The jump is written by one store. */
	if (f->address % WORD > WORD - AF_PROBE_JUMP)
		return refused(h, "its first 5 bytes are not in one word of 8");
	to->address = f->address;
	to->every = f->every;
	strncpy(to->name, f->name, AF_PROBE_NAME);
	int rc = head_read(h, to, code, left);
	return rc ? rc : jumps_check(h, to, code, f->size);
}

/* The functions of one file, @nr of them; probes begin with the file that they are of. */
static int file_probe(struct heads *h, const struct af_watch_function *f, uint32_t nr,
                      struct af_probe *to)
{
	const struct af_finder finder = {0};
	struct af_found file = {0};
	struct stat st;
	int rc = 0;

	h->f = f;
	if (stat(f->path, &st) || af_finder_file(&finder, &file, f->path, true, NULL, 0))
		rc = refused(h, "its file is no ELF file that can be read");
	h->elf = file.elf;
	for (uint32_t i = 0; !rc && i < nr; i++) {
		h->f = &f[i];
		to[i] = (struct af_probe){.dev = st.st_dev, .ino = st.st_ino};
		rc = function_probe(h, &to[i]);
	}
	af_found_close(&file);
	return rc;
}

int af_functions_heads(const struct af_functions *f, struct af_probe *to, struct af_err *err)
{
	struct heads h = {.err = err};
	int rc = 0;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &h.handle) != CS_ERR_OK)
		return af_fail_plain(err, -ENOTSUP, "Capstone cannot read code of x86-64");
	cs_option(h.handle, CS_OPT_DETAIL, CS_OPT_ON);
	h.insn = cs_malloc(h.handle);
	if (!h.insn) {
		cs_close(&h.handle);
		return af_fail(err, -ENOMEM, "cannot disassemble");
	}
	for (uint32_t i = 0, end; !rc && i < f->nr; i = end) {
		for (end = i + 1; end < f->nr && !strcmp(f->all[i].path, f->all[end].path);)
			end++;
		rc = file_probe(&h, &f->all[i], end - i, &to[i]);
	}
	cs_free(h.insn, 1);
	cs_close(&h.handle);
	return rc;
}

#endif
