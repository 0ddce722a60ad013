/*
 * Debug information as distributions ship it, made with the tools that they use, from one library
 * whose answers are known: what addr2line says of it before anything is taken out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/fs.h"
#include "sym/elf/unpack.h"
#include "sym/module/module.h"
#include "sym/sym.h"
#include "unwind/elf_file.h"

enum { PLACES = 64 };

/* The directory that is all the world, and what is where in the library. */
static char root[64];

struct place {
	uint64_t vaddr;
	char function[64], file[64];
	unsigned line;
};

static struct place places[PLACES];
static unsigned nr_places;

/* Large enough a structure for dwz to find it worth moving. */
static const char header[] = "struct shape { int width, height, depth, length, area, volume;\n"
			     "struct shape *next, *before; const char *name; };\n"
			     "static inline __attribute__((always_inline)) int inner(int x)\n"
			     "{\n"
			     "	struct shape s = {x, x, x, x, x, x, 0, 0, 0};\n"
			     "	__asm__ volatile(\"nop; nop; nop; nop\" : \"+r\"(x) : \"m\"(s));\n"
			     "	return x + 1;\n"
			     "}\n";

static const char source[] = "#include \"inner.h\"\n"
			     "static __attribute__((noinline)) int hidden(int x)\n"
			     "{\n"
			     "	__asm__ volatile(\"nop\" : \"+r\"(x));\n"
			     "	return inner(x) * 3;\n"
			     "}\n"
			     "int visible(int x)\n"
			     "{\n"
			     "	return hidden(x) + inner(x + 1);\n"
			     "}\n";

static bool write_text(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", root, name);
	FILE *f = fopen(path, "w");
	bool good = f && fputs(text, f) >= 0;
	return f && !fclose(f) && good;
}

/* Run it in the directory; whether it was a success. */
static __attribute__((format(printf, 1, 2))) bool run(const char *fmt, ...)
{
	char command[1024];
	va_list ap;
	int len = snprintf(command, sizeof command, "cd %s && exec 2>>log && ", root);

	va_start(ap, fmt);
	vsnprintf(command + len, sizeof command - (size_t)len, fmt, ap);
	va_end(ap);
	return !system(command);
}

static bool have(const char *tool)
{
	return run("command -v %s >/dev/null", tool);
}

/* Every fourth byte of the two functions, as addr2line has them. */
static bool learn(const char *library)
{
	char command[512], line[256];

	snprintf(command, sizeof command,
	         "cd %s && for s in hidden visible; do "
	         "at=$(nm %s | sed -n \"s/^0*\\([0-9a-f]*\\) [tT] $s\\$/\\1/p\"); "
	         "for i in 0 4 8 12 16; do "
	         "printf '0x%%x\\n' $((0x$at + i)); done; done >pcs && "
	         "paste pcs <(addr2line -fe %s <pcs | paste - -)",
	         root, library, library);
	setenv("COMMAND", command, 1);
	FILE *f = popen("bash -c \"$COMMAND\"", "r");
	for (nr_places = 0; f && nr_places < PLACES && fgets(line, sizeof line, f);) {
		struct place *p = &places[nr_places];
		char path[128];
		unsigned long long vaddr;

		if (sscanf(line, "%llx %63s %127[^:]:%u", &vaddr, p->function, path, &p->line) != 4)
			continue;
		const char *slash = strrchr(path, '/');
		snprintf(p->file, sizeof p->file, "%.63s", slash ? slash + 1 : path);
		p->vaddr = vaddr;
		nr_places++;
	}
	return f && !pclose(f) && nr_places == 10;
}

