#include "link/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <ar.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link_objects.h"
#include "unwind/elf_file.h"

enum { BASE = 0x10000000, THREAD_ROOM = 64 };
static const uint64_t far_away = 0x7f0000001000;

static struct af_link *linker;
static uint8_t *image;
static struct af_elf elf;

static bool find(void *arg, const char *name, struct af_link_external *e)
{
	if (strcmp(name, "outside"))
		return false;
	*e = (struct af_link_external){far_away, true};
	return true;
}

static void begin(uint16_t machine, uint64_t room)
{
	struct af_link_host host = {
	    .machine = machine,
	    .find = find,
	    .threads = {.tp_offset = -128, .module = 1, .offset = 32, .size = room}};

	linker = af_link_new(&host);
}

static void end(void)
{
	af_link_free(linker);
	free(image);
	image = NULL;
}

/* Objects stay where they are until end() of the last test. */
static int add(const char *name, const struct object *o, struct af_err *err)
{
	static uint8_t room[OBJECT_MOST][OBJECT_SIZE];
	static unsigned next;
	uint8_t *bytes = room[next++ % OBJECT_MOST];

	memset(bytes, 0, OBJECT_SIZE);
	return af_link_add(linker, name, bytes, object_write(o, bytes), err);
}

static int link_all(struct af_err *err)
{
	int rc = af_link_layout(linker, err);

	if (rc)
		return rc;
	image = calloc(1, af_link_file_size(linker));
	rc = af_link_write(linker, BASE, image, err);
	if (!rc)
		assert_int_equal(af_elf_parse(&elf, image, af_link_file_size(linker)), 0);
	return rc;
}

static void link_one(const struct object *o)
{
	struct af_err err = {0};

	begin(o->machine, THREAD_ROOM);
	if (add("one.o", o, &err) || link_all(&err))
		fail_msg("%s", err.msg);
}

/* The bytes at an address of the image. */
static const uint8_t *at(uint64_t address)
{
	uint64_t left;
	const uint8_t *p = af_elf_at(&elf, address, &left);

	assert_non_null(p);
	return p;
}

static uint32_t u32(uint64_t address)
{
	uint32_t v;

	memcpy(&v, at(address), 4);
	return v;
}

static uint64_t u64(uint64_t address)
{
	uint64_t v;

	memcpy(&v, at(address), 8);
	return v;
}

static uint64_t start(void)
{
	uint64_t address = af_link_symbol(linker, "start");

	assert_true(address > BASE);
	return address;
}

#define START                                                                                      \
	{                                                                                          \
		"start", STB_GLOBAL, STT_FUNC, OBJECT_TEXT, 0, 16                                  \
	}
#define OUTSIDE                                                                                    \
	{                                                                                          \
		"outside", STB_GLOBAL, STT_NOTYPE, SHN_UNDEF, 0, 0                                 \
	}

static void test_x86_stub(void **state)
{
	struct object o = {
	    .machine = EM_X86_64,
	    .text_size = 64,
	    .symbols = {START, OUTSIDE, {"thing", STB_GLOBAL, STT_OBJECT, SHN_COMMON, 8, 24}},
	    .relas = {{1, R_X86_64_PLT32, 2, -4},
	              {8, R_X86_64_REX_GOTPCRELX, 2, -4},
	              {16, R_X86_64_PC32, 3, -4},
	              {24, R_X86_64_64, 1, 5},
	              {32, R_X86_64_SIZE64, 3, 0},
	              {40, R_X86_64_GOTPCREL, 1, -4}}};

	link_one(&o);
	uint64_t text = start(), thing = af_link_symbol(linker, "thing");
	uint64_t stub = text + 5 + (uint64_t)(int32_t)u32(text + 1);
	uint64_t slot = text + 12 + (uint64_t)(int32_t)u32(text + 8);
	assert_memory_equal(at(stub), "\xff\x25", 2);
	assert_int_equal(stub + 6 + (uint64_t)(int32_t)u32(stub + 2), slot);
	assert_int_equal(u64(slot), far_away);
	assert_int_equal(text + 20 + (uint64_t)(int32_t)u32(text + 16), thing);
	assert_int_equal(thing % 8, 0);
	assert_int_equal(u64(text + 24), text + 5);
	assert_int_equal(u64(text + 32), 24);
	assert_int_equal(u64(text + 44 + (uint64_t)(int32_t)u32(text + 40)), text);
	end();
}

