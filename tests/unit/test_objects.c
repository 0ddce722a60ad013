#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "trace/write/objects.h"

struct trace_dir {
	char path[64];
	int fd;
};

static int make_dir(void **state)
{
	struct trace_dir *d = calloc(1, sizeof *d);

	strcpy(d->path, "/tmp/aflame-objects-XXXXXX");
	if (!mkdtemp(d->path))
		return -1;
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY);
	*state = d;
	return 0;
}

static int remove_dir(void **state)
{
	struct trace_dir *d = *state;

	close(d->fd);
	af_remove_tree(d->path);
	free(d);
	return 0;
}

static int nr_files(const struct trace_dir *d)
{
	char path[100];
	int n = 0;

	snprintf(path, sizeof path, "%s/objects", d->path);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (dir)
		closedir(dir);
	return n;
}

static void object_is_read_as_it_was_put(void **state)
{
	const struct trace_dir *d = *state;
	struct af_err err = {0};
	char name[AF_SHA256_HEX];
	struct af_file f;

	assert_int_equal(af_object_put(d->fd, "abc", 3, name), 0);
	assert_string_equal(name,
	                    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(af_object_map(&f, d->fd, name, &err), 0);
	assert_int_equal(f.size, 3);
	assert_memory_equal(f.data, "abc", 3);
	af_file_unmap(&f);
}

static void empty_object_is_an_object(void **state)
{
	const struct trace_dir *d = *state;
	char name[AF_SHA256_HEX];
	struct af_file f;

	assert_int_equal(af_object_put(d->fd, "", 0, name), 0);
	assert_int_equal(af_object_map(&f, d->fd, name, NULL), 0);
	assert_int_equal(f.size, 0);
}

static void files_are_private(void **state)
{
	const struct trace_dir *d = *state;
	char name[AF_SHA256_HEX], path[200];
	struct stat st;

	mode_t old = umask(0);
	assert_int_equal(af_object_put(d->fd, "abc", 3, name), 0);
	umask(old);
	assert_int_equal(fstatat(d->fd, "objects", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	snprintf(path, sizeof path, "objects/%s", name);
	assert_int_equal(fstatat(d->fd, path, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void same_bytes_are_kept_once(void **state)
{
	const struct trace_dir *d = *state;
	char name[AF_SHA256_HEX], again[AF_SHA256_HEX], path[200];
	struct stat first, second;

	assert_int_equal(af_object_put(d->fd, "abc", 3, name), 0);
	snprintf(path, sizeof path, "objects/%s", name);
	fstatat(d->fd, path, &first, 0);
	assert_int_equal(af_object_put(d->fd, "abc", 3, again), 0);
	fstatat(d->fd, path, &second, 0);
	assert_string_equal(name, again);
	assert_int_equal(first.st_ino, second.st_ino);
	assert_int_equal(af_object_put(d->fd, "abd", 3, again), 0);
	assert_int_equal(nr_files(d), 2);
}

/* Two ranks of a job in @d: the job's folder has AF_JOB_FILE. */
static void ranks_make(const struct trace_dir *d, struct trace_dir ranks[2])
{
	close(openat(d->fd, AF_JOB_FILE, O_CREAT | O_WRONLY, 0600));
	for (int i = 0; i < 2; i++) {
		snprintf(ranks[i].path, sizeof ranks[i].path, "rank-000%d", i);
		mkdirat(d->fd, ranks[i].path, 0700);
		ranks[i].fd = openat(d->fd, ranks[i].path, O_RDONLY | O_DIRECTORY);
	}
}

static void ranks_of_a_job_share_objects(void **state)
{
	const struct trace_dir *d = *state;
	struct trace_dir ranks[2];
	char name[AF_SHA256_HEX], path[200];
	struct stat shared, own;
	struct af_file f;

	ranks_make(d, ranks);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(af_object_put(ranks[i].fd, "abc", 3, name), 0);
		snprintf(path, sizeof path, "objects/%s", name);
		assert_int_equal(fstatat(d->fd, path, &shared, 0), 0);
		assert_int_equal(fstatat(ranks[i].fd, path, &own, 0), 0);
		assert_int_equal(own.st_ino, shared.st_ino);
		assert_int_equal(own.st_nlink, 2 + i);
	}
	/* A trace is whole without its job. */
	assert_int_equal(unlinkat(d->fd, path, 0), 0);
	assert_int_equal(af_object_map(&f, ranks[1].fd, name, NULL), 0);
	af_file_unmap(&f);
	close(ranks[0].fd);
	close(ranks[1].fd);
}

static void half_an_object_of_the_job_is_not_taken(void **state)
{
	const struct trace_dir *d = *state;
	struct trace_dir ranks[2];
	char name[AF_SHA256_HEX], path[200];
	struct af_file f;

	ranks_make(d, ranks);
	af_sha256_hex("abc", 3, name);
	snprintf(path, sizeof path, "objects/%s", name);
	mkdirat(d->fd, AF_OBJECTS_DIR, 0700);
	close(openat(d->fd, path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(af_object_put(ranks[0].fd, "abc", 3, name), 0);
	assert_int_equal(af_object_map(&f, ranks[0].fd, name, NULL), 0);
	af_file_unmap(&f);
	close(ranks[0].fd);
	close(ranks[1].fd);
}

static void a_folder_beside_a_trace_is_no_store(void **state)
{
	const struct trace_dir *d = *state;
	struct trace_dir ranks[2];
	char name[AF_SHA256_HEX];

	ranks_make(d, ranks);
	assert_int_equal(unlinkat(d->fd, AF_JOB_FILE, 0), 0);
	assert_int_equal(af_object_put(ranks[0].fd, "abc", 3, name), 0);
	assert_int_equal(nr_files(d), 0);
	close(ranks[0].fd);
	close(ranks[1].fd);
}

static void *put_many(void *arg)
{
	const struct trace_dir *d = arg;
	char name[AF_SHA256_HEX];
	long failures = 0;

	for (int i = 0; i < 50; i++)
		failures += af_object_put(d->fd, &i, sizeof i, name) != 0;
	return (void *)failures;
}

static void threads_put_the_same_objects_at_once(void **state)
{
	pthread_t threads[4];
	void *failures;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, put_many, *state);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failures);
		assert_null(failures);
	}
	assert_int_equal(nr_files(*state), 50);
}

static void leavings_of_a_killed_writer_are_no_hindrance(void **state)
{
	const struct trace_dir *d = *state;
	char name[AF_SHA256_HEX], path[64];

	assert_int_equal(mkdirat(d->fd, "objects", 0700), 0);
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof path, "objects/.%ld-%d", (long)getpid(), i);
		close(openat(d->fd, path, O_CREAT | O_WRONLY, 0600));
	}
	assert_int_equal(af_object_put(d->fd, "abc", 3, name), 0);
	assert_int_equal(nr_files(d), 301);
}

static void store_that_is_a_link_is_refused(void **state)
{
	const struct trace_dir *d = *state;
	char name[AF_SHA256_HEX];

	assert_int_equal(symlinkat("/tmp", d->fd, "objects"), 0);
	assert_true(af_object_put(d->fd, "abc", 3, name) < 0);
}

static void name_is_checked_before_it_is_opened(void **state)
{
	const struct trace_dir *d = *state;
	static const char *const bad[] = {
	    "",
	    "..",
	    "../metadata",
	    "/etc/passwd",
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a",
	    "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2001/..",
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad0",
	};
	struct af_file f;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct af_err err = {0};
		assert_false(af_object_name_ok(bad[i]));
		assert_int_equal(af_object_map(&f, d->fd, bad[i], &err), -EINVAL);
		assert_null(strstr(err.msg, "/"));
	}
}

static void absent_object_and_link_are_not_read(void **state)
{
	const struct trace_dir *d = *state;
	char name[AF_SHA256_HEX], path[200];
	struct af_file f;

	af_sha256_hex("x", 1, name);
	assert_int_equal(af_object_map(&f, d->fd, name, NULL), -ENOENT);
	assert_int_equal(mkdirat(d->fd, "objects", 0700), 0);
	assert_int_equal(af_object_map(&f, d->fd, name, NULL), -ENOENT);
	snprintf(path, sizeof path, "objects/%s", name);
	assert_int_equal(symlinkat("/etc/passwd", d->fd, path), 0);
	assert_int_equal(af_object_map(&f, d->fd, name, NULL), -ELOOP);
}

/* A file of other bytes, put there or linked to, is not believed to be the object. */
static void an_object_has_the_digest_that_it_is_called_by(void **state)
{
	const struct trace_dir *d = *state;
	char name[AF_SHA256_HEX], path[200];
	struct af_err err = {0};
	struct af_file f;

	assert_int_equal(af_object_put(d->fd, "x", 1, name), 0);
	int fd = af_object_open(d->fd, name);
	assert_true(fd >= 0);
	close(fd);
	snprintf(path, sizeof path, "objects/%s", name);
	fd = openat(d->fd, path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "y", 1), 1);
	close(fd);
	assert_int_equal(af_object_map(&f, d->fd, name, &err), -EBADMSG);
	assert_null(f.data);
	assert_non_null(strstr(err.msg, "does not match its name"));
	assert_int_equal(af_object_open(d->fd, name), -EBADMSG);
}

