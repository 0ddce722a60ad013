/*
 * Files of a process that still runs while its addresses are named: a copy of this program that
 * waits, with its file deleted or with another root of files over it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/fs.h"
#include "emulated.h"
#include "jitdump_maker.h"
#include "sym/resolve/running.h"
#include "sym/resolve/task.h"
#include "sym/resolve/task_work.h"
#include "unwind/elf_file.h"

static char dir[64];

__attribute__((noinline, used)) static int a_function_of_this_program(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static int make_dir(void **state)
{
	strcpy(dir, "/tmp/aflame-test-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
	return af_remove_tree(dir);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Until the child has reported that it is ready by closing its end. */
static void wait_ready(int fd)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
	close(fd);
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct af_search_paths search_paths(void)
{
	struct af_search_paths p = {
	    .perf_dir = dir,
	    .proc = "/proc",
	    .boottime_ns = now_ns(CLOCK_BOOTTIME) - now_ns(CLOCK_MONOTONIC),
	    .trust = {.owners = {geteuid()}, .nr_owners = 1},
	};
	return p;
}

/* The answer to the only address of @task: its function, or NULL and the source. */
static const char *answer(struct af_sym_task *task, uint32_t *source)
{
	for (uint32_t i = 0; i < task->nr_modules; i++) {
		const struct task_module *m = &task->modules[i];

		if (!m->nr)
			continue;
		const struct task_answer *a = &m->answers[0];
		*source = a->source;
		if (!a->nr)
			return NULL;
		return af_strtab_get(&m->strings, m->frames[a->first + (a->nr - 1) * 3]);
	}
	return NULL;
}

/* A copy of this program in the directory, running there and waiting. */
static pid_t start_copy(char path[128])
{
	int ready[2];

	snprintf(path, 128, "%s/copy", dir);
	char command[300];
	snprintf(command, sizeof command, "cp /proc/%d/exe %s", getpid(), path);
	assert_int_equal(system(command), 0);
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (!pid) {
		char fd[16];
		snprintf(fd, sizeof fd, "%d", ready[1]);
		execl(path, path, "--wait", fd, NULL);
		_exit(127);
	}
	close(ready[1]);
	wait_ready(ready[0]);
	return pid;
}

/* Where the copy's code is, by the kernel: start and end, and what was added to its addresses. */
static struct af_ev_mapping copy_mapping(pid_t pid, const char *path)
{
	struct af_ev_mapping ev = {0};
	char name[64], line[512], perms[8];
	unsigned long long start, end, offset;

	snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
	FILE *f = fopen(name, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		if (!strstr(line, path) ||
		    sscanf(line, "%llx-%llx %7s %llx", &start, &end, perms, &offset) != 4)
			continue;
		if (!offset)
			ev.bias = start;
		if (perms[2] == 'x') {
			ev.start = start;
			ev.end = end;
		}
	}
	fclose(f);
	assert_true(ev.start && ev.bias);
	return ev;
}

static uint64_t own_bias(void)
{
	return copy_mapping(getpid(), "/test_running_files").bias;
}

static void a_file_deleted_under_a_process_is_read_through_it(void **state)
{
	SKIP_EMULATED("/proc/PID/exe is the emulator");
	char path[128];
	pid_t pid = start_copy(path);
	struct af_ev_mapping ev = copy_mapping(pid, path);
	uint64_t pc = ev.bias + (uintptr_t)a_function_of_this_program - own_bias();
	struct af_search_paths where = search_paths();
	uint32_t source = 0;

	assert_int_equal(unlink(path), 0);
	for (int turn = 0; turn < 3; turn++) {
		struct af_sym_task *task = af_sym_task_open();

		/* As the executable and, with the right to, as any mapped file; then it is over. */
		ev.flags = AF_MAPPING_DELETED | (turn == 0 ? AF_MAPPING_MAIN : 0);
		if (turn == 2)
			end_child(pid);
		af_sym_task_process(task, 1, 0, (uint32_t)pid, now_ns(CLOCK_MONOTONIC), path);
		af_sym_task_mapping(task, 1, &ev, NULL, 0, path, strlen(path));
		af_sym_task_stack(task, 1, 0, 0, (const uint8_t *)&pc, 1);
		af_sym_task_run(task, &where, NULL, NULL);
		const char *function = answer(task, &source);
		if (turn == 0) {
			assert_non_null(function);
			assert_string_equal(function, "a_function_of_this_program");
		} else if (turn == 1 && geteuid() == 0) {
			assert_non_null(function);
			assert_string_equal(function, "a_function_of_this_program");
		} else if (turn == 2) {
			assert_null(function);
			assert_int_equal(source, AF_SYMBOL_BUILD_ID);
		}
		af_sym_task_close(task);
	}
}

