/*
 * aflame-guest, the program that aflame prof records (README.md has its command line): it links
 * objects in memory and becomes their program. main() ends in a tail call, so the linked main() has
 * the callers that it has in any program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "guest/guest.h"

enum { GUEST_STATUS = 127 };

typedef int guest_main(int argc, char **argv, char **envp);

static struct {
	guest_main *main;
	int argc;
	char **argv;
	struct af_link *link;
	const char *image, *name;
	struct guest_input {
		const char *path, *name; /* for messages */
	} * inputs;
	int nr_inputs;
	bool prints_times;
	uint64_t last_ns;
} guest;

static void guest_time(const char *phase)
{
	uint64_t now_ns = af_clock_ns(CLOCK_MONOTONIC);

	if (guest.prints_times && guest.last_ns)
		fprintf(stderr, "aflame prof: %s: %.3f ms\n", phase,
		        (double)(now_ns - guest.last_ns) / 1e6);
	guest.last_ns = af_clock_ns(CLOCK_MONOTONIC);
}

static __attribute__((noreturn)) void guest_die(const char *message)
{
	fprintf(stderr, "aflame prof: %s\n", message);
	_exit(GUEST_STATUS);
}

static void guest_check(int rc, const struct af_err *err)
{
	if (rc)
		guest_die(err->msg);
}

/* The bytes of an input. They are read, not mapped, so that its end cannot be cut off meanwhile. */
static uint8_t *guest_read(const char *path, size_t *size, struct af_err *err)
{
	scope_close int fd = af_open_regular(AT_FDCWD, path, 0);
	struct stat st;
	ssize_t n;

	*size = 0;
	if (fd < 0 || fstat(fd, &st)) {
		af_fail(err, fd < 0 ? fd : -errno, "%s", path);
		return NULL;
	}
	uint8_t *bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		af_memory_is_out();
	while (*size < (size_t)st.st_size) {
		n = read(fd, bytes + *size, (size_t)st.st_size - *size);
		if (n <= 0)
			break;
		*size += (size_t)n;
	}
	return bytes;
}

static const char *option_value(char **argv, int argc, int *i)
{
	if (*i + 1 >= argc)
		guest_die("an option lacks its value");
	return argv[++*i];
}

static void guest_options(int argc, char **argv)
{
	const char *from = NULL;
	struct af_err err;
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--image"))
			guest.image = option_value(argv, argc, &i);
		else if (!strcmp(argv[i], "--name"))
			guest.name = option_value(argv, argc, &i);
		else if (!strcmp(argv[i], "--from"))
			from = option_value(argv, argc, &i);
		else if (!strcmp(argv[i], "--lib"))
			guest_check(guest_library(option_value(argv, argc, &i), &err), &err);
		else if (argv[i][0] == '-')
			guest_die("aflame-guest: unknown option");
		else {
			guest.inputs[guest.nr_inputs++] =
			    (struct guest_input){argv[i], from ? from : argv[i]};
			from = NULL;
		}
	}
	if (!guest.image || !guest.nr_inputs)
		guest_die("usage: aflame-guest --image FILE [--name NAME] [--lib NAME]… "
		          "[[--from SOURCE] INPUT]… [-- ARGUMENT…]");
	/* The program's arguments follow its name, in the place of "--". */
	guest.argc = i < argc ? argc - i : 1;
	guest.argv = i < argc ? argv + i : af_xcalloc(2, sizeof *guest.argv);
	guest.argv[0] = (char *)(guest.name ? guest.name : guest.inputs[0].path);
}

static void guest_undefined(const char *lines)
{
	for (const char *end; *lines; lines = end + 1) {
		end = strchr(lines, '\n');
		fprintf(stderr, "aflame prof: undefined symbol: %.*s\n", (int)(end - lines), lines);
	}
}

static void guest_link(int fd)
{
	struct af_link_host host = guest_host();
	struct af_err err;

	guest.link = af_link_new(&host);
	af_link_want(guest.link, "main");
	for (int i = 0; i < guest.nr_inputs; i++) {
		size_t size;
		const struct guest_input *in = &guest.inputs[i];
		uint8_t *bytes = guest_read(in->path, &size, &err);

		if (!bytes)
			guest_die(err.msg);
		guest_check(af_link_add(guest.link, in->name, bytes, size, &err), &err);
	}
	guest_time("inputs");
	int rc = af_link_layout(guest.link, &err);
	if (*af_link_undefined(guest.link)) {
		guest_undefined(af_link_undefined(guest.link));
		_exit(GUEST_STATUS);
	}
	guest_check(rc, &err);
	guest_time("layout");
	guest_check(af_link_map(guest.link, fd, &err), &err);
	guest_time("image");
}

static void guest_end(void)
{
	af_link_destruct(guest.link);
	guest_unregister();
}

/* Everything before the program. The memory of the linker stays: symbols and arrays are in it. */
static __attribute__((noinline)) void guest_prepare(int argc, char **argv, char **envp)
{
	guest.inputs = af_xcalloc((size_t)argc, sizeof *guest.inputs);
	guest.prints_times = getenv("AFLAME_GUEST_TIMES") != NULL;
	guest_time("");
	guest_options(argc, argv);
	/* A file of the caller's, who made it private. */
	int fd = open(guest.image, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "aflame prof: %s: %s\n", guest.image, strerror(errno));
		_exit(GUEST_STATUS);
	}
	guest_link(fd);
	guest_threads_begin(guest.link);
	const char *slash = strrchr(guest.argv[0], '/');
	prctl(PR_SET_NAME, slash ? slash + 1 : guest.argv[0]);
	guest_register(guest.link, fd);
	close(fd);
	guest.main = (guest_main *)af_link_symbol(guest.link, "main");
	guest_time("registration");
	atexit(guest_end);
	void (*begin)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "aflame_begin");
	if (begin)
		begin();
	af_link_construct(guest.link, guest.argc, guest.argv, envp);
}

int main(int argc, char **argv, char **envp)
{
	guest_prepare(argc, argv, envp);
	return guest.main(guest.argc, guest.argv, environ);
}
