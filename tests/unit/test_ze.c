/* The pure parts of the Level Zero collector: arithmetic of timers, kernels in zebins. */
#include <elf.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/intel/zebin.h"
#include "inject/ze/metric.h"
#include "inject/ze/timer.h"

#define HZ 19200000ull

static void ticks_become_nanoseconds(void **state)
{
	(void)state;
	assert_int_equal(af_timer_ns(HZ, HZ), 1000000000);
	assert_int_equal(af_timer_ns(3, HZ), 156); /* 156.25 */
	assert_int_equal(af_timer_ns(12, HZ), 625);
	assert_int_equal(af_timer_ticks(625, HZ), 12);
	assert_int_equal(af_timer_ns(5, 12500000), 400);
	/* Ten years, to the nanosecond. */
	uint64_t long_ago = HZ * 315360000 + 12;
	assert_int_equal(af_timer_ns(long_ago, HZ), 315360000000000625);
	assert_int_equal(af_timer_ticks(315360000000000625, HZ), long_ago);
	assert_int_equal(af_timer_ns(AF_TIMER_HZ_MAX - 1ull, AF_TIMER_HZ_MAX), 999999999);
}

static void stamps_of_few_bits_come_round(void **state)
{
	(void)state;
	assert_int_equal(af_timer_mask(32), UINT32_MAX);
	assert_int_equal(af_timer_mask(64), UINT64_MAX);
	assert_int_equal(af_timer_mask(0), UINT64_MAX);
	assert_int_equal(af_timer_from(0x10, 32, 0xfffffff0), 0x100000010);
	assert_int_equal(af_timer_from(0xfffffff0, 32, 0xfffffff0), 0xfffffff0);
	assert_int_equal(af_timer_from(0xffffffef, 32, 0xfffffff0), 0x1ffffffef);
	assert_int_equal(af_timer_from(7, 64, 3), 7);
}

static void the_nearest_time_is_found(void **state)
{
	(void)state;
	/* A pair a little before and after the timer came round, and half of its way. */
	assert_int_equal(af_timer_near(5, 36, (1ull << 36) - 5), (1ull << 36) + 5);
	assert_int_equal(af_timer_near((1ull << 36) - 5, 36, (1ull << 36) + 5), (1ull << 36) - 5);
	assert_int_equal(af_timer_near(5, 36, 5), 5);
	assert_int_equal(af_timer_near(0, 8, 0), 0);
	assert_int_equal(af_timer_near(123, 64, 9), 123);
}

/* A zebin of two kernels, whose symbols are the second and the third. */
struct zebin {
	Elf64_Ehdr head;
	char strings[64];
	uint8_t code[32];
	Elf64_Sym symbols[4];
	Elf64_Shdr sections[5];
};

#define STRINGS "\0.symtab\0.text.one\0.text.two\0.strtab"

static void zebin_make(struct zebin *z)
{
	*z = (struct zebin){
	    .head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	             .e_type = ET_REL,
	             .e_machine = AF_ZEBIN_MACHINE,
	             .e_version = EV_CURRENT,
	             .e_shoff = offsetof(struct zebin, sections),
	             .e_shentsize = sizeof(Elf64_Shdr),
	             .e_shnum = 5,
	             .e_shstrndx = 4},
	    .symbols =
		{{0},
	         {.st_name = 24, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), .st_shndx = 2},
	         {.st_name = 24, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_shndx = 3},
	         {.st_name = 15, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_shndx = 2}},
	    .sections = {{0},
	                 {.sh_name = 1,
	                  .sh_type = SHT_SYMTAB,
	                  .sh_offset = offsetof(struct zebin, symbols),
	                  .sh_size = sizeof z->symbols,
	                  .sh_link = 4,
	                  .sh_entsize = sizeof(Elf64_Sym)},
	                 {.sh_name = 9,
	                  .sh_type = SHT_PROGBITS,
	                  .sh_offset = offsetof(struct zebin, code),
	                  .sh_size = 24},
	                 {.sh_name = 19,
	                  .sh_type = SHT_PROGBITS,
	                  .sh_offset = offsetof(struct zebin, code) + 24,
	                  .sh_size = 8},
	                 {.sh_name = 29,
	                  .sh_type = SHT_STRTAB,
	                  .sh_offset = offsetof(struct zebin, strings),
	                  .sh_size = sizeof z->strings}},
	};
	memcpy(z->strings, STRINGS, sizeof STRINGS);
	/* ".text.one" begins at 9, "one" at 15; ".text.two" at 19, "two" at 25. */
	z->symbols[1].st_name = z->symbols[2].st_name = 25;
}

