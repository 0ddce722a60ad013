#include "sym/elf/frame_rules.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "sym/elf/unpack.h"

enum {
	RULES_ADDRESSES = 4 << 20, /* of a file, that are remembered */
	RULES_DIFFERENT = 1 << 14, /* and of rules; real files have hundreds */
};

/* Where nothing says more. */
static const struct af_frame_rule no_rule = {.kind = AF_FRAME_NO_RULE};

void af_frame_rules_open(struct af_frame_rules *r, const struct af_elf *elf)
{
	const uint8_t *bytes;
	uint64_t size;

	*r = (struct af_frame_rules){0};
	if (!af_machine(elf->machine) || elf->is_32)
		return;
	af_cfi_open(&r->tables[0], elf, AF_CFI_INDEX_MAX, NULL);
	/* Go's compiler writes this kind only. */
	if (!af_unpack_section(elf, ".debug_frame", &bytes, &size, &r->unpacked))
		af_cfi_open_debug(&r->tables[1], elf->machine, bytes, size);
}

void af_frame_rules_close(struct af_frame_rules *r)
{
	af_cfi_close(&r->tables[0]);
	af_cfi_close(&r->tables[1]);
	free(r->unpacked);
	af_map_free(&r->by_address);
	af_keys_free(&r->rules);
	af_arena_free(&r->memory);
	*r = (struct af_frame_rules){0};
}

/* Copy the tables' current rule into r->last. */
static const struct af_frame_rule *rule_read(struct af_frame_rules *r, uint64_t vaddr)
{
	struct af_frame_rule *rule = &r->last;
	int rc = -ENOENT;

	*rule = no_rule;
	for (int i = 0; i < 2 && rc && rc != -ENOTSUP; i++) {
		uint32_t insns = AF_CFI_INSNS_MAX;
		rc = af_cfi_row(&r->tables[i], vaddr, &insns, &rule->row);
		rule->image = &r->tables[i].image;
	}
	rule->kind = rc == -ENOTSUP ? AF_FRAME_BAD_RULE : AF_FRAME_RULE;
	return rc && rc != -ENOTSUP ? &no_rule : rule;
}

/* The same rule in memory that stays: an equal one that is there already, or a copy. */
static const struct af_frame_rule *rule_keep(struct af_frame_rules *r,
                                             const struct af_frame_rule *rule)
{
	if (rule == &no_rule)
		return rule;
	struct {
		uint64_t kind, image;
		struct af_cfi_row row;
	} key = {rule->kind, (uintptr_t)rule->image, rule->row};
	size_t size = offsetof(typeof(key), row) + af_cfi_row_size(r->tables[0].machine);
	uint64_t *known = af_keys_get(&r->rules, &key, size);

	if (known)
		return (const struct af_frame_rule *)(uintptr_t)*known;
	if (r->rules.nr >= RULES_DIFFERENT)
		return NULL;
	struct af_frame_rule *kept = af_arena_alloc(&r->memory, sizeof *kept);
	*kept = *rule;
	*af_keys_at(&r->rules, &key, size, NULL) = (uintptr_t)kept;
	return kept;
}

const struct af_frame_rule *af_frame_rule(struct af_frame_rules *r, uint64_t vaddr)
{
	if (!r->tables[0].has_tables && !r->tables[1].has_tables)
		return &no_rule;
	uint64_t *known = af_map_get(&r->by_address, vaddr);
	if (known)
		return (const struct af_frame_rule *)(uintptr_t)*known;
	const struct af_frame_rule *rule = rule_read(r, vaddr), *kept = rule_keep(r, rule);
	if (kept && r->by_address.nr < RULES_ADDRESSES)
		*af_map_at(&r->by_address, vaddr, NULL) = (uintptr_t)kept;
	return rule;
}
