#include "analyse/tree/module_key.h"

#include <ctype.h>
#include <string.h>

/* Before a version or a wheel's hash: the "-" of the end of @name that is made of @digits. */
static size_t tail_cut(const char *name, size_t len, const char *digits, size_t least)
{
	size_t at = len;

	while (at && strchr(digits, name[at - 1]))
		at--;
	return at > 1 && name[at - 1] == '-' && len - at >= least ? at - 1 : len;
}

/* For a library the part before its version; for other files all. */
static void key_of_file(struct af_buf *b, const char *path)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;
	size_t len = strlen(name), gone = sizeof deleted - 1, stem = len;

	if (len > gone && !strcmp(name + len - gone, deleted))
		stem = len = len - gone;
	for (size_t i = 1; i + 3 <= len && stem == len; i++)
		if (!memcmp(name + i, ".so", 3) && (i + 3 == len || name[i + 3] == '.'))
			stem = i;
	if (stem == len) {
		af_buf_add(b, name, len);
		return;
	}
	size_t hash = tail_cut(name, stem, "0123456789abcdef", 8);
	af_buf_add(b, name, hash < stem ? hash : tail_cut(name, stem, "0123456789.", 1));
	af_buf_str(b, ".so");
}

/*
 * "vmlinux-6.1", "[kernel.kallsyms]_text" and "[guest.kernel…" are the kernel; "ext4.ko.xz" ext4.
 */
static void key_of_kernel(struct af_buf *b, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;
	const char *ko = strstr(name, ".ko");

	name += *name == '[';
	size_t len = ko > name ? (size_t)(ko - name) : strcspn(name, "]");
	bool is_kernel = !strncmp(name, "vmlinux", 7) || !strncmp(name, "kernel.", 7) ||
	                 !strncmp(name, "guest.kernel", 12);

	af_buf_char(b, '[');
	if (is_kernel)
		af_buf_str(b, "kernel");
	else
		af_buf_add(b, name, len);
	af_buf_char(b, ']');
}

/* Files that runtimes write their code to, and the names that perf gives them. */
static bool is_made_at_run_time(const char *module)
{
	const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;

	return !strncmp(name, "jitted-", 7) || !strncmp(name, "[jit", 4) ||
	       (!strncmp(name, "perf-", 5) && isdigit((unsigned char)name[5])) ||
	       !strncmp(name, "[anon", 5) || !strncmp(module, "//anon", 6) ||
	       !strncmp(name, "memfd:", 6);
}

void af_module_key(struct af_buf *b, enum af_frame frame, const char *module, const char *file)
{
	const char *of = module && *module ? module : file;

	if (!of || !*of)
		return;
	if (frame == AF_FRAME_KERNEL && of == module)
		key_of_kernel(b, of);
	else if ((frame == AF_FRAME_NATIVE || frame == AF_FRAME_INLINED || frame == AF_FRAME_MPI) &&
	         !is_made_at_run_time(of))
		key_of_file(b, of);
}