/* Another file at the path is not taken for the one that runs. */
static void a_file_replaced_under_a_process_is_read_through_it(void **state)
{
	SKIP_EMULATED("/proc/PID/exe is the emulator");
	char path[128], other[600];
	pid_t pid = start_copy(path);
	struct af_ev_mapping ev = copy_mapping(pid, path);
	uint64_t pc = ev.bias + (uintptr_t)a_function_of_this_program - own_bias();
	struct af_search_paths where = search_paths();
	uint8_t id[AF_ELF_BUILD_ID_MAX];
	struct af_file f;
	struct af_elf e;
	uint32_t source = 0;

	assert_int_equal(af_file_map(&f, path, NULL), 0);
	assert_int_equal(af_elf_parse(&e, f.data, f.size), 0);
	uint32_t len = af_elf_build_id(&e, id);
	af_file_unmap(&f);
	assert_true(len > 0);
	snprintf(other, sizeof other, "cp $(command -v cp) %s.new && mv %s.new %s", path, path,
	         path);
	assert_int_equal(system(other), 0);

	struct af_sym_task *task = af_sym_task_open();
	ev.flags = AF_MAPPING_MAIN;
	af_sym_task_process(task, 1, 0, (uint32_t)pid, now_ns(CLOCK_MONOTONIC), path);
	af_sym_task_mapping(task, 1, &ev, id, len, path, strlen(path));
	af_sym_task_stack(task, 1, 0, 0, (const uint8_t *)&pc, 1);
	af_sym_task_run(task, &where, NULL, NULL);
	const char *function = answer(task, &source);
	assert_non_null(function);
	assert_string_equal(function, "a_function_of_this_program");
	af_sym_task_close(task);
	end_child(pid);
}

static bool write_text(const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	bool good = f && fputs(text, f) >= 0;
	return f && !fclose(f) && good;
}

