/* Which instructions make what another one waits for, as far as its stall reason fits. */
#include <string.h>

#include "analyse/annotate/private.h"
#include "sym/device/sass.h"
#include "sym/device/stalls.h"

enum { WAITS_LOOKED_AT = 32 }; /* producers of one instruction */

/* The earlier instruction whose result @insn waited for most; NULL: none. */
static const struct af_stall *insn_awaits(const struct annotation *a,
                                          const struct annotated_insn *insn)
{
	const struct af_stall *most = NULL;
	double samples = 0;

	for (uint32_t k = insn->first; k < insn->first + insn->nr; k++) {
		const struct af_sampled_at *at = &a->function->at[k];
		const struct af_stall *stall =
		    af_stall_find(af_strtab_get(&a->s->strings, a->s->reasons[at->reason]));
		if (!at->reason || !stall || !stall->awaits || at->samples <= samples)
			continue;
		most = stall;
		samples = at->samples;
	}
	return most;
}

/* Does @name get its result from outside of the multiprocessor? */
static bool is_far(const char *name)
{
	static const char *const near[] = {"LDS", "LDSM", "LDC", "LDCU", "LDTM", "ATOMS", NULL};
	static const char *const far[] = {"LD", "TEX",  "TLD", "TXD", "TXQ",
	                                  "SU", "ATOM", "RED", NULL};

	for (int i = 0; near[i]; i++)
		if (!strcmp(name, near[i]))
			return false;
	for (int i = 0; far[i]; i++)
		if (!strncmp(name, far[i], strlen(far[i])))
			return true;
	return false;
}

/* Can the result of the instruction at @bytes be what a stall of that kind waits for? */
static bool is_awaited(uint32_t sm, const uint8_t *bytes, const struct af_stall *stall)
{
	struct af_sass sass;

	af_sass_decode(sm, bytes, &sass);
	bool barrier =
	    sass.write_barrier != AF_SASS_NO_BARRIER || sass.read_barrier != AF_SASS_NO_BARRIER;
	if (!strcmp(stall->key, "wait"))
		return !barrier;
	if (!strcmp(stall->key, "long_scoreboard"))
		return barrier && sass.name && is_far(sass.name);
	if (!strcmp(stall->key, "short_scoreboard"))
		return barrier && !(sass.name && is_far(sass.name));
	return true;
}

void annotation_waits(struct annotation *a, struct annotated_insn *insn)
{
	const struct af_code_function *cf = af_code_function(a->code, (uint32_t)a->index);
	const struct af_stall *stall = insn_awaits(a, insn);
	uint32_t found[WAITS_LOOKED_AT], sm = af_code_sm(a->code);

	if (!sm || !cf->bytes || insn->offset >= cf->size || !stall)
		return;
	uint32_t nr =
	    af_sass_producers(sm, cf->bytes, cf->size, insn->offset, found, WAITS_LOOKED_AT);
	for (uint32_t i = 0; i < nr && insn->nr_waits < ANNOTATE_WAITS; i++)
		if (is_awaited(sm, cf->bytes + found[i], stall))
			insn->waits[insn->nr_waits++] = found[i];
}
