#include "cmd/functions/exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"

void functions_exits_free(struct functions_exits *e)
{
	free(e->all);
	*e = (struct functions_exits){0};
}

#ifndef AF_HAVE_CAPSTONE

int functions_exits_find(struct functions_exits *to, uint64_t start, uint64_t size,
                         const struct functions_code *code, struct af_err *err)
{
	(void)to, (void)start, (void)size, (void)code;
	return af_fail_plain(err, -ENOTSUP,
	                     "this build of aflame has no disassembler: install Capstone "
	                     "(Debian: libcapstone-dev) and build it again");
}

#else

#include <capstone/capstone.h>

enum {
	CODE_MOST = 8 << 20, /* bytes of a function */
	ALWAYS = 16,         /* a jump without a condition */
	COUNTING = 17,       /* a jump whose condition is not in the flags */
};

/* A jump to a fixed address. */
struct jump {
	uint64_t at, target;
	uint8_t condition;
};

struct exits {
	struct functions_exits *to;
	const struct functions_code *code;
	csh handle;
	uint8_t *begins[AF_EXIT_PARTS]; /* of each part, by byte: an instruction begins here */
	struct jump *jumps;
	uint32_t nr_jumps, cap_jumps;
	struct af_err *err;
};

static int refused(const struct exits *x, uint64_t at, const char *why)
{
	return af_fail_plain(x->err, -ENOTSUP, "%s at 0x%llx", why, (unsigned long long)at);
}

/* ---- one instruction ---- */

static const struct {
	x86_reg reg;
	uint8_t number;
} registers[] = {
    {X86_REG_RAX, 0},  {X86_REG_RCX, 1},           {X86_REG_RDX, 2},
    {X86_REG_RBX, 3},  {X86_REG_RSP, 4},           {X86_REG_RBP, 5},
    {X86_REG_RSI, 6},  {X86_REG_RDI, 7},           {X86_REG_R8, 8},
    {X86_REG_R9, 9},   {X86_REG_R10, 10},          {X86_REG_R11, 11},
    {X86_REG_R12, 12}, {X86_REG_R13, 13},          {X86_REG_R14, 14},
    {X86_REG_R15, 15}, {X86_REG_RIP, AF_EXIT_RIP}, {X86_REG_INVALID, AF_EXIT_NO_REGISTER},
};

static bool register_number(x86_reg reg, uint8_t *number)
{
	for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
		if (registers[i].reg == reg) {
			*number = registers[i].number;
			return true;
		}
	return false;
}

/* The condition of a jump (Intel SDM, volume 2, Jcc), by its opcode. */
static uint8_t condition_of(const cs_x86 *x)
{
	if (x->opcode[0] == 0x0f)
		return x->opcode[1] & 15;
	if (x->opcode[0] >> 4 == 7)
		return x->opcode[0] & 15;
	return x->opcode[0] == 0xe9 || x->opcode[0] == 0xeb ? ALWAYS : COUNTING;
}

static void exit_add(struct functions_exits *to, const struct af_watch_exit *e)
{
	AF_GROW(to->all, to->nr, to->cap);
	to->all[to->nr++] = *e;
}

static int indirect_take(struct exits *x, const cs_insn *insn, const cs_x86_op *op)
{
	struct af_watch_exit e = {.address = insn->address, .how = AF_EXIT_TO_REGISTER};
	bool known;

	if (op->type == X86_OP_REG) {
		known = register_number(op->reg, &e.base) && e.base < AF_EXIT_RIP;
	} else {
		e.how = AF_EXIT_TO_MEMORY;
		e.scale = (uint8_t)op->mem.scale;
		e.add = op->mem.disp;
		known = register_number(op->mem.base, &e.base) &&
		        register_number(op->mem.index, &e.index) &&
		        op->mem.segment == X86_REG_INVALID && op->size == 8;
		if (e.base == AF_EXIT_RIP)
			e.add += insn->size;
	}
	if (!known)
		return refused(x, insn->address, "it has an unusual jump");
	exit_add(x->to, &e);
	return 0;
}

static int jump_take(struct exits *x, const cs_insn *insn)
{
	const cs_x86 *is = &insn->detail->x86;
	const cs_x86_op *op = &is->operands[0];

	if (is->op_count != 1 || insn->id == X86_INS_LJMP)
		return refused(x, insn->address, "it has an unusual jump");
	if (op->type != X86_OP_IMM)
		return indirect_take(x, insn, op);
	AF_GROW(x->jumps, x->nr_jumps, x->cap_jumps);
	x->jumps[x->nr_jumps++] = (struct jump){insn->address, (uint64_t)op->imm, condition_of(is)};
	return 0;
}