/* In namespaces of its own: process 1, with its own files in the directory, and a map there. */
static int contained(void *arg)
{
	int *ready = arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL);

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, NULL) ||
	    !write_text("perf-1.map", "1000 100 inside\n2000 10 not all of it"))
		_exit(1);
	close(ready[0]);
	if (write(ready[1], "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void a_map_in_another_namespace_is_found(void **state)
{
	struct af_search_paths where = search_paths();
	char stack[64 << 10], exe[512] = "";
	uint64_t pc = 0x1010;
	uint32_t source = 0;
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid =
	    clone(contained, stack + sizeof stack, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, ready);
	if (pid < 0) {
		close(ready[0]);
		close(ready[1]);
		skip(); /* needs root */
	}
	close(ready[1]);
	ssize_t n = read(ready[0], &byte, 1);
	close(ready[0]);
	if (n != 1) {
		end_child(pid);
		skip(); /* no mounts here */
	}
	assert_true(write_text("perf-1.map", "1000 100 outside\n"));
	assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	for (int turn = 0; turn < 2; turn++) {
		struct af_sym_task *task = af_sym_task_open();

		/* The process 1 out here is another program. */
		af_sym_task_process(task, 1, 0, 1, now_ns(CLOCK_MONOTONIC), exe);
		af_sym_task_stack(task, 1, 0, 0, (const uint8_t *)&pc, 1);
		af_sym_task_run(task, &where, NULL, NULL);
		const char *function = answer(task, &source);
		assert_non_null(function);
		assert_string_equal(function, turn ? "outside" : "inside");
		assert_int_equal(source, AF_SYMBOL_JIT);
		af_sym_task_close(task);
		if (!turn)
			end_child(pid);
	}
}

static void a_map_of_another_user_is_reported_of(void **state)
{
	struct af_search_paths where = search_paths();
	struct af_sym_task *task = af_sym_task_open();
	uint64_t pc = 0x1010;
	uint32_t source = 0;

	if (geteuid())
		skip(); /* needs root */
	assert_true(write_text("perf-4000000.map", "1000 100 theirs\n"));
	char path[160];
	snprintf(path, sizeof path, "%s/perf-4000000.map", dir);
	assert_int_equal(chown(path, 4242, 4242), 0);
	af_sym_task_process(task, 1, 0, 4000000, 0, "");
	af_sym_task_user(task, 1, 1000);
	af_sym_task_stack(task, 1, 0, 0, (const uint8_t *)&pc, 1);
	af_sym_task_run(task, &where, NULL, NULL);
	assert_null(answer(task, &source));
	assert_int_equal(source, AF_SYMBOL_NO_MODULE);
	assert_int_equal(task->nr_notes, 1);
	assert_non_null(strstr(af_strtab_get(&task->note_texts, task->notes[0].text), "4242"));
	af_sym_task_close(task);

	/* The same file is the process's own when that is the user's. */
	task = af_sym_task_open();
	af_sym_task_process(task, 1, 0, 4000000, 0, "");
	af_sym_task_user(task, 1, 4242);
	af_sym_task_stack(task, 1, 0, 0, (const uint8_t *)&pc, 1);
	af_sym_task_run(task, &where, NULL, NULL);
	assert_string_equal(answer(task, &source), "theirs");
	af_sym_task_close(task);
}

static void a_dump_is_found_by_its_mapping(void **state)
{
	struct af_search_paths where = search_paths();
	struct af_sym_task *task;
	struct af_buf b = {0};
	char path[160];
	static const uint8_t code[64];
	uint64_t pc = 0x1010;
	uint32_t source = 0;

	snprintf(path, sizeof path, "%s/here", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/here/jit-%d.dump", dir, (int)getpid());
	dump_begin(&b, (uint32_t)getpid(), 0);
	dump_load(&b, 100, 0x1000, code, sizeof code, 1, "before");
	dump_load(&b, 200, 0x1000, code, sizeof code, 2, "after");
	int fd = dump_save(&b, path);
	assert_true(fd >= 0);
	void *mark = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(mark != MAP_FAILED);
	for (uint64_t time_ns = 150; time_ns <= 250; time_ns += 100) {
		task = af_sym_task_open();
		af_sym_task_process(task, 1, 0, (uint32_t)getpid(), now_ns(CLOCK_MONOTONIC), "");
		af_sym_task_stack(task, 1, 0, time_ns, (const uint8_t *)&pc, 1);
		af_sym_task_run(task, &where, NULL, NULL);
		const char *function = answer(task, &source);
		assert_non_null(function);
		assert_string_equal(function, time_ns == 150 ? "before" : "after");
		af_sym_task_close(task);
	}
	munmap(mark, 4096);
	close(fd);

	/* And by what the trace says of it, when the process is gone. */
	struct af_ev_mapping ev = {.start = 0x7000, .end = 0x8000};
	where.proc = NULL;
	task = af_sym_task_open();
	af_sym_task_process(task, 1, 0, (uint32_t)getpid(), 0, "");
	af_sym_task_mapping(task, 1, &ev, NULL, 0, path, strlen(path));
	af_sym_task_stack(task, 1, 0, 150, (const uint8_t *)&pc, 1);
	af_sym_task_run(task, &where, NULL, NULL);
	assert_string_equal(answer(task, &source), "before");
	af_sym_task_close(task);

	/* And in a folder where such files are kept. */
	char pattern[160];
	snprintf(pattern, sizeof pattern, "%s/*", dir);
	where.dump_dirs[0] = pattern;
	task = af_sym_task_open();
	af_sym_task_process(task, 1, 0, (uint32_t)getpid(), 0, "");
	af_sym_task_stack(task, 1, 0, 250, (const uint8_t *)&pc, 1);
	af_sym_task_run(task, &where, NULL, NULL);
	assert_string_equal(answer(task, &source), "after");
	af_sym_task_close(task);
	af_buf_free(&b);
}

static void processes_are_known_by_when_they_began(void **state)
{
	SKIP_EMULATED("the emulator runs in namespaces of its own");
	struct af_running l;

	af_running_open(&l, "/proc");
	uint64_t now = now_ns(CLOCK_BOOTTIME);
	const struct af_running_process *self = af_running_find(&l, getpid(), now, NULL);
	assert_non_null(self);
	assert_int_equal(self->pid, getpid());
	assert_int_equal(self->uid, geteuid());
	assert_false(self->elsewhere);
	/* A process seen before we began was another one. */
	assert_null(af_running_find(&l, getpid(), self->start_ns - 2000000000, NULL));
	assert_null(af_running_find(&l, getpid(), now, "/bin/another"));
	assert_true(af_running_open_path(&l, self, "relative") < 0);
	assert_true(af_running_open_path(&l, self, "/proc/self/exe") < 0);
	af_running_close(&l);
	af_running_open(&l, "/nowhere");
	assert_null(af_running_find(&l, getpid(), now, NULL));
	af_running_close(&l);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_file_deleted_under_a_process_is_read_through_it),
	    cmocka_unit_test(a_file_replaced_under_a_process_is_read_through_it),
	    cmocka_unit_test(a_map_in_another_namespace_is_found),
	    cmocka_unit_test(a_map_of_another_user_is_reported_of),
	    cmocka_unit_test(a_dump_is_found_by_its_mapping),
	    cmocka_unit_test(processes_are_known_by_when_they_began),
	};

	if (argc == 3 && !strcmp(argv[1], "--wait")) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(atoi(argv[2]), "", 1) != 1)
			return 1;
		for (;;)
			pause();
	}
	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
