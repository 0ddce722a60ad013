#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jitdump_maker.h"
#include "sym/jit/jitdump.h"

enum { PID = 4711 };

static char path[64];
static const uint8_t code[256];

static int make_path(void **state)
{
	strcpy(path, "/tmp/aflame-test-XXXXXX");
	int fd = mkstemp(path);

	close(fd);
	return fd < 0;
}

static int drop_path(void **state)
{
	return unlink(path);
}

static int open_dump(struct af_jitdump *d, const struct af_buf *b)
{
	const struct af_jit_trust trust = {.owners = {geteuid()}, .nr_owners = 1};
	int fd = dump_save(b, path);

	assert_true(fd >= 0);
	int rc = af_jitdump_open(d, fd, PID, &trust);
	close(fd);
	return rc;
}

static void assert_code(struct af_jitdump *d, uint64_t address, uint64_t time_ns, const char *name)
{
	struct af_jitdump_answer a;

	if (!name) {
		assert_false(af_jitdump_find(d, address, time_ns, &a));
		return;
	}
	assert_true(af_jitdump_find(d, address, time_ns, &a));
	assert_string_equal(a.name, name);
}

static void assert_line(struct af_jitdump *d, uint64_t address, const char *file, uint32_t line)
{
	struct af_jitdump_answer a;

	assert_true(af_jitdump_find(d, address, UINT64_MAX, &a));
	assert_int_equal(a.line, line);
	if (file)
		assert_string_equal(a.file, file);
	else
		assert_null(a.file);
}

static void an_address_belongs_to_what_lay_there_at_the_time(void **state)
{
	struct af_buf b = {0};
	struct af_jitdump d;

	dump_begin(&b, PID, 0);
	dump_load(&b, 100, 0x1000, code, 0x100, 1, "first");
	dump_load(&b, 200, 0x2000, code, 0x40, 2, "other");
	dump_load(&b, 300, 0x1080, code, 0x40, 3, "replaces a part");
	assert_int_equal(open_dump(&d, &b), 0);
	assert_code(&d, 0x1090, 99, NULL);
	assert_code(&d, 0x1090, 100, "first");
	assert_code(&d, 0x1090, 299, "first");
	assert_code(&d, 0x1090, 300, "replaces a part");
	assert_code(&d, 0x1090, UINT64_MAX, "replaces a part");
	assert_code(&d, 0x10c0, 400, "first");
	assert_code(&d, 0x10ff, 400, "first");
	assert_code(&d, 0x1100, 400, NULL);
	assert_code(&d, 0xfff, 400, NULL);
	assert_code(&d, 0x203f, 200, "other");
	assert_code(&d, 0, 400, NULL);
	assert_code(&d, UINT64_MAX, 400, NULL);
	af_jitdump_close(&d);
	af_buf_free(&b);
}

static void code_that_moves_takes_its_name_and_lines_along(void **state)
{
	struct af_buf b = {0};
	struct af_jitdump d;

	dump_begin(&b, PID, 0);
	dump_lines(&b, 0x1000, 0, "hot.js", 10, 4);
	dump_load(&b, 100, 0x1000, code, 0x40, 7, "hot");
	dump_move(&b, 200, 0x1000, 0x5000, 0x40, 7);
	dump_move(&b, 250, 0x1000, 0x6000, 0x40, 7);  /* it is not there any more */
	dump_move(&b, 260, 0x5000, 0x7000, 0x40, 99); /* nobody knows that code */
	dump_load(&b, 300, 0x1000, code, 0x40, 8, "newcomer");
	dump_move(&b, 400, 0x5000, 0x9000, 0x40, 7);
	assert_int_equal(open_dump(&d, &b), 0);
	assert_int_equal(d.nr_skipped, 2);
	assert_code(&d, 0x1010, 150, "hot");
	assert_code(&d, 0x1010, 250, NULL);
	assert_code(&d, 0x1010, 350, "newcomer");
	assert_code(&d, 0x5010, 150, NULL);
	assert_code(&d, 0x5010, 250, "hot");
	assert_code(&d, 0x5010, 450, NULL);
	assert_code(&d, 0x6010, 260, NULL);
	assert_code(&d, 0x9010, UINT64_MAX, "hot");
	assert_line(&d, 0x9000, "hot.js", 10);
	assert_line(&d, 0x902f, "hot.js", 12);
	assert_line(&d, 0x1010, NULL, 0);
	af_jitdump_close(&d);
	af_buf_free(&b);
}