/* The library, with its build-id and without. */
static int make_world(void **state)
{
	strcpy(root, "/tmp/aflame-test-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	if (!write_text("source.c", source) || !write_text("inner.h", header))
		return -1;
	if (!run("mkdir -p lib usr/lib/debug/lib usr/lib/debug/.build-id"))
		return -1;
	/* Without a compiler or binutils every test is skipped. */
	if (run("cc -g -O1 -shared -fPIC -gdwarf-4 -Wl,--build-id=sha1 -o whole source.c && "
	        "cc -g -O1 -shared -fPIC -Wl,--build-id=none -o noid source.c && "
	        "objcopy --only-keep-debug whole whole.debug"))
		learn("whole");
	return 0;
}

static int drop_world(void **state)
{
	return af_remove_tree(root);
}

#define need(tool)                                                                                 \
	do {                                                                                       \
		if (!nr_places || !have(tool))                                                     \
			skip();                                                                    \
	} while (0)

static struct af_sym_module *open_module(const char *path)
{
	return af_sym_module_open(path, NULL, 0, root);
}

/* Whether @path has all the names, and with @lines all the lines and inlined calls. */
static void assert_names(const char *path, bool lines)
{
	struct af_sym_module *m = open_module(path);

	for (unsigned i = 0; i < nr_places; i++) {
		const struct place *p = &places[i];
		const char *outer = p->vaddr >= places[5].vaddr ? "visible" : "hidden";
		struct af_sym_answer a;

		af_sym_lookup(m, p->vaddr, &a);
		assert_true(a.nr > 0);
		assert_string_equal(a.frames[a.nr - 1].function, outer);
		if (!lines) {
			assert_int_equal(a.nr, 1);
			assert_int_equal(a.source, AF_SYMBOL_SYMTAB);
			assert_null(a.frames[0].file);
			continue;
		}
		assert_int_equal(a.source, AF_SYMBOL_DWARF);
		assert_string_equal(a.frames[0].function, p->function);
		assert_int_equal(a.frames[0].line, p->line);
		assert_non_null(a.frames[0].file);
		const char *slash = strrchr(a.frames[0].file, '/');
		assert_string_equal(slash ? slash + 1 : a.frames[0].file, p->file);
	}
	af_sym_module_close(m);
}

static void assert_hidden_is_unknown(const char *path)
{
	struct af_sym_module *m = open_module(path);
	struct af_sym_answer a;

	af_sym_lookup(m, places[0].vaddr, &a);
	assert_true(a.source == AF_SYMBOL_NO_SYMBOL || a.source == AF_SYMBOL_FDE);
	af_sym_module_close(m);
}

static void the_library_itself_is_known(void **state)
{
	need("cp");
	assert_true(run("cp whole lib/whole.so"));
	assert_names("/lib/whole.so", true);
	assert_true(run("strip -o lib/whole.so whole"));
	assert_hidden_is_unknown("/lib/whole.so");
}

static void a_debug_link_is_followed_beside_the_file(void **state)
{
	need("objcopy");
	assert_true(run("mkdir -p lib/.debug && cp whole.debug lib/.debug/beside.debug && "
	                "strip -o lib/beside.so whole && "
	                "objcopy --add-gnu-debuglink=lib/.debug/beside.debug lib/beside.so"));
	assert_names("/lib/beside.so", true);
	assert_true(run("mv lib/.debug/beside.debug usr/lib/debug/lib/"));
	assert_names("/lib/beside.so", true);
	assert_true(run("rm usr/lib/debug/lib/beside.debug"));
	assert_hidden_is_unknown("/lib/beside.so");
}

static void a_debug_link_without_build_id_is_believed_by_its_checksum(void **state)
{
	need("objcopy");
	assert_true(run("objcopy --only-keep-debug noid lib/noid.debug && "
	                "strip -o lib/noid.so noid && cd lib && "
	                "objcopy --add-gnu-debuglink=noid.debug noid.so"));
	assert_names("/lib/noid.so", true);
	/* One more byte, and it is another file. */
	assert_true(run("echo >>lib/noid.debug"));
	assert_hidden_is_unknown("/lib/noid.so");
}

static void elfutils_strips_to_the_same(void **state)
{
	need("eu-strip");
	assert_true(run("cd lib && eu-strip -f eu.debug -o eu.so ../whole"));
	assert_names("/lib/eu.so", true);
}

/* usr/lib/debug/.build-id/xx/… of the library holds @file. */
static bool store_by_id(const char *file)
{
	return run("id=$(readelf -n whole | sed -n 's/.*Build ID: //p') && "
	           "mkdir -p usr/lib/debug/.build-id/${id%%${id#??}} && "
	           "cp %s usr/lib/debug/.build-id/${id%%${id#??}}/${id#??}.debug",
	           file);
}

static void drop_by_id(void)
{
	assert_true(run("rm -r usr/lib/debug/.build-id"));
}

static void a_build_id_leads_to_the_debug_file(void **state)
{
	need("readelf");
	assert_true(run("strip -o lib/byid.so whole"));
	assert_true(store_by_id("whole.debug"));
	assert_names("/lib/byid.so", true);
	drop_by_id();
	assert_hidden_is_unknown("/lib/byid.so");
}

static void a_file_that_is_gone_has_the_names_of_its_debug_file(void **state)
{
	char path[128];
	uint8_t id[AF_ELF_BUILD_ID_MAX];
	struct af_finder finder = {.root = root};
	struct af_sym_answer a;
	struct af_file f;
	struct af_elf e;

	need("readelf");
	snprintf(path, sizeof path, "%s/whole", root);
	assert_int_equal(af_file_map(&f, path, NULL), 0);
	assert_int_equal(af_elf_parse(&e, f.data, f.size), 0);
	uint32_t len = af_elf_build_id(&e, id);
	af_file_unmap(&f);
	assert_true(store_by_id("whole.debug"));
	for (int turn = 0; turn < 2; turn++) {
		struct af_sym_module *m =
		    af_sym_module_find("/lib/gone.so", true, id, len, &finder);

		af_sym_lookup(m, places[0].vaddr, &a);
		if (turn == 0) {
			assert_int_equal(a.source, AF_SYMBOL_DWARF);
			assert_string_equal(a.frames[a.nr - 1].function, "hidden");
			drop_by_id();
		} else {
			assert_int_equal(a.source, AF_SYMBOL_NO_FILE);
		}
		af_sym_module_close(m);
	}
}

static void compressed_sections_are_unpacked(void **state)
{
	static const char *const ways[] = {"zlib", "zlib-gnu", "zlib-gabi", "zstd"};

	need("objcopy");
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		/* Small sections stay as they are: these are large enough. */
		if (!run("objcopy --compress-debug-sections=%s whole lib/packed.so", ways[i])) {
			print_message("no %s in this objcopy\n", ways[i]);
			continue;
		}
		assert_true(run("readelf -S lib/packed.so | grep -q '\\(zdebug_info\\| C \\)'"));
		assert_names("/lib/packed.so", true);
		/* Separate and compressed. */
		assert_true(run("objcopy --only-keep-debug --compress-debug-sections=%s whole "
		                "lib/packed.debug && strip -o lib/packed.so whole && cd lib && "
		                "objcopy --add-gnu-debuglink=packed.debug packed.so",
		                ways[i]));
		assert_names("/lib/packed.so", true);
	}
}

