#include "exchange/perf/kernel.h"

#include <string.h>

static bool begins_with(const char *text, size_t len, const char *what)
{
	size_t n = strlen(what);

	return len >= n && !memcmp(text, what, n);
}

/* NAME.ko, and behind that what it is packed with or that it has symbols only: .xz, .debug. */
static bool is_module_file(const char *name, size_t len)
{
	static const char *const ends[] = {"", ".xz", ".zst", ".gz", ".bz2", ".lz4", ".debug"};

	for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t n = strlen(ends[i]);
		if (len > n + 3 && !memcmp(name + len - n, ends[i], n) &&
		    !memcmp(name + len - n - 3, ".ko", 3))
			return true;
	}
	return false;
}

bool perf_kernel_module(const char *module, size_t len)
{
	static const char *const user[] = {"[unknown]", "[vdso]", "[vsyscall]", "[heap]",
	                                   "[stack",    "[anon",  "[uprobes]",  "[sigpage]",
	                                   "[vectors]", "[vvar"};
	static const char *const code[] = {"bpf_prog_", "bpf_trampoline_", "bpf_dispatcher_"};
	const char *slash = memrchr(module, '/', len), *name = slash ? slash + 1 : module;
	size_t n = len - (size_t)(name - module);

	if (len && *module == '[') {
		for (unsigned i = 0; i < sizeof user / sizeof *user; i++)
			if (begins_with(module, len, user[i]))
				return false;
		return true;
	}
	for (unsigned i = 0; i < sizeof code / sizeof *code; i++)
		if (begins_with(module, len, code[i]))
			return true;
	/* vmlinux, vmlinux-6.1.0-18-amd64, vmlinux.debug; a copy that perf keeps of kallsyms. */
	return (begins_with(name, n, "vmlinux") && (n == 7 || name[7] == '-' || name[7] == '.')) ||
	       is_module_file(name, n) || memmem(module, len, "/[kernel.", 9) != NULL ||
	       (len == 11 && !memcmp(module, "/proc/kcore", 11));
}