static void kernels_have_size_and_symbol(void **state)
{
	struct af_zebin_kernel k;
	struct zebin z;
	(void)state;

	zebin_make(&z);
	assert_true(af_zebin_is(&z, sizeof z));
	assert_false(af_zebin_has_lines(&z, sizeof z));
	assert_true(af_zebin_kernel(&z, sizeof z, "one", &k));
	assert_int_equal(k.size, 24);
	assert_int_equal(k.symbol, 3);
	assert_true(af_zebin_kernel(&z, sizeof z, "two", &k));
	assert_int_equal(k.size, 8);
	assert_int_equal(k.symbol, 2);
	assert_false(af_zebin_kernel(&z, sizeof z, "three", &k));
	assert_false(af_zebin_kernel(&z, sizeof z, "", &k));
}

static void other_objects_have_no_kernels(void **state)
{
	struct af_zebin_kernel k;
	struct zebin z;
	(void)state;

	zebin_make(&z);
	z.head.e_machine = EM_X86_64;
	assert_false(af_zebin_is(&z, sizeof z));
	assert_false(af_zebin_kernel(&z, sizeof z, "one", &k));
	assert_false(af_zebin_kernel(NULL, 0, "one", &k));
	assert_false(af_zebin_has_lines("\177ELF", 4));
}

/* Every length, and names as long as there are. */
static void damage_is_no_fault(void **state)
{
	char *name = calloc(1, 8192);
	struct af_zebin_kernel k;
	struct zebin z;
	(void)state;

	zebin_make(&z);
	memset(name, 'x', 8191);
	assert_false(af_zebin_kernel(&z, sizeof z, name, &k));
	free(name);
	for (size_t size = 0; size < sizeof z; size++) {
		void *copy = malloc(size + 1);
		memcpy(copy, &z, size);
		assert_false(af_zebin_kernel(copy, size, "one", &k));
		free(copy);
	}
	z.sections[1].sh_link = 77;
	assert_true(af_zebin_kernel(&z, sizeof z, "one", &k));
	assert_int_equal(k.symbol, 0);
	z.sections[2].sh_size = UINT64_MAX;
	assert_false(af_zebin_kernel(&z, sizeof z, "one", &k));
}

static void values_of_metrics_are_whole(void **state)
{
	const struct af_ze_metric metrics[] = {
	    {7, 1}, {8, 1}, {9, 1000000}, {10, 1000000}, {11, 1}};
	const struct af_ze_value values[] = {{AF_ZE_VALUE_UINT64, {.u64 = UINT64_MAX}},
	                                     {AF_ZE_VALUE_UINT32, {.u32 = UINT32_MAX}},
	                                     {AF_ZE_VALUE_FLOAT32, {.f32 = 12.34f}},
	                                     {AF_ZE_VALUE_FLOAT64, {.f64 = 0}},
	                                     {AF_ZE_VALUE_BOOL8, {.b8 = 2}}};
	const uint64_t same[] = {7, UINT64_MAX, 8, UINT32_MAX, 9, 12340000, 10, 0, 11, 1};
	uint64_t pairs[10];
	uint32_t left_out;

	(void)state;
	assert_int_equal(af_ze_values(metrics, 5, values, pairs, &left_out), 5);
	assert_int_equal(left_out, 0);
	assert_memory_equal(pairs, same, sizeof same);
}

static void values_that_are_none_are_left_out(void **state)
{
	const struct af_ze_metric m[] = {{1, 1000000}, {2, 1000000}, {3, 1000000}, {4, 1000000},
	                                 {5, 1000000}, {6, 1000000}, {7, 1000000}};
	const struct af_ze_value values[] = {{AF_ZE_VALUE_FLOAT64, {.f64 = -0.5}},
	                                     {AF_ZE_VALUE_FLOAT64, {.f64 = (double)NAN}},
	                                     {AF_ZE_VALUE_FLOAT64, {.f64 = (double)INFINITY}},
	                                     {AF_ZE_VALUE_FLOAT64, {.f64 = 1.8446744073710e13}},
	                                     {AF_ZE_VALUE_UINT64, {.u64 = UINT64_MAX}},
	                                     {77, {.u64 = 1}},
	                                     {AF_ZE_VALUE_FLOAT64, {.f64 = 1.8446744073709e13}}};
	uint64_t pairs[14];
	uint32_t left_out;

	(void)state;
	assert_int_equal(af_ze_values(m, 7, values, pairs, &left_out), 1);
	assert_int_equal(left_out, 6);
	assert_int_equal(pairs[0], 7);
	assert_in_range(pairs[1], 18446744073708990000u, 18446744073709010000u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ticks_become_nanoseconds),
	    cmocka_unit_test(stamps_of_few_bits_come_round),
	    cmocka_unit_test(the_nearest_time_is_found),
	    cmocka_unit_test(kernels_have_size_and_symbol),
	    cmocka_unit_test(other_objects_have_no_kernels),
	    cmocka_unit_test(damage_is_no_fault),
	    cmocka_unit_test(values_of_metrics_are_whole),
	    cmocka_unit_test(values_that_are_none_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