static void lines_belong_to_the_code_loaded_next(void **state)
{
	struct af_buf b = {0};
	struct af_jitdump d;

	dump_begin(&b, PID, 0);
	dump_lines(&b, 0x1000, 0, "old.js", 1, 2);
	dump_lines(&b, 0x1000, 16, "new.js", 50, 3);
	dump_load(&b, 100, 0x1000, code, 0x80, 1, "one");
	dump_load(&b, 100, 0x2000, code, 0x80, 2, "without");
	dump_lines(&b, 0x3000, 0, "T\xdd", 4, 1);
	dump_load(&b, 100, 0x3000, code, 0x80, 3, "junk");
	dump_lines(&b, 0x5000, 0, "T\xdd", 7, 1);
	dump_load(&b, 100, 0x5000, code, 0x80, 5, "JS:*work /app/main.js:6:12");
	dump_lines(&b, 0x6000, 0, "T\xdd", 7, 1);
	dump_load(&b, 100, 0x6000, code, 0x80, 6, "JS:*work :6:12");
	dump_lines(&b, 0x7000, 0, "6+4", 7, 1);
	dump_load(&b, 100, 0x7000, code, 0x80, 7, "JS:*work /app/main.js:6:12");
	dump_lines(&b, 0x8000, 0, "node:fs", 7, 1);
	dump_load(&b, 100, 0x8000, code, 0x80, 8, "JS:*work /app/main.js:6:12");
	dump_lines(&b, 0x4000, 0, "gr\xc3\xbc\xc3\x9f.js", 4, 1);
	dump_load(&b, 100, 0x4000, code, 0x80, 4, "text");
	assert_int_equal(open_dump(&d, &b), 0);
	assert_line(&d, 0x100f, NULL, 0); /* before the first line */
	assert_line(&d, 0x1010, "new.js", 50);
	assert_line(&d, 0x1020, "new.js", 51);
	assert_line(&d, 0x107f, "new.js", 52);
	assert_line(&d, 0x2000, NULL, 0);
	/* Bytes that are no text name no file; V8 has it in the name of the function too. */
	assert_line(&d, 0x3000, NULL, 0);
	assert_line(&d, 0x5000, "/app/main.js", 7);
	assert_line(&d, 0x6000, NULL, 0);
	assert_line(&d, 0x7000, "/app/main.js", 7);
	assert_line(&d, 0x8000, "node:fs", 7);
	assert_line(&d, 0x4000, "gr\xc3\xbc\xc3\x9f.js", 4);
	af_jitdump_close(&d);
	af_buf_free(&b);
}

/* V8 adds the size of the header of the ELF file that `perf inject` will make. */
static void lines_that_count_from_an_elf_header_are_put_right(void **state)
{
	struct af_buf b = {0};
	struct af_jitdump d;

	dump_begin(&b, PID, 0);
	dump_lines(&b, 0x1000, 0x40, "a.js", 1, 4);
	dump_load(&b, 100, 0x1000, code, 0x40, 1, "one");
	dump_lines(&b, 0x2000, 0x50, "b.js", 9, 1);
	dump_load(&b, 100, 0x2000, code, 0x40, 2, "two");
	assert_int_equal(open_dump(&d, &b), 0);
	assert_line(&d, 0x1000, "a.js", 1);
	assert_line(&d, 0x1035, "a.js", 4);
	assert_line(&d, 0x2010, "b.js", 9);
	af_jitdump_close(&d);
	af_buf_free(&b);
}

