#include "cmd/functions/moved.h"

#ifdef AF_HAVE_CAPSTONE

#include <string.h>

enum { ALIGNED = 16 };

bool functions_branches(const cs_insn *insn)
{
	const cs_detail *d = insn->detail;

	for (uint8_t i = 0; i < d->groups_count; i++)
		if (d->groups[i] == X86_GRP_JUMP || d->groups[i] == X86_GRP_CALL ||
		    d->groups[i] == X86_GRP_RET || d->groups[i] == X86_GRP_IRET ||
		    d->groups[i] == X86_GRP_BRANCH_RELATIVE)
			return true;
	return insn->id == X86_INS_LOOP || insn->id == X86_INS_LOOPE || insn->id == X86_INS_LOOPNE;
}

bool functions_fills(const cs_insn *insn)
{
	return insn->id == X86_INS_NOP || insn->id == X86_INS_INT3;
}

uint64_t functions_next(csh handle, cs_insn *insn, const uint8_t *code, size_t left, uint64_t end)
{
	const uint64_t next = (end + ALIGNED - 1) / ALIGNED * ALIGNED;
	uint64_t address = end;

	while (address < next)
		if (!left || !cs_disasm_iter(handle, &code, &left, &address, insn) ||
		    !functions_fills(insn) || address > next)
			return end;
	return next;
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

bool functions_copy(struct af_probe *to, const cs_insn *insn)
{
	uint8_t relative = relative_at(insn);

	if (relative && to->relative)
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

bool functions_move(struct af_probe *to, const cs_insn *insn)
{
	if (insn->id != X86_INS_RET && functions_branches(insn))
		return jump_take(to, insn);
	return insn->id != X86_INS_SYSCALL && insn->id != X86_INS_INT3 && functions_copy(to, insn);
}

#endif
