#include "sym/device/sass.h"

#include <stdio.h>
#include <string.h>

enum { SASS_NAMES = 0x200, SASS_WIDEST = 128 };

struct sass_opcode {
	uint16_t opcode;
	uint16_t since, until; /* sm; until 0: all that are known */
	const char *name, *operands;
};

static const struct sass_opcode sass_opcodes[] = {
#include "sym/device/sass_opcodes.inc"
};

static uint64_t sass_word(const uint8_t *bytes)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | bytes[i];
	return v;
}

/* An instruction under way. */
struct sass_bits {
	uint64_t low, high;
	uint32_t sm;
	bool uniform; /* all its registers and predicates are */
};

static uint32_t sass_field(const struct sass_bits *b, unsigned at, unsigned nr)
{
	uint64_t v = at < 64 ? b->low >> at : b->high >> (at - 64);

	if (at < 64 && at + nr > 64)
		v |= b->high << (64 - at);
	return (uint32_t)(v & ((UINT64_C(1) << nr) - 1));
}

static const struct sass_opcode *sass_find(uint32_t sm, uint16_t opcode)
{
	for (size_t i = 0; i < sizeof sass_opcodes / sizeof *sass_opcodes; i++) {
		const struct sass_opcode *o = &sass_opcodes[i];

		if ((o->opcode < SASS_NAMES ? opcode % SASS_NAMES : opcode) == o->opcode &&
		    sm >= o->since && (!o->until || sm <= o->until))
			return o;
	}
	return NULL;
}

static void sass_control(const struct sass_bits *b, struct af_sass *out)
{
	out->opcode = (uint16_t)sass_field(b, 0, 12);
	out->guard = (uint8_t)sass_field(b, 12, 3);
	out->guard_negated = sass_field(b, 15, 1);
	out->stall_cycles = (uint8_t)sass_field(b, 105, 4);
	out->yield = !sass_field(b, 109, 1);
	out->write_barrier = (uint8_t)sass_field(b, 110, 3);
	out->read_barrier = (uint8_t)sass_field(b, 113, 3);
	out->wait_mask = (uint8_t)sass_field(b, 116, 6);
	out->reuse = (uint8_t)sass_field(b, 122, 4);
}

