/* Unwind tables made byte by byte, and what af_cfi_rule() reads out of them. */
#include "unwind/cfi.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/dwarf.h"

enum {
	ADDRESS = 0x40000,  /* of the image */
	FUNCTION = 0x10000, /* of the code, below it */
	SIZE = 0x100,       /* of each function */
	SP = 7,
	FP = 6,
	RA = 16,
	BASE = 3,
	DRAP = 10,
	R12 = 12,
};

/* An image under construction: one CIE, some FDEs, then the header with its table. */
struct tables {
	uint8_t bytes[4096];
	size_t len, cie, hdr;
	size_t fdes[16];
	unsigned nr_fdes;
	uint8_t encoding; /* of addresses in FDEs */
	bool has_size;
	struct af_cfi cfi;
};

static void put(struct tables *t, const void *bytes, size_t len)
{
	assert_true(t->len + len <= sizeof t->bytes);
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
}

static void put_uint(struct tables *t, uint64_t v, size_t size)
{
	put(t, &v, size);
}

static void put_uleb(struct tables *t, uint64_t v)
{
	do {
		uint8_t byte = v & 0x7f;
		v >>= 7;
		put_uint(t, v ? byte | 0x80u : byte, 1);
	} while (v);
}

static size_t begin(struct tables *t)
{
	put_uint(t, 0, 4);
	return t->len;
}

static void end(struct tables *t, size_t body)
{
	while ((t->len - body) % 4)
		put_uint(t, 0, 1);
	uint32_t len = (uint32_t)(t->len - body);
	memcpy(t->bytes + body - 4, &len, 4);
}

/* Code alignment 1, data alignment -8; on entry the CFA is sp + 8, the return address below it. */
static void put_cie(struct tables *t, uint8_t version, const char *augmentation, const void *data,
                    size_t data_len)
{
	static const uint8_t entry[] = {0x0c, SP, 8, 0x80 | RA, 1};

	t->cie = t->len;
	size_t body = begin(t);
	put_uint(t, 0, 4);
	put_uint(t, version, 1);
	put(t, augmentation, strlen(augmentation) + 1);
	if (version == 4)
		put_uint(t, 8, 2); /* address size, segment size */
	put_uleb(t, 1);
	put_uint(t, 0x78, 1);
	put_uint(t, RA, 1);
	t->has_size = augmentation[0] == 'z';
	if (t->has_size) {
		put_uleb(t, data_len);
		put(t, data, data_len);
	}
	put(t, entry, sizeof entry);
	end(t, body);
}

static void put_address(struct tables *t, uint64_t address)
{
	uint64_t here = ADDRESS + t->len;

	if ((t->encoding & AF_PE_APPLICATION) == AF_PE_ALIGNED) {
		while ((ADDRESS + t->len) % 8)
			put_uint(t, 0xaa, 1);
		put_uint(t, address, 8);
		return;
	}
	if ((t->encoding & AF_PE_APPLICATION) == AF_PE_PCREL)
		address -= here;
	unsigned format = t->encoding & 7;
	put_uint(t, address, format == 3 ? 4 : format == 2 ? 2 : 8);
}

/* Function @i is at FUNCTION + 2 * SIZE * i: there is a gap after each. */
static void put_fde(struct tables *t, const void *insns, size_t len)
{
	uint8_t encoding = t->encoding;
	unsigned i = t->nr_fdes++;

	t->fdes[i] = t->len;
	size_t body = begin(t);
	put_uint(t, body - t->cie, 4);
	put_address(t, FUNCTION + 2 * SIZE * i);
	t->encoding &= AF_PE_FORMAT;
	put_address(t, SIZE);
	t->encoding = encoding;
	if (t->has_size)
		put_uleb(t, 0);
	put(t, insns, len);
	end(t, body);
}

