#include "sym/frame_rules.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	RULE_OPS = 32,       /* of an expression; longer ones are not followed */
	RULES_MAX = 4 << 20, /* addresses of a file */
	RULES_PAGE = 4096,
};

/* Where nothing says more, or nothing more is to be kept. */
static const struct af_frame_rule no_rule = {.kind = AF_FRAME_NO_RULE};

static bool has_section(const struct af_elf *e, const char *name)
{
	Elf64_Shdr s;

	return af_elf_named(e, name, &s) && s.sh_type != SHT_NOBITS && s.sh_size;
}

/* libelf unpacks sections by changing headers in its copy of the file. */
static bool let_write(const struct af_elf *e)
{
	uintptr_t at = (uintptr_t)e->data;

	return at % RULES_PAGE == 0 && !mprotect((void *)at, e->size, PROT_READ | PROT_WRITE);
}

void af_frame_rules_open(struct af_frame_rules *r, const struct af_elf *elf)
{
	*r = (struct af_frame_rules){0};
	elf_version(EV_CURRENT);
	if (elf->machine != EM_X86_64 || elf->narrow)
		return;
	r->elf = elf_memory((char *)elf->data, elf->size);
	if (!r->elf)
		return;
	r->frames[0] = dwarf_getcfi_elf(r->elf);
	/* Go's compiler writes this kind only. */
	bool packed = has_section(elf, ".zdebug_frame");
	if (!packed && !has_section(elf, ".debug_frame"))
		return;
	if (!let_write(elf))
		return;
	r->dwarf = dwarf_begin_elf(r->elf, DWARF_C_READ, NULL);
	r->frames[1] = r->dwarf ? dwarf_getcfi(r->dwarf) : NULL;
}

void af_frame_rules_close(struct af_frame_rules *r)
{
	if (r->frames[0])
		dwarf_cfi_end(r->frames[0]);
	if (r->dwarf)
		dwarf_end(r->dwarf);
	if (r->elf)
		elf_end(r->elf);
	af_map_free(&r->by_address);
	af_arena_free(&r->memory);
	*r = (struct af_frame_rules){0};
}

static void value_set(struct af_frame_rules *r, struct af_frame_value *v, const Dwarf_Op *ops,
                      size_t nr)
{
	if (!nr || nr > RULE_OPS)
		return;
	struct af_frame_op *to = af_arena_alloc(&r->memory, nr * sizeof *to);
	for (size_t i = 0; i < nr; i++)
		to[i] = (struct af_frame_op){ops[i].atom, ops[i].number, ops[i].number2};
	v->ops = to;
	v->nr = (uint8_t)nr;
}

/* False: the tables cannot be understood. */
static bool rule_fill(struct af_frame_rules *r, Dwarf_Frame *frame, struct af_frame_rule *rule)
{
	struct af_frame_value saved[AF_FRAME_REGISTERS] = {0};
	Dwarf_Op *ops, memory[3];
	size_t nr;

	int return_address = dwarf_frame_info(frame, NULL, NULL, &rule->signal);
	if (return_address != AF_FRAME_RIP || dwarf_frame_cfa(frame, &ops, &nr))
		return false;
	value_set(r, &rule->cfa, ops, nr);
	for (int reg = 0; reg < AF_FRAME_REGISTERS; reg++) {
		if (dwarf_frame_register(frame, reg, memory, &ops, &nr))
			return false;
		/* libdw 0.188 has rax for rbx among those that stay by default. */
		if (reg == AF_FRAME_RAX || (!nr && (!ops || reg == AF_FRAME_RBX)))
			continue;
		saved[rule->nr].reg = (uint8_t)reg;
		value_set(r, &saved[rule->nr++], ops, nr);
	}
	rule->saved = af_arena_alloc(&r->memory, rule->nr * sizeof *saved);
	for (uint8_t i = 0; i < rule->nr; i++)
		rule->saved[i] = saved[i];
	return rule->cfa.nr;
}

static const struct af_frame_rule *rule_make(struct af_frame_rules *r, uint64_t vaddr)
{
	Dwarf_Frame *frame = NULL;

	for (int i = 0; i < 2 && !frame; i++)
		if (!r->frames[i] || dwarf_cfi_addrframe(r->frames[i], vaddr, &frame))
			frame = NULL;
	if (!frame)
		return &no_rule;
	struct af_frame_rule *rule = af_arena_alloc(&r->memory, sizeof *rule);
	rule->kind = rule_fill(r, frame, rule) ? AF_FRAME_RULE : AF_FRAME_BAD_RULE;
	free(frame);
	return rule;
}

const struct af_frame_rule *af_frame_rule(struct af_frame_rules *r, uint64_t vaddr)
{
	if (!r->frames[0] && !r->frames[1])
		return &no_rule;
	uint64_t *known = af_map_get(&r->by_address, vaddr);
	if (known)
		return (const struct af_frame_rule *)(uintptr_t)*known;
	if (r->by_address.nr >= RULES_MAX)
		return &no_rule;
	const struct af_frame_rule *rule = rule_make(r, vaddr);
	*af_map_at(&r->by_address, vaddr, NULL) = (uintptr_t)rule;
	return rule;
}