static void test_x86_threads(void **state)
{
	struct object o = {.machine = EM_X86_64,
	                   .text_size = 64,
	                   .tdata_size = 16,
	                   .symbols = {START, {"var", STB_GLOBAL, STT_TLS, OBJECT_TDATA, 8, 4}},
	                   .relas = {{0, R_X86_64_TPOFF32, 2, 0},
	                             {8, R_X86_64_GOTTPOFF, 2, -4},
	                             {16, R_X86_64_TLSGD, 2, -4},
	                             {24, R_X86_64_TLSLD, 2, -4},
	                             {32, R_X86_64_DTPOFF32, 2, 0}}};
	struct af_err err = {0};

	link_one(&o);
	uint64_t text = start();
	assert_int_equal((int32_t)u32(text), -128 + 8);
	assert_int_equal((int64_t)u64(text + 12 + (uint64_t)(int32_t)u32(text + 8)), -128 + 8);
	uint64_t pair = text + 20 + (uint64_t)(int32_t)u32(text + 16);
	assert_int_equal(u64(pair), 1);
	assert_int_equal(u64(pair + 8), 32 + 8);
	pair = text + 28 + (uint64_t)(int32_t)u32(text + 24);
	assert_int_equal(u64(pair), 1);
	assert_int_equal(u64(pair + 8), 0);
	assert_int_equal(u32(text + 32), 32 + 8);
	end();
	begin(EM_X86_64, 15);
	assert_int_equal(add("one.o", &o, &err), 0);
	assert_int_equal(af_link_layout(linker, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "16 bytes"));
	end();
}

static void test_aarch64(void **state)
{
	struct object o = {
	    .machine = EM_AARCH64,
	    /* bl; adrp x0; add x0, x0; ldr x1, [x0]; adrp x2; ldr x2, [x2]; b.eq */
	    .text = {0,    0,    0, 0x94, 0, 0,    0,    0x90, 0,    0,    0, 0x91, 1, 0,
	             0x40, 0xf9, 2, 0,    0, 0x90, 0x42, 0,    0x40, 0xf9, 0, 0,    0, 0x54},
	    .text_size = 64,
	    .symbols = {START, OUTSIDE, {"thing", STB_GLOBAL, STT_OBJECT, SHN_COMMON, 8, 24}},
	    .relas = {{0, R_AARCH64_CALL26, 2, 0},
	              {4, R_AARCH64_ADR_PREL_PG_HI21, 3, 0},
	              {8, R_AARCH64_ADD_ABS_LO12_NC, 3, 0},
	              {12, R_AARCH64_LDST64_ABS_LO12_NC, 3, 0},
	              {16, R_AARCH64_ADR_GOT_PAGE, 2, 0},
	              {20, R_AARCH64_LD64_GOT_LO12_NC, 2, 0},
	              {24, R_AARCH64_CONDBR19, 1, 0}}};

	link_one(&o);
	uint64_t text = start(), thing = af_link_symbol(linker, "thing"), page = ~UINT64_C(0xfff);
	uint32_t call = u32(text), adrp = u32(text + 4), got = u32(text + 16);
	uint64_t pages = (adrp >> 29 & 3) | (adrp >> 5 & 0x7ffff) << 2;
	assert_int_equal((text & page) + (pages << 12), thing & page);
	assert_int_equal(adrp & 0x9f00001f, 0x90000000);
	assert_int_equal(u32(text + 8), 0x91000000 | (thing & 0xfff) << 10);
	assert_int_equal(u32(text + 12), 0xf9400001 | (thing & 0xfff) >> 3 << 10);
	pages = (got >> 29 & 3) | (got >> 5 & 0x7ffff) << 2;
	uint64_t slot = (text & page) + (pages << 12) + (u32(text + 20) >> 10 & 0xfff) * 8;
	assert_int_equal(u64(slot), far_away);
	assert_int_equal(u32(text + 24), 0x54000000 | ((uint32_t)(-24 >> 2 & 0x7ffff) << 5));
	/* The stub loads from the same slot. */
	assert_int_equal(call >> 26, 0x25);
	uint64_t stub = text + (uint64_t)((int64_t)((uint64_t)call << 38) >> 36);
	assert_int_equal(u32(stub) & 0x9f00001f, 0x90000010);
	assert_int_equal((u32(stub + 4) >> 10 & 0xfff) * 8, slot & 0xfff);
	assert_int_equal(u32(stub + 8), 0xd61f0200);
	end();
}