/* The header; its table has sdata4 offsets from the header, or @encoding. */
static void finish_with(struct tables *t, uint8_t encoding)
{
	put_uint(t, 0, 4); /* terminator */
	t->hdr = t->len;
	uint64_t data = (encoding & AF_PE_APPLICATION) == AF_PE_DATAREL ? ADDRESS + t->hdr : 0;
	size_t size = (encoding & 7) == 3 ? 4 : 8;
	put_uint(t, 1, 1);
	put_uint(t, AF_PE_PCREL | AF_PE_SDATA4, 1);
	put_uint(t, encoding == AF_PE_OMIT ? AF_PE_OMIT : AF_PE_UDATA4, 1);
	put_uint(t, encoding, 1);
	put_uint(t, -(uint64_t)t->len, 4); /* .eh_frame is where the image begins */
	if (encoding != AF_PE_OMIT) {
		put_uint(t, t->nr_fdes, 4);
		for (unsigned i = 0; i < t->nr_fdes; i++) {
			put_uint(t, FUNCTION + 2 * SIZE * i - data, size);
			put_uint(t, ADDRESS + t->fdes[i] - data, size);
		}
	}
	t->cfi = (struct af_cfi){
	    .image = {t->bytes, t->len, ADDRESS}, .machine = af_machine(EM_X86_64), .hdr = t->hdr};
}

static void finish(struct tables *t)
{
	finish_with(t, AF_PE_DATAREL | AF_PE_SDATA4);
}

static int rule_at(const struct tables *t, uint64_t offset, struct af_rule *rule)
{
	uint32_t insns = AF_CFI_INSNS_MAX;

	memset(rule, 0xee, sizeof *rule);
	return af_cfi_rule(&t->cfi, FUNCTION + offset, &insns, rule);
}

static void start(struct tables *t)
{
	static const uint8_t pcrel4 = AF_PE_PCREL | AF_PE_SDATA4;

	memset(t, 0, sizeof *t);
	t->encoding = pcrel4;
	put_cie(t, 1, "zR", &pcrel4, 1);
}

/* One function with these instructions and the usual tables around it. */
static void one_function(struct tables *t, const void *insns, size_t len)
{
	start(t);
	put_fde(t, insns, len);
	finish(t);
}

#define ONE_FUNCTION(t, ...)                                                                       \
	do {                                                                                       \
		static const uint8_t insns_[] = {__VA_ARGS__};                                     \
		one_function(t, insns_, sizeof insns_);                                            \
	} while (0)

static void assert_cfa(const struct tables *t, uint64_t offset, int cfa, int cfa_offset)
{
	struct af_rule rule;

	assert_int_equal(rule_at(t, offset, &rule), 0);
	assert_int_equal(rule.cfa, cfa);
	assert_int_equal(rule.cfa_offset, cfa_offset);
	assert_int_equal(rule.ra_offset, -8);
	assert_false(rule.exact);
}

static void assert_fp(const struct tables *t, uint64_t offset, int fp, int fp_offset)
{
	struct af_rule rule;

	assert_int_equal(rule_at(t, offset, &rule), 0);
	assert_int_equal(rule.fp, fp);
	assert_int_equal(rule.fp_offset, fp_offset);
}

static void rows_follow_the_prologue(void **state)
{
	struct tables t;

	/* push %rbp; mov %rsp,%rbp; …; leave; ret */
	ONE_FUNCTION(&t, 0x41, 0x0e, 16, 0x80 | FP, 2, 0x43, 0x0d, FP, 0x02, 0x80, 0x0c, SP, 8);
	assert_cfa(&t, 0, AF_CFA_SP, 8);
	assert_fp(&t, 0, AF_SAVED_SAME, 0);
	assert_cfa(&t, 1, AF_CFA_SP, 16);
	assert_fp(&t, 1, AF_SAVED_CFA, -16);
	assert_cfa(&t, 3, AF_CFA_SP, 16);
	assert_cfa(&t, 4, AF_CFA_FP, 16);
	assert_cfa(&t, 0x83, AF_CFA_FP, 16);
	assert_cfa(&t, 0x84, AF_CFA_SP, 8);
	assert_cfa(&t, SIZE - 1, AF_CFA_SP, 8);
}