static void names_that_dwz_moved_to_another_file_are_found(void **state)
{
	need("dwz");
	/* Entries of both files go to the third; the compiler's own names are the same in both. */
	assert_true(
	    run("sed 's/visible/another/' source.c >other.c && "
	        "cc -g -O1 -shared -fPIC -gdwarf-4 -Wl,--build-id=sha1 -o other other.c && "
	        "objcopy --only-keep-debug other lib/other.debug && "
	        "cp whole.debug lib/dwz.debug && cd lib && "
	        "dwz -m common.debug -M common.debug dwz.debug other.debug && "
	        "strip -o dwz.so ../whole && objcopy --add-gnu-debuglink=dwz.debug dwz.so"));
	assert_true(run("readelf -S lib/dwz.debug | grep -q gnu_debugaltlink && "
	                "readelf -wi lib/common.debug | grep -q inner"));
	assert_names("/lib/dwz.so", true);

	/* Found by its build-id, when it is not where the name says. */
	assert_true(run("cd lib && id=$(readelf -n common.debug | sed -n 's/.*Build ID: //p') && "
	                "mkdir -p ../usr/lib/debug/.build-id/${id%%${id#??}} && mv common.debug "
	                "../usr/lib/debug/.build-id/${id%%${id#??}}/${id#??}.debug"));
	assert_names("/lib/dwz.so", true);

	/* Without it the functions of the symbol table are left, and what names there are. */
	drop_by_id();
	struct af_sym_module *m = open_module("/lib/dwz.so");
	for (unsigned i = 0; i < nr_places; i++) {
		struct af_sym_answer a;

		af_sym_lookup(m, places[i].vaddr, &a);
		assert_true(a.nr > 0);
		assert_string_equal(a.frames[a.nr - 1].function, i < 5 ? "hidden" : "visible");
	}
	af_sym_module_close(m);
}