static void test_riscv64(void **state)
{
	struct object o = {
	    .machine = EM_RISCV,
	    /* auipc ra; jalr ra; auipc a0; addi a0, a0; beq; data of 4 and of 1 byte; c.j */
	    .text = {0x97, 0, 0,    0, 0xe7, 0x80, 0, 0, 0x17, 5, 0,    0, 0x13, 5,
	             5,    0, 0x63, 0, 0,    0,    9, 0, 0,    0, 0xc5, 0, 0x01, 0xa0},
	    .text_size = 64,
	    .symbols = {{"high", STB_LOCAL, STT_NOTYPE, OBJECT_TEXT, 8, 0},
	                START,
	                OUTSIDE,
	                {"thing", STB_GLOBAL, STT_OBJECT, SHN_COMMON, 8, 24}},
	    .relas = {{0, R_RISCV_CALL_PLT, 3, 0},
	              {8, R_RISCV_PCREL_HI20, 4, 0},
	              {12, R_RISCV_PCREL_LO12_I, 1, 0},
	              {16, R_RISCV_BRANCH, 2, 0},
	              {20, R_RISCV_ADD32, 1, 0},
	              {20, R_RISCV_SUB32, 2, 0},
	              {24, R_RISCV_SET6, 1, 60},
	              {26, R_RISCV_RVC_JUMP, 2, 0}}};

	link_one(&o);
	uint64_t text = start(), thing = af_link_symbol(linker, "thing");
	uint64_t to = text + 8 + (uint64_t)(int32_t)(u32(text + 8) & 0xfffff000) +
	              (uint64_t)((int32_t)u32(text + 12) >> 20);
	assert_int_equal(to, thing);
	assert_int_equal(u32(text + 8) & 0xfff, 0x517);
	assert_int_equal(u32(text + 12) & 0xfffff, 0x50513);
	uint64_t stub = text + (uint64_t)(int32_t)(u32(text) & 0xfffff000) +
	                (uint64_t)((int32_t)u32(text + 4) >> 20);
	uint64_t slot = stub + (uint64_t)(int32_t)(u32(stub) & 0xfffff000) +
	                (uint64_t)((int32_t)u32(stub + 4) >> 20);
	assert_int_equal(u64(slot), far_away);
	assert_int_equal(u32(text + 16), 0xfe0008e3); /* beq zero, zero, -16 */
	assert_int_equal(u32(text + 20), 9 + 8);
	assert_int_equal(*at(text + 24), 0xc0 | ((text + 8 + 60) & 63));
	assert_int_equal(u32(text + 26) & 0xffff, 0xb7dd); /* c.j -26 */
	end();
}