static void advances_of_every_width_are_followed(void **state)
{
	struct tables t;

	ONE_FUNCTION(&t, 0x02, 1, 0x0e, 16, 0x03, 2, 0, 0x0e, 24, 0x04, 3, 0, 0, 0, 0x0e, 32, 0x1d,
	             4, 0, 0, 0, 0, 0, 0, 0, 0x0e, 40);
	assert_cfa(&t, 0, AF_CFA_SP, 8);
	assert_cfa(&t, 1, AF_CFA_SP, 16);
	assert_cfa(&t, 3, AF_CFA_SP, 24);
	assert_cfa(&t, 6, AF_CFA_SP, 32);
	assert_cfa(&t, 10, AF_CFA_SP, 40);
}

static void set_loc_takes_an_encoded_address(void **state)
{
	struct tables t;
	uint8_t insns[7] = {0x01};

	start(&t);
	/* The FDE begins with length, id, two addresses and the augmentation's size: 17 bytes. */
	int32_t distance = (int32_t)(FUNCTION + 0x20 - (ADDRESS + t.len + 17 + 1));
	memcpy(insns + 1, &distance, 4);
	insns[5] = 0x0e;
	insns[6] = 64;
	put_fde(&t, insns, sizeof insns);
	finish(&t);
	assert_cfa(&t, 0x1f, AF_CFA_SP, 8);
	assert_cfa(&t, 0x20, AF_CFA_SP, 64);
}

static void states_are_remembered_and_restored(void **state)
{
	struct tables t;

	ONE_FUNCTION(&t, 0x41, 0x0e, 16, 0x80 | FP, 2, 0x41, 0x0a, 0x0e, 8, 0xc0 | FP, 0x41, 0x0b,
	             0x41, 0x06, FP);
	assert_cfa(&t, 1, AF_CFA_SP, 16);
	assert_cfa(&t, 2, AF_CFA_SP, 8);
	assert_fp(&t, 2, AF_SAVED_SAME, 0);
	assert_cfa(&t, 3, AF_CFA_SP, 16);
	assert_fp(&t, 3, AF_SAVED_CFA, -16);
	assert_fp(&t, 4, AF_SAVED_SAME, 0);
}

static void realigned_stacks_have_a_cfa_in_memory(void **state)
{
	struct tables t;

	/* DW_CFA_def_cfa_expression: breg6 -8, deref; DW_CFA_expression rbp: breg6 0 */
	ONE_FUNCTION(&t, 0x41, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, FP, 2, 0x76, 0);
	assert_cfa(&t, 1, AF_CFA_FP_DEREF, -8);
	assert_fp(&t, 1, AF_SAVED_FP, 0);

	ONE_FUNCTION(&t, 0x0f, 3, 0x77, 0x10, 0x06, 0x10, FP, 2, 0x77, 0x20);
	assert_cfa(&t, 1, AF_CFA_SP_DEREF, 16);
	assert_fp(&t, 1, AF_SAVED_SP, 32);

	ONE_FUNCTION(&t, 0x0f, 2, 0x77, 0x10);
	assert_cfa(&t, 1, AF_CFA_SP, 16);
}

static void frames_in_a_base_register_are_followed(void **state)
{
	struct tables t;
	struct af_rule rule;

	ONE_FUNCTION(&t, 0x0d, DRAP, 0x41, 0x0c, BASE, 24, 0x80 | BASE, 3);
	assert_cfa(&t, 0, AF_CFA_DRAP, 8);
	assert_cfa(&t, 1, AF_CFA_BASE, 24);
	assert_int_equal(rule_at(&t, 1, &rule), 0);
	assert_int_equal(rule.base, AF_SAVED_CFA);
	assert_int_equal(rule.base_offset, -24);
}