/* FIPS 180-4 examples, and lengths around the edges of a block in pieces of every size. */
static void digests_are_those_of_the_standard(void **state)
{
	char hex[AF_SHA256_HEX], data[300];

	af_sha256_hex("", 0, hex);
	assert_string_equal(hex,
	                    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	af_sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
	assert_string_equal(hex,
	                    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");

	memset(data, 'a', sizeof data);
	for (size_t len = 0; len <= sizeof data; len += len < 140 ? 1 : 40) {
		uint8_t whole[AF_SHA256_BYTES], pieces[AF_SHA256_BYTES];
		af_sha256(data, len, whole);
		for (size_t piece = 1; piece <= 130; piece++) {
			struct af_sha256 s;
			af_sha256_init(&s);
			for (size_t at = 0; at < len; at += piece)
				af_sha256_add(&s, data + at, len - at < piece ? len - at : piece);
			af_sha256_end(&s, pieces);
			assert_memory_equal(whole, pieces, sizeof whole);
		}
	}
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_DIR(object_is_read_as_it_was_put),
	    IN_DIR(empty_object_is_an_object),
	    IN_DIR(files_are_private),
	    IN_DIR(same_bytes_are_kept_once),
	    IN_DIR(threads_put_the_same_objects_at_once),
	    IN_DIR(leavings_of_a_killed_writer_are_no_hindrance),
	    IN_DIR(store_that_is_a_link_is_refused),
	    IN_DIR(name_is_checked_before_it_is_opened),
	    IN_DIR(absent_object_and_link_are_not_read),
	    IN_DIR(an_object_has_the_digest_that_it_is_called_by),
	    cmocka_unit_test(digests_are_those_of_the_standard),
	    IN_DIR(ranks_of_a_job_share_objects),
	    IN_DIR(half_an_object_of_the_job_is_not_taken),
	    IN_DIR(a_folder_beside_a_trace_is_no_store),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