static void test_undefined(void **state)
{
	struct object o = {.machine = EM_X86_64,
	                   .text_size = 64,
	                   .symbols = {START,
	                               {"first", STB_GLOBAL, STT_NOTYPE, SHN_UNDEF, 0, 0},
	                               {"maybe", STB_WEAK, STT_NOTYPE, SHN_UNDEF, 0, 0},
	                               {"second", STB_GLOBAL, STT_NOTYPE, SHN_UNDEF, 0, 0}},
	                   .relas = {{0, R_X86_64_64, 3, 0}}};
	struct af_err err = {0};

	begin(EM_X86_64, 0);
	assert_int_equal(add("a.o", &o, &err), 0);
	assert_int_equal(link_all(&err), -ENOENT);
	assert_string_equal(af_link_undefined(linker), "first (a.o)\nsecond (a.o)\n");
	assert_non_null(strstr(err.msg, "2 undefined symbols, the first first"));
	end();
	/* A weak one is 0. */
	o.symbols[1].bind = o.symbols[3].bind = STB_WEAK;
	memset(o.text, 0xff, 8);
	link_one(&o);
	assert_int_equal(u64(start()), 0);
	end();
}

static void test_definitions(void **state)
{
	struct object a = {.machine = EM_X86_64, .text = {1}, .text_size = 32, .symbols = {START}},
		      b = a;
	struct af_err err = {0};

	b.text[0] = 2;
	begin(EM_X86_64, 0);
	assert_int_equal(add("a.o", &a, &err), 0);
	assert_int_equal(add("b.o", &b, &err), -EEXIST);
	assert_string_equal(err.msg, "start is defined twice: in a.o and in b.o");
	end();
	/* One of two groups; and a strong definition before a weak one. */
	a.group = b.group = 1;
	begin(EM_X86_64, 0);
	assert_int_equal(add("a.o", &a, &err) | add("b.o", &b, &err) | link_all(&err), 0);
	assert_int_equal(*at(start()), 1);
	end();
	a.group = b.group = 0;
	a.symbols[0].bind = STB_WEAK;
	begin(EM_X86_64, 0);
	assert_int_equal(add("a.o", &a, &err) | add("b.o", &b, &err) | link_all(&err), 0);
	assert_int_equal(*at(start()), 2);
	end();
}

/* An archive of one member that defines "start", by its index. */
static size_t archive_write(uint8_t *to, const struct object *o)
{
	static uint8_t object[OBJECT_SIZE];
	size_t size = (memset(object, 0, sizeof object), object_write(o, object));
	const uint8_t index[] = {0, 0, 0, 1, 0, 0, 0, 8 + 60 + 14, 's', 't', 'a', 'r', 't', 0};
	char header[64];

	memcpy(to, ARMAG, SARMAG);
	snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", "/", 0, 0, 0, 0,
	         sizeof index);
	memcpy(to + 8, header, 60);
	memcpy(to + 68, index, sizeof index);
	snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", "m.o/", 0, 0, 0, 0,
	         size);
	memcpy(to + 82, header, 60);
	memcpy(to + 142, object, size);
	return 142 + size;
}

static void test_archive(void **state)
{
	struct object o = {.machine = EM_X86_64, .text = {7}, .text_size = 16, .symbols = {START}};
	static uint8_t bytes[2 * OBJECT_SIZE];
	size_t size = archive_write(bytes, &o);
	struct af_err err = {0};

	begin(EM_X86_64, 0);
	assert_int_equal(af_link_add(linker, "x.a", bytes, size, &err), 0);
	assert_int_equal(link_all(&err), 0);
	assert_int_equal(af_link_symbol(linker, "start"), 0);
	end();
	begin(EM_X86_64, 0);
	assert_int_equal(af_link_add(linker, "x.a", bytes, size, &err), 0);
	af_link_want(linker, "start");
	assert_int_equal(link_all(&err), 0);
	assert_int_equal(*at(start()), 7);
	end();
	begin(EM_X86_64, 0);
	assert_int_equal(af_link_add(linker, "t.a", (const uint8_t *)"!<thin>\n", 8, &err),
	                 -ENOTSUP);
	assert_non_null(strstr(err.msg, "thin archive"));
	end();
}