static void stamps_of_another_clock_are_not_compared(void **state)
{
	struct af_buf b = {0};
	struct af_jitdump d;

	dump_begin(&b, PID, 1);
	dump_load(&b, 1000000, 0x1000, code, 0x40, 1, "old");
	dump_load(&b, 2000000, 0x1000, code, 0x40, 2, "new");
	assert_int_equal(open_dump(&d, &b), 0);
	assert_code(&d, 0x1000, 5, "new");
	af_jitdump_close(&d);
	af_buf_free(&b);
}

static void a_dump_of_others_is_not_believed(void **state)
{
	struct af_buf b = {0};
	struct af_jitdump d;
	struct stat st;

	dump_begin(&b, PID + 1, 0);
	assert_int_equal(open_dump(&d, &b), -ENOEXEC);
	b.len = 0;
	dump_begin(&b, PID, 0);
	int fd = dump_save(&b, path);
	assert_int_equal(fstat(fd, &st), 0);
	struct af_jit_trust stranger = {.owners = {st.st_uid + 1}, .nr_owners = 1};
	struct af_jit_trust later = {.owners = {st.st_uid},
	                             .nr_owners = 1,
	                             .not_before_ns = ((uint64_t)st.st_mtime + 2) * 1000000000u};
	assert_int_equal(af_jitdump_open(&d, fd, PID, &stranger), -EPERM);
	assert_int_equal(af_jitdump_open(&d, fd, PID, &later), -ESTALE);
	later.not_before_ns = 0;
	assert_int_equal(af_jitdump_open(&d, fd, PID, &later), 0);
	assert_code(&d, 0x1000, 0, NULL);
	af_jitdump_close(&d);
	close(fd);
	af_buf_free(&b);
}

/* A record written while we read, or damaged, costs itself and all behind it. */
static void records_that_say_nothing_of_code_are_passed_by(void **state)
{
	static const uint8_t frames[32] = {20};
	struct af_buf b = {0};
	struct af_jitdump d;

	dump_begin(&b, PID, 0);
	dump_prefix(&b, 4, 24 + sizeof frames, 100); /* unwinding information of the next code */
	dump_u64(&b, sizeof frames);
	dump_u64(&b, 0);
	dump_u64(&b, 0);
	af_buf_add(&b, frames, sizeof frames);
	dump_lines(&b, 0x1000, 0, "hot.js", 10, 4);
	dump_load(&b, 100, 0x1000, code, 0x40, 1, "first");
	dump_prefix(&b, 3, 0, 200); /* close */
	dump_prefix(&b, 77, 8, 200);
	dump_u64(&b, 0);
	dump_load(&b, 300, 0x2000, code, 0x40, 2, "second");
	assert_int_equal(open_dump(&d, &b), 0);
	assert_int_equal(d.nr_skipped, 0);
	assert_code(&d, 0x1010, 100, "first");
	assert_line(&d, 0x1010, "hot.js", 11);
	assert_code(&d, 0x1010, 400, "first");
	assert_code(&d, 0x2000, 400, "second");
	af_jitdump_close(&d);
	af_buf_free(&b);
}