static bool make_mini(void)
{
	return run("nm whole --format=posix --defined-only | "
	           "awk '$2 == \"T\" || $2 == \"t\" { print $1 }' >keep && "
	           "objcopy -S --remove-section .comment --keep-symbols=keep whole.debug mini && "
	           "rm -f mini.xz && xz mini && strip -o stripped whole && "
	           "objcopy --add-section .gnu_debugdata=mini.xz stripped lib/mini.so");
}

static void mini_debug_info_has_names(void **state)
{
	need("xz");
	assert_true(make_mini());
	assert_names("/lib/mini.so", false);
}

static void damaged_mini_debug_info_has_none(void **state)
{
	char path[128];
	struct af_file f;
	struct af_elf e;
	Elf64_Shdr s;
	uint8_t *data;
	size_t size;

	need("xz");
	assert_true(make_mini());
	snprintf(path, sizeof path, "%s/lib/mini.so", root);
	assert_int_equal(af_file_map(&f, path, NULL), 0);
	uint8_t *copy = malloc(f.size);
	memcpy(copy, f.data, f.size);
	assert_int_equal(af_elf_parse(&e, copy, f.size), 0);
	assert_true(af_elf_named(&e, ".gnu_debugdata", &s));
	for (size_t at = 0; at < s.sh_size; at += 7) {
		copy[s.sh_offset + at] ^= 0x55;
		int rc = af_unpack_minidebug(&e, &data, &size);
		assert_true(!rc || rc == -EBADMSG);
		if (!rc)
			free(data);
		copy[s.sh_offset + at] ^= 0x55;
	}
	free(copy);
	af_file_unmap(&f);
}

static void a_static_pie_is_known(void **state)
{
	need("cc");
	if (!run(
		"sed 's/^int visible/int main(void) { return 0; } int visible/' source.c >pie.c && "
		"cc -g -O1 -static-pie -o lib/pie pie.c"))
		skip(); /* no static libc */
	if (!learn("lib/pie"))
		fail_msg("addr2line does not know the program");
	assert_names("/lib/pie", true);
	assert_true(learn("whole"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_library_itself_is_known),
	    cmocka_unit_test(a_debug_link_is_followed_beside_the_file),
	    cmocka_unit_test(a_debug_link_without_build_id_is_believed_by_its_checksum),
	    cmocka_unit_test(elfutils_strips_to_the_same),
	    cmocka_unit_test(a_build_id_leads_to_the_debug_file),
	    cmocka_unit_test(a_file_that_is_gone_has_the_names_of_its_debug_file),
	    cmocka_unit_test(compressed_sections_are_unpacked),
	    cmocka_unit_test(names_that_dwz_moved_to_another_file_are_found),
	    cmocka_unit_test(mini_debug_info_has_names),
	    cmocka_unit_test(damaged_mini_debug_info_has_none),
	    cmocka_unit_test(a_static_pie_is_known),
	};
	return cmocka_run_group_tests(tests, make_world, drop_world);
}