/* The file as others read it. */
static void test_image(void **state)
{
	struct object o = {.machine = EM_X86_64,
	                   .text_size = 32,
	                   .symbols = {START, OUTSIDE},
	                   .relas = {{1, R_X86_64_PLT32, 2, -4}}};
	uint8_t id[AF_ELF_BUILD_ID_MAX];
	Elf64_Shdr table, text;
	Elf64_Phdr p;
	Elf64_Sym s;

	link_one(&o);
	assert_int_equal(elf.type, ET_DYN);
	assert_int_equal(af_elf_build_id(&elf, id), 20);
	assert_true(af_elf_segment(&elf, 0, &p) && p.p_vaddr == BASE && !p.p_offset &&
	            p.p_flags == PF_R);
	assert_true(af_elf_segment(&elf, 1, &p) && p.p_flags == (PF_R | PF_X));
	assert_true(af_elf_named(&elf, ".symtab", &table) && table.sh_size == 2 * sizeof s);
	af_elf_symbol(&elf, &table, 1, &s);
	assert_int_equal(s.st_value, start());
	assert_int_equal(s.st_size, 16);
	assert_int_equal(s.st_shndx, af_elf_number(&elf, ".text"));
	assert_true(af_elf_named(&elf, ".text", &text) && text.sh_addr == start());
	/* The stubs have a row in the unwind table. */
	assert_true(af_elf_named(&elf, ".eh_frame_hdr", &table));
	assert_memory_equal(at(table.sh_addr), "\x01\x1b\x03\x3b", 4);
	assert_int_equal(u32(table.sh_addr + 8), 1);
	assert_true(af_elf_named(&elf, ".plt", &text));
	assert_int_equal(table.sh_addr + (uint64_t)(int32_t)u32(table.sh_addr + 12), text.sh_addr);
	end();
}

static void test_hostile(void **state)
{
	struct object o = {.machine = EM_X86_64,
	                   .text_size = 32,
	                   .symbols = {START},
	                   .relas = {{30, R_X86_64_64, 1, 0}}};
	static uint8_t bytes[OBJECT_SIZE];
	size_t size = object_write(&o, bytes);
	struct af_err err = {0};

	begin(EM_X86_64, 0);
	assert_int_equal(add("a.o", &o, &err), 0);
	assert_int_equal(link_all(&err), -ENOEXEC);
	assert_non_null(
	    strstr(err.msg, "a.o: section .text+0x1e: relocation R_X86_64_64 to start: outside"));
	end();
	o.relas[0] = (struct object_rela){0, 200, 1, 0};
	begin(EM_X86_64, 0);
	assert_int_equal(add("a.o", &o, &err), 0);
	assert_int_equal(link_all(&err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "relocation of unknown type 200"));
	end();
	begin(EM_AARCH64, 0);
	assert_int_equal(add("a.o", &o, &err), -ENOEXEC);
	assert_non_null(strstr(err.msg, "for another machine"));
	end();
	for (size_t len = 0; len < size; len++) {
		/* Exactly this size, so that a read past the end is seen. */
		uint8_t *copy = memcpy(malloc(len + 1), bytes, len);
		begin(EM_X86_64, 0);
		if (!af_link_add(linker, "cut.o", copy, len, &err))
			assert_true(link_all(&err) <= 0);
		end();
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_x86_stub),  cmocka_unit_test(test_x86_threads),
	    cmocka_unit_test(test_aarch64),   cmocka_unit_test(test_riscv64),
	    cmocka_unit_test(test_undefined), cmocka_unit_test(test_definitions),
	    cmocka_unit_test(test_archive),   cmocka_unit_test(test_image),
	    cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