static bool is_return(unsigned id)
{
	return id == X86_INS_RETF || id == X86_INS_RETFQ || id == X86_INS_IRET ||
	       id == X86_INS_IRETD || id == X86_INS_IRETQ || id == X86_INS_SYSRET ||
	       id == X86_INS_SYSEXIT;
}

static int insn_take(struct exits *x, const cs_insn *insn)
{
	const cs_detail *d = insn->detail;
	bool counts =
	    insn->id == X86_INS_LOOP || insn->id == X86_INS_LOOPE || insn->id == X86_INS_LOOPNE;
	bool jumps = counts;

	if (insn->id == X86_INS_RET) {
		exit_add(x->to, &(struct af_watch_exit){.address = insn->address});
		return 0;
	}
	if (is_return(insn->id))
		return refused(x, insn->address, "it has an unusual return");
	for (uint8_t i = 0; i < d->groups_count; i++)
		jumps |= d->groups[i] == X86_GRP_JUMP;
	return jumps ? jump_take(x, insn) : 0;
}

/* ---- a part, and all of them ---- */

static int part_read(struct exits *x, uint32_t number)
{
	const struct af_watch_part *p = &x->to->parts[number];
	uint64_t left = 0, address = p->start;
	const uint8_t *bytes = x->code->bytes(x->code->arg, p->start, &left);
	size_t size = p->size;
	int rc = 0;

	if (!p->size || !bytes || left < p->size)
		return refused(x, p->start, "its code is not in the file, or has no size,");
	if (p->size > CODE_MOST)
		return refused(x, p->start, "it has more code than is read");
	x->begins[number] = af_xcalloc(p->size, 1);
	cs_insn *insn = cs_malloc(x->handle);
	while (!rc && insn && size) {
		x->begins[number][p->size - size] = 1;
		if (!cs_disasm_iter(x->handle, &bytes, &size, &address, insn)) {
			rc = refused(x, address, "it has bytes that Capstone does not know");
			break;
		}
		rc = insn_take(x, insn);
	}
	if (!insn)
		rc = af_fail(x->err, -ENOMEM, "cannot disassemble");
	else
		cs_free(insn, 1);
	return rc;
}

/* The part that has @address; -1: none. */
static int part_of(const struct functions_exits *e, uint64_t address)
{
	for (uint32_t i = 0; i < e->nr_parts; i++)
		if (address - e->parts[i].start < e->parts[i].size)
			return (int)i;
	return -1;
}

/* Where jumps go outside, there may be more of the function. */
static int parts_follow(struct exits *x)
{
	struct functions_exits *to = x->to;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < x->nr_jumps; i++) {
		const struct jump j = x->jumps[i];
		struct af_watch_part part = {0};
		if (part_of(to, j.target) >= 0 || !x->code->part(x->code->arg, j.target, &part))
			continue;
		if (to->nr_parts == AF_EXIT_PARTS)
			return refused(x, j.at,
			               "it is in more than 4 parts: one more begins by the jump");
		to->parts[to->nr_parts++] = part;
		rc = part_read(x, to->nr_parts - 1);
	}
	return rc;
}

/* Jumps that leave are exits. The others show whether the code was read at its instructions. */
static int jumps_settle(struct exits *x)
{
	for (uint32_t i = 0; i < x->nr_jumps; i++) {
		const struct jump *j = &x->jumps[i];
		int part = part_of(x->to, j->target);
		if (part >= 0 && !x->begins[part][j->target - x->to->parts[part].start])
			return refused(x, j->at,
			               "it has data among its instructions: see the jump");
		/* A jump to its own beginning is a call, too: the entry is probed. */
		if (part >= 0 && j->target != x->to->parts[0].start)
			continue;
		if (j->condition == COUNTING)
			return refused(x, j->at, "it has an unusual jump");
		exit_add(x->to, &(struct af_watch_exit){
				    .address = j->at,
				    .how = j->condition == ALWAYS ? AF_EXIT_ALWAYS : AF_EXIT_IF,
				    .condition = j->condition & 15,
				});
	}
	return 0;
}

int functions_exits_find(struct functions_exits *to, uint64_t start, uint64_t size,
                         const struct functions_code *code, struct af_err *err)
{
	struct exits x = {.to = to, .code = code, .err = err};

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &x.handle) != CS_ERR_OK)
		return af_fail_plain(err, -ENOTSUP, "Capstone cannot read code of x86-64");
	cs_option(x.handle, CS_OPT_DETAIL, CS_OPT_ON);
	to->parts[to->nr_parts++] = (struct af_watch_part){start, size};
	int rc = part_read(&x, 0);
	if (!rc)
		rc = parts_follow(&x);
	if (!rc)
		rc = jumps_settle(&x);
	for (uint32_t i = 0; i < AF_EXIT_PARTS; i++)
		free(x.begins[i]);
	free(x.jumps);
	cs_close(&x.handle);
	return rc;
}

#endif