static void a_dump_that_is_cut_has_what_was_before(void **state)
{
	struct af_buf b = {0};
	struct af_jitdump d;

	dump_begin(&b, PID, 0);
	size_t first = b.len;
	dump_lines(&b, 0x1000, 0, "hot.js", 10, 4);
	dump_load(&b, 100, 0x1000, code, 0x40, 1, "first");
	size_t second = b.len;
	dump_load(&b, 200, 0x2000, code, 0x40, 2, "second");
	size_t whole = b.len;
	for (size_t len = 0; len <= whole; len++) {
		b.len = len;
		assert_int_equal(open_dump(&d, &b), len < first ? -ENOEXEC : 0);
		if (len >= first) {
			assert_code(&d, 0x1000, 300, len >= second ? "first" : NULL);
			assert_code(&d, 0x2000, 300, len == whole ? "second" : NULL);
			af_jitdump_close(&d);
		}
	}
	/* Bytes that were changed: nothing but answers or none. */
	for (size_t at = 0; at < whole; at++) {
		struct af_jitdump_answer a;

		b.len = whole;
		b.data[at] ^= 0x80;
		if (!open_dump(&d, &b)) {
			for (uint64_t address = 0x0fff; address < 0x2100; address += 17)
				if (af_jitdump_find(&d, address, UINT64_MAX, &a))
					assert_true(strlen(a.name) < 100 && a.start <= address);
			af_jitdump_close(&d);
		}
		b.data[at] ^= 0x80;
	}
	af_buf_free(&b);
}

/* As often as a hostile program likes: each search looks at few of them. */
static void code_that_moves_again_and_again_is_found(void **state)
{
	enum { MOVES = 200000 };
	struct af_buf b = {0};
	struct af_jitdump d;

	dump_begin(&b, PID, 0);
	dump_load(&b, 1, 0x1000, code, 0x40, 1, "moves");
	for (uint64_t i = 0; i < MOVES; i++)
		dump_move(&b, 10 + i, i % 2 ? 0x2000 : 0x1000, i % 2 ? 0x1000 : 0x2000, 0x40, 1);
	/* Loaded anew without an end, and older code beneath all of it. */
	for (uint64_t i = 0; i < MOVES; i++)
		dump_load(&b, 10 + i, 0x5000, code, 0x40, 2 + i, i % 2 ? "odd" : "even");
	assert_int_equal(open_dump(&d, &b), 0);
	for (uint64_t i = 0; i < MOVES; i += 7) {
		assert_code(&d, 0x1020, 10 + i, i % 2 ? "moves" : NULL);
		assert_code(&d, 0x2020, 10 + i, i % 2 ? NULL : "moves");
		assert_code(&d, 0x5020, 10 + i, i % 2 ? "odd" : "even");
	}
	assert_int_equal(d.nr_given_up, 0);
	af_jitdump_close(&d);
	af_buf_free(&b);
}

static void a_dump_of_too_many_records_is_read_as_far_as_there_is_room(void **state)
{
	enum { LOADS = (1 << 20) + 1000 };
	struct af_buf b = {0};
	struct af_jitdump d;

	dump_begin(&b, PID, 0);
	for (uint64_t i = 0; i < LOADS; i++)
		dump_load(&b, 10, 0x1000 + i * 16, code, 16, i, "many");
	assert_int_equal(open_dump(&d, &b), 0);
	assert_int_equal(d.nr, 1 << 20);
	assert_int_equal(d.nr_beyond, 1000);
	assert_code(&d, 0x1000, 20, "many");
	af_jitdump_close(&d);
	af_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_address_belongs_to_what_lay_there_at_the_time),
	    cmocka_unit_test(code_that_moves_takes_its_name_and_lines_along),
	    cmocka_unit_test(lines_belong_to_the_code_loaded_next),
	    cmocka_unit_test(lines_that_count_from_an_elf_header_are_put_right),
	    cmocka_unit_test(stamps_of_another_clock_are_not_compared),
	    cmocka_unit_test(a_dump_of_others_is_not_believed),
	    cmocka_unit_test(records_that_say_nothing_of_code_are_passed_by),
	    cmocka_unit_test(a_dump_that_is_cut_has_what_was_before),
	    cmocka_unit_test(code_that_moves_again_and_again_is_found),
	    cmocka_unit_test(a_dump_of_too_many_records_is_read_as_far_as_there_is_room),
	};
	return cmocka_run_group_tests(tests, make_path, drop_path);
}