static void sass_add(const struct sass_bits *b, struct af_sass_set *set, bool uniform, unsigned at,
                     uint32_t nr)
{
	uint32_t none = uniform && b->sm < 100 ? 63 : 255;
	uint32_t first = sass_field(b, at, none == 63 ? 6 : 8);
	uint64_t *bits = uniform ? set->u : set->r;

	for (uint32_t i = first; i < first + nr && i < none; i++)
		bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static void sass_predicate(const struct sass_bits *b, struct af_sass_set *set, bool uniform,
                           unsigned at)
{
	uint32_t predicate = sass_field(b, at, 3);

	if (predicate != AF_SASS_ALWAYS)
		*(uniform ? &set->up : &set->p) |= (uint8_t)(1 << predicate);
}

/*
 * The second or third operand, by bits 9 to 11, unless it is an immediate. A place in the constant
 * bank may be addressed by a pair of uniform registers.
 */
static void sass_source(const struct sass_bits *b, struct af_sass *out, bool third, uint32_t nr)
{
	static const uint8_t at[8][2] = {
	    [1] = {32, 64}, [2] = {64, 0},  [3] = {64, 0}, [4] = {0, 64},
	    [5] = {0, 64},  [6] = {32, 64}, [7] = {64, 32}};
	uint32_t form = sass_field(b, 9, 3);
	bool uniform = b->uniform || (form == 6 && !third) || (form == 7 && third);
	bool constant = (form == 3 && third) || (form == 5 && !third);

	if (at[form][third])
		sass_add(b, &out->reads, uniform, at[form][third], nr);
	else if (constant && sass_field(b, 91, 1))
		sass_add(b, &out->reads, true, 32, 2);
}

/* The number of registers of an operand that the table marks with @letter and then @next. */
static uint32_t sass_width(const struct sass_bits *b, char letter, char next)
{
	uint32_t size = sass_field(b, 73, 3);

	switch (next) {
	case '*':
		return size == 5 ? 2 : size >= 6 ? 4 : 1;
	case '%':
		return size == 2 || size == 5 || size == 6 ? 2 : 1;
	case '^':
		return size == 7 ? 2 : 1;
	case '&':
		return UINT32_C(1) << sass_field(b, 72, 2);
	case '+':
		return 1 + sass_field(b, 80, 1);
	case '!':
		return 1 + sass_field(b, 73, 1);
	case '@':
		return 1 +
		       (sass_field(b, 72, 1) && (!sass_field(b, 91, 1) || sass_field(b, 90, 1)));
	case '=':
		return 1 +
		       (sass_field(b, 72, 1) && !(sass_field(b, 91, 1) && sass_field(b, 90, 1)));
	}
	return letter >= 'A' && letter <= 'Z' ? 2 : 1;
}

/* Components of a texture: the first two are in the first register, the others in another one. */
static void sass_texture(const struct sass_bits *b, struct af_sass *out)
{
	uint32_t nr = (uint32_t)__builtin_popcount(sass_field(b, 72, 4));
	bool is_line = !sass_field(b, 61, 3);

	sass_add(b, &out->writes, false, 16, nr < 2 ? nr : 2);
	sass_add(b, &out->writes, false, 64, nr < 2 ? 0 : nr - 2);
	sass_add(b, &out->reads, false, 24, is_line ? 1 : 2);
	sass_add(b, &out->reads, false, 32, 1);
	sass_predicate(b, &out->writes, false, 81);
}

/* D = A B + C of a warp group: B is in shared memory, and so is A unless it is in registers. */
static void sass_group_matrix(const struct sass_bits *b, struct af_sass *out)
{
	uint32_t nr = (sass_field(b, 53, 5) + 1) * (sass_field(b, 75, 1) ? 4 : 2);
	bool registers = sass_field(b, 9, 3) == 6;

	sass_add(b, &out->writes, false, 16, nr);
	sass_add(b, &out->reads, false, 64, nr);
	sass_add(b, &out->reads, true, registers ? 32 : 24, 4);
	if (registers)
		sass_add(b, &out->reads, false, 24, 4);
}

/*
 * The same for a single warp. The decoder does not know the sizes of integer types, and assumes the
 * largest.
 */
static void sass_matrix(const struct sass_bits *b, struct af_sass *out)
{
	bool is_half = !strcmp(out->name, "HMMA"), small = b->sm < 80 && !is_half;
	uint32_t d = small ? 2 : 4, a_regs = small ? 1 : 4, b_regs = small ? 1 : 2;

	if (is_half) {
		d = sass_field(b, 76, 1) || sass_field(b, 78, 1) ? 4 : 2;
		b_regs = 1 + sass_field(b, 75, 1);
		a_regs = 2 * b_regs;
	} else if (!strcmp(out->name, "DMMA")) {
		a_regs = 2;
	}
	sass_add(b, &out->writes, false, 16, d);
	sass_add(b, &out->reads, false, 24, a_regs);
	sass_add(b, &out->reads, false, 32, b_regs);
	sass_add(b, &out->reads, false, 64, d);
}

/* Operands without a letter. */
static void sass_shape(const struct sass_bits *b, struct af_sass *out, char letter)
{
	if (letter == 'k')
		sass_texture(b, out);
	if (letter == 'm')
		(out->opcode & 0x1f0) == 0x1f0 ? sass_group_matrix(b, out) : sass_matrix(b, out);
	if (letter == 'n') {
		sass_add(b, &out->writes, false, 16, 1 + (sass_field(b, 75, 2) == 3));
		sass_source(b, out, false, 1 + (sass_field(b, 84, 2) == 3));
	}
	if (letter == 'h' && (1 << sass_field(b, 9, 3) & 6))
		sass_add(b, &out->reads, false, 32, 1);
	if (letter == 'h' && (1 << sass_field(b, 9, 3) & 0x12))
		sass_add(b, &out->reads, false, 64, 1);
}

static void sass_register(const struct sass_bits *b, struct af_sass *out, char letter, uint32_t nr)
{
	char lower = (char)(letter | 0x20);

	if (lower == 'd')
		sass_add(b, &out->writes, b->uniform, 16, nr);
	else if (lower == 'w')
		sass_add(b, &out->writes, true, 16, nr);
	else if (lower == 'a')
		sass_add(b, &out->reads, b->uniform, 24, nr);
	else if (lower == 'b' || lower == 'c')
		sass_source(b, out, lower == 'c', nr);
	else if (lower == 't')
		sass_source(b, out, sass_field(b, 9, 3) != 1, nr);
	else if (lower == 's' || lower == 'r' || lower == 'i')
		sass_add(b, &out->reads, false, lower == 's' ? 32 : lower == 'r' ? 64 : 16, nr);
	else if ((lower == 'u' || lower == 'v') && sass_field(b, 91, 1))
		sass_add(b, &out->reads, true, lower == 'u' ? 32 : 64, nr);
	else
		sass_shape(b, out, letter);
}

static void sass_predicates(const struct sass_bits *b, struct af_sass *out, char letter)
{
	static const struct {
		char letter;
		uint8_t at;
	} reads[] = {{'x', 87}, {'y', 77}, {'z', 68}}, writes[] = {{'p', 81}, {'q', 84}, {'o', 81}};

	for (int i = 0; i < 3; i++) {
		if (letter == reads[i].letter)
			sass_predicate(b, &out->reads, b->uniform, reads[i].at);
		if (letter == writes[i].letter)
			sass_predicate(b, &out->writes, b->uniform || letter == 'o', writes[i].at);
	}
}

/*
 * The target of a jump, relative to the next instruction, in units of 4 bytes; the lowest byte is
 * stored apart from the others.
 */
static int64_t sass_target(const struct sass_bits *b)
{
	uint64_t v = b->low >> 34 | (b->high & 0x3ffff) << 30;
	int64_t words = (int64_t)(v << 16) >> 16;

	if (b->sm >= 90)
		words = words * 256 + sass_field(b, 16, 8);
	return AF_SASS_BYTES + words * 4;
}

static void sass_operands(const struct sass_bits *b, struct af_sass *out, const char *operands)
{
	bool always = out->guard == AF_SASS_ALWAYS && !out->guard_negated;

	for (const char *c = operands; *c; c++) {
		sass_register(b, out, *c, sass_width(b, *c, c[1]));
		sass_predicates(b, out, *c);
		if (*c == 'x')
			always = always && sass_field(b, 87, 4) == AF_SASS_ALWAYS;
		if (*c == 'g') {
			unsigned at = b->sm < 100 ? 68 : 24;

			sass_predicate(b, &out->reads, true, at);
			always = always && sass_field(b, at, 4) == AF_SASS_ALWAYS;
		}
		if (*c == 'j' || *c == 'e')
			out->ends = always;
		if (*c == 'j') {
			out->branches = true;
			out->target = sass_target(b);
		}
	}
}

bool af_sass_decode(uint32_t sm, const uint8_t bytes[AF_SASS_BYTES], struct af_sass *out)
{
	struct sass_bits b = {sass_word(bytes), sass_word(bytes + 8), sm, false};

	memset(out, 0, sizeof *out);
	sass_control(&b, out);
	const struct sass_opcode *o = sass_find(sm, out->opcode);
	b.uniform = o && *o->operands == 'U';
	out->guard_uniform = b.uniform;
	sass_predicate(&b, &out->reads, b.uniform, 12);
	if (!o)
		return false;
	out->name = o->name;
	sass_operands(&b, out, o->operands + b.uniform);
	return true;
}

const char *af_sass_text(const struct af_sass *s, char text[AF_SASS_TEXT_MAX])
{
	int at = 0;

	if (s->guard != AF_SASS_ALWAYS || s->guard_negated)
		at = snprintf(text, AF_SASS_TEXT_MAX, "@%s%sP%c ", s->guard_negated ? "!" : "",
		              s->guard_uniform ? "U" : "", "0123456T"[s->guard]);
	if (s->name)
		snprintf(text + at, (size_t)(AF_SASS_TEXT_MAX - at), "%s", s->name);
	else
		snprintf(text + at, (size_t)(AF_SASS_TEXT_MAX - at), "0x%03x?", s->opcode);
	return text;
}