static void linkage_tables_are_known_by_their_expression(void **state)
{
	struct tables t;

	ONE_FUNCTION(&t, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	assert_cfa(&t, 1, AF_CFA_PLT, 11);
}

static void saved_frame_pointers_come_in_many_ways(void **state)
{
	struct tables t;

	ONE_FUNCTION(&t, 0x05, FP, 3, 0x41, 0x11, FP, 0x7d, 0x41, 0x2f, FP, 4, 0x41, 0x14, FP, 5,
	             0x41, 0x15, FP, 0x7a, 0x41, 0x07, FP, 0x41, 0x08, FP, 0x41, 0x09, FP, 3, 0x41,
	             0x16, FP, 1, 0x30);
	assert_fp(&t, 0, AF_SAVED_CFA, -24);   /* offset_extended */
	assert_fp(&t, 1, AF_SAVED_CFA, 24);    /* offset_extended_sf, -3 * -8 */
	assert_fp(&t, 2, AF_SAVED_CFA, 32);    /* GNU_negative_offset_extended */
	assert_fp(&t, 3, AF_SAVED_VALUE, -40); /* val_offset */
	assert_fp(&t, 4, AF_SAVED_VALUE, 48);  /* val_offset_sf */
	assert_fp(&t, 5, AF_SAVED_LOST, 0);    /* undefined */
	assert_fp(&t, 6, AF_SAVED_SAME, 0);    /* same_value */
	assert_fp(&t, 7, AF_SAVED_LOST, 0);    /* in a register */
	assert_fp(&t, 8, AF_SAVED_LOST, 0);    /* val_expression */
}

static void signed_definitions_are_factored(void **state)
{
	struct tables t;

	ONE_FUNCTION(&t, 0x12, SP, 0x7e, 0x41, 0x13, 0x7c, 0x41, 0x2e, 32, 0x2d);
	assert_cfa(&t, 0, AF_CFA_SP, 16);
	assert_cfa(&t, 1, AF_CFA_SP, 32);
	assert_cfa(&t, 2, AF_CFA_SP, 32); /* GNU_args_size changes nothing */
}

static void other_registers_are_read_over(void **state)
{
	struct tables t;

	ONE_FUNCTION(&t, 0x8f, 2, 0xcf, 0x05, 12, 4, 0x10, 13, 2, 0x77, 8, 0x07, 14, 0x0e, 24);
	assert_cfa(&t, 0, AF_CFA_SP, 24);
	assert_fp(&t, 0, AF_SAVED_SAME, 0);
}

static void an_undefined_return_address_is_the_end(void **state)
{
	struct tables t;
	struct af_rule rule;

	ONE_FUNCTION(&t, 0x07, RA);
	assert_int_equal(rule_at(&t, 5, &rule), 0);
	assert_int_equal(rule.cfa, AF_CFA_END);
}

static void what_cannot_be_expressed_is_not_supported(void **state)
{
	struct tables t;
	struct af_rule rule;

	ONE_FUNCTION(&t, 0x0d, R12);
	assert_int_equal(rule_at(&t, 0, &rule), -ENOTSUP);
	ONE_FUNCTION(&t, 0x09, RA, 3);
	assert_int_equal(rule_at(&t, 0, &rule), -ENOTSUP);
	ONE_FUNCTION(&t, 0x0f, 4, 0x77, 8, 0x06, 0x06);
	assert_int_equal(rule_at(&t, 0, &rule), -ENOTSUP);
	ONE_FUNCTION(&t, 0x0f, 0);
	assert_int_equal(rule_at(&t, 0, &rule), -ENOTSUP);
	ONE_FUNCTION(&t, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x10);
	assert_int_equal(rule_at(&t, 0, &rule), -ENOTSUP);
}

static void broken_instructions_are_refused(void **state)
{
	struct tables t;
	struct af_rule rule;

	ONE_FUNCTION(&t, 0x0b);
	assert_int_equal(rule_at(&t, 0, &rule), -EINVAL);
	ONE_FUNCTION(&t, 0x3f);
	assert_int_equal(rule_at(&t, 0, &rule), -EINVAL);
	ONE_FUNCTION(&t, 0x0f, 200, 1, 0x30);
	assert_int_equal(rule_at(&t, 0, &rule), -EINVAL);
	ONE_FUNCTION(&t, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a);
	assert_int_equal(rule_at(&t, 0, &rule), -ENOTSUP);
}

static void what_takes_too_long_is_refused(void **state)
{
	static uint8_t rows[32];
	struct af_cfi_row row;
	struct af_rule rule;
	struct tables t;

	ONE_FUNCTION(&t, 0x0e, 16, 0x0e, 24, 0x0e, 32, 0x00);
	uint32_t need = AF_CFI_INSNS_MAX;
	assert_int_equal(af_cfi_rule(&t.cfi, FUNCTION, &need, &rule), 0);
	need = AF_CFI_INSNS_MAX - need;
	assert_in_range(need, 6, 16); /* two of the CIE, four, and what fills both up */
	for (uint32_t most = 0; most < 2 * need; most++) {
		uint32_t left = most, same = most;
		int rc = most < need ? -E2BIG : 0;
		assert_int_equal(af_cfi_rule(&t.cfi, FUNCTION, &left, &rule), rc);
		assert_int_equal(left, most < need ? 0 : most - need);
		t.cfi.has_tables = true;
		assert_int_equal(af_cfi_row(&t.cfi, FUNCTION, &same, &row), rc);
		assert_int_equal(same, left);
	}
	/* A number of any length is none. */
	memset(rows, 0x80, sizeof rows);
	rows[0] = 0x0e;
	rows[18] = 0;
	one_function(&t, rows, 19);
	assert_int_equal(rule_at(&t, 0, &rule), -EINVAL);
	rows[16] = 0;
	one_function(&t, rows, 17);
	assert_int_equal(rule_at(&t, 0, &rule), 0);
}

static void gaps_between_functions_have_no_rule(void **state)
{
	struct tables t;
	struct af_rule rule;
	static const uint8_t insns[] = {0x0e, 32};

	start(&t);
	for (int i = 0; i < 5; i++)
		put_fde(&t, insns, sizeof insns);
	finish(&t);
	for (uint64_t i = 0; i < 5; i++) {
		assert_cfa(&t, 2 * SIZE * i, AF_CFA_SP, 32);
		assert_cfa(&t, 2 * SIZE * i + SIZE - 1, AF_CFA_SP, 32);
		assert_int_equal(rule_at(&t, 2 * SIZE * i + SIZE, &rule), -ENOENT);
		assert_int_equal(rule_at(&t, 2 * SIZE * i - 1, &rule), -ENOENT);
	}
}

static void every_table_encoding_is_searched(void **state)
{
	static const uint8_t encodings[] = {AF_PE_OMIT, AF_PE_DATAREL | AF_PE_SDATA8, AF_PE_UDATA4,
	                                    AF_PE_ABSPTR, AF_PE_DATAREL | AF_PE_UDATA8};
	static const uint8_t insns[] = {0x0e, 32};
	struct af_rule rule;

	for (unsigned e = 0; e < sizeof encodings; e++) {
		struct tables t;
		start(&t);
		for (int i = 0; i < 4; i++)
			put_fde(&t, insns, sizeof insns);
		finish_with(&t, encodings[e]);
		for (uint64_t i = 0; i < 4; i++)
			assert_cfa(&t, 2 * SIZE * i + 9, AF_CFA_SP, 32);
		assert_int_equal(rule_at(&t, 2 * SIZE * 4, &rule), -ENOENT);
	}
}

static void every_address_encoding_is_read(void **state)
{
	static const uint8_t encodings[] = {AF_PE_ABSPTR,
	                                    AF_PE_UDATA4,
	                                    AF_PE_UDATA8,
	                                    AF_PE_SDATA4,
	                                    AF_PE_PCREL | AF_PE_SDATA8,
	                                    AF_PE_PCREL | AF_PE_UDATA8,
	                                    AF_PE_ALIGNED};

	for (unsigned e = 0; e < sizeof encodings; e++) {
		struct tables t = {.encoding = encodings[e]};
		put_cie(&t, 1, "zR", &encodings[e], 1);
		put_fde(&t, "\x0e\x20", 2);
		finish(&t);
		assert_cfa(&t, 1, AF_CFA_SP, 32);
	}
}

static void every_cie_version_is_read(void **state)
{
	static const uint8_t versions[] = {1, 3, 4};
	static const uint8_t pcrel4 = AF_PE_PCREL | AF_PE_SDATA4;
	struct af_rule rule;

	for (unsigned v = 0; v < sizeof versions; v++) {
		struct tables t = {.encoding = pcrel4};
		put_cie(&t, versions[v], "zR", &pcrel4, 1);
		put_fde(&t, "\x0e\x20", 2);
		finish(&t);
		assert_cfa(&t, 1, AF_CFA_SP, 32);
	}
	struct tables t = {.encoding = pcrel4};
	put_cie(&t, 2, "zR", &pcrel4, 1);
	put_fde(&t, "\x0e\x20", 2);
	finish(&t);
	assert_int_equal(rule_at(&t, 1, &rule), -EINVAL);
}

static void augmentations_are_stepped_over(void **state)
{
	/* P with an indirect pointer, L, R, S, then what nobody knows. */
	static const uint8_t data[] = {0x9b, 1, 2, 3, 4, 0x1b, 0x1b, 99, 98};
	struct tables t = {.encoding = AF_PE_PCREL | AF_PE_SDATA4};
	struct af_rule rule;

	put_cie(&t, 1, "zPLRS?", data, sizeof data);
	put_fde(&t, "\x0e\x20", 2);
	finish(&t);
	assert_int_equal(rule_at(&t, 1, &rule), 0);
	assert_int_equal(rule.cfa_offset, 32);
	assert_true(rule.exact);
}

static void without_augmentation_addresses_are_absolute(void **state)
{
	struct tables t = {.encoding = AF_PE_ABSPTR};

	put_cie(&t, 1, "", NULL, 0);
	put_fde(&t, "\x0e\x20", 2);
	finish(&t);
	assert_cfa(&t, 1, AF_CFA_SP, 32);
}

/* Cut anywhere, an image gives the right rule or an error; never anything else, never a fault. */
static void every_truncation_is_survived(void **state)
{
	struct tables t;
	struct af_rule whole, rule;

	start(&t);
	for (int i = 0; i < 3; i++)
		put_fde(&t, "\x41\x0e\x10\x86\x02\x43\x0d\x06", 8);
	finish(&t);
	assert_int_equal(rule_at(&t, 2 * SIZE + 9, &whole), 0);
	for (size_t len = 0; len < t.len; len++) {
		uint8_t *copy = malloc(len + 1);
		assert_non_null(copy);
		memcpy(copy, t.bytes, len);
		struct tables cut = t;
		cut.cfi.image = (struct af_cfi_image){copy, len, ADDRESS};
		int rc = rule_at(&cut, 2 * SIZE + 9, &rule);
		assert_true(rc < 0 || !memcmp(&rule, &whole, sizeof rule));
		free(copy);
	}
}

static void a_cie_that_is_no_cie_is_refused(void **state)
{
	struct tables t;
	struct af_rule rule;
	uint32_t id;

	ONE_FUNCTION(&t, 0x0e, 32);
	id = 12; /* points into the CIE's body */
	memcpy(t.bytes + t.fdes[0] + 4, &id, 4);
	assert_int_equal(rule_at(&t, 0, &rule), -EINVAL);
	id = 0x7fffffff; /* points before the image */
	memcpy(t.bytes + t.fdes[0] + 4, &id, 4);
	assert_int_equal(rule_at(&t, 0, &rule), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_follow_the_prologue),
	    cmocka_unit_test(advances_of_every_width_are_followed),
	    cmocka_unit_test(set_loc_takes_an_encoded_address),
	    cmocka_unit_test(states_are_remembered_and_restored),
	    cmocka_unit_test(realigned_stacks_have_a_cfa_in_memory),
	    cmocka_unit_test(frames_in_a_base_register_are_followed),
	    cmocka_unit_test(linkage_tables_are_known_by_their_expression),
	    cmocka_unit_test(saved_frame_pointers_come_in_many_ways),
	    cmocka_unit_test(signed_definitions_are_factored),
	    cmocka_unit_test(other_registers_are_read_over),
	    cmocka_unit_test(an_undefined_return_address_is_the_end),
	    cmocka_unit_test(what_cannot_be_expressed_is_not_supported),
	    cmocka_unit_test(broken_instructions_are_refused),
	    cmocka_unit_test(what_takes_too_long_is_refused),
	    cmocka_unit_test(gaps_between_functions_have_no_rule),
	    cmocka_unit_test(every_table_encoding_is_searched),
	    cmocka_unit_test(every_address_encoding_is_read),
	    cmocka_unit_test(every_cie_version_is_read),
	    cmocka_unit_test(augmentations_are_stepped_over),
	    cmocka_unit_test(without_augmentation_addresses_are_absolute),
	    cmocka_unit_test(every_truncation_is_survived),
	    cmocka_unit_test(a_cie_that_is_no_cie_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
