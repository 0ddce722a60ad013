/*
 * dlsym(), interposed for programs that look functions of Level Zero up on a handle of its loader:
 * LLVM's OpenMP runtime, and programs that do without the loader where there is none. They get
 * zeInit of ours, and of libaflame-ze.so, where that is in the process, every function. All other
 * names go on to the real function by a jump, not a call: it looks at its caller.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "inject/api/shared.h"
#include "inject/core/interpose.h"
#include "inject/ze/ze.h"

typedef void *lookup(void *handle, const char *name);

/* Sanitizers look their functions up before they have begun. */
#define NOT_SANITIZED                                                                              \
	__attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))
#define BEFORE_SANITIZERS __attribute__((visibility("hidden"))) NOT_SANITIZED

#if defined __x86_64__

/* All are called by the code below only. */
void *af_ze_lookup(void *handle, const char *name);
lookup *af_ze_lookup_real(void);
lookup *af_ze_lookup_way(void *handle, const char *name);

__attribute__((visibility("hidden"))) _Atomic(lookup *) af_ze_lookup_found;

/*
 * The real dlsym, or that of the next library that has one. The version is that of glibc's first
 * one for this machine, which later ones still have.
 */
BEFORE_SANITIZERS lookup *af_ze_lookup_real(void)
{
	lookup *real = atomic_load_explicit(&af_ze_lookup_found, memory_order_relaxed);

	if (!real) {
		real = (lookup *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		atomic_store_explicit(&af_ze_lookup_found, real, memory_order_relaxed);
	}
	return real;
}

/* The function that stands in for @name, or NULL. */
NOT_SANITIZED static void *ours_named(const char *name, void *found)
{
	af_api_stand_in *stand_in = atomic_load_explicit(&af_api_stands_in, memory_order_acquire);
	void *ours = stand_in ? stand_in(name, found) : NULL;

	return ours                             ? ours
	       : !strcmp(name, "zeInit")        ? (void *)zeInit
	       : !strcmp(name, "zeInitDrivers") ? (void *)zeInitDrivers
	                                        : NULL;
}

BEFORE_SANITIZERS void *af_ze_lookup(void *handle, const char *name)
{
	void *found = af_ze_lookup_real()(handle, name);
	void *loaders = found ? af_ze_loader_function(name) : NULL;
	void *ours = ours_named(name, found && found == loaders ? found : NULL);

	if (!ours || !found)
		return found;
	/* Without a loader there is no such function, although we have one. */
	if (found == ours || found == (void *)zeInit || found == (void *)zeInitDrivers)
		return loaders ? ours : NULL;
	return found == loaders && af_ze_is_wanted() ? ours : found;
}

/*
 * Names that begin with "ze", of any handle but RTLD_NEXT. The default search depends on the
 * caller: names that are not ours are none of our business there.
 */
BEFORE_SANITIZERS lookup *af_ze_lookup_way(void *handle, const char *name)
{
	bool is_known = handle && atomic_load_explicit(&af_api_stands_in, memory_order_relaxed);

	return is_known || ours_named(name, NULL) ? af_ze_lookup : af_ze_lookup_real();
}

/*
 * %rdi: the handle, %rsi: the name. The other registers that hold arguments are not used by dlsym.
 */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "	.cfi_startproc\n"
        "	endbr64\n"
        "	testq %rsi, %rsi\n"
        "	jz 1f\n"
        "	cmpb $'z', (%rsi)\n"
        "	jne 1f\n"
        "	cmpb $'e', 1(%rsi)\n"
        "	jne 1f\n"
        "	cmpq $-1, %rdi\n"
        "	je 1f\n"
        "	leaq af_ze_lookup_way(%rip), %rax\n"
        "	jmp 2f\n"
        "1:	movq af_ze_lookup_found(%rip), %rax\n"
        "	testq %rax, %rax\n"
        "	jz 3f\n"
        "	jmp *%rax\n"
        "3:	leaq af_ze_lookup_real(%rip), %rax\n"
        "2:	pushq %rdi\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	pushq %rsi\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	subq $8, %rsp\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	call *%rax\n"
        "	addq $8, %rsp\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rsi\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rdi\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	jmp *%rax\n"
        "	.cfi_endproc\n"
        "	.size dlsym, . - dlsym\n");

void *af_ze_function(void *library, const char *name)
{
	lookup *real = library ? af_ze_lookup_real() : NULL;

	return real ? real(library, name) : NULL;
}

#else

/* Elsewhere dlsym is the real one: such programs are not recorded. */
void *af_ze_function(void *library, const char *name)
{
	return library ? dlsym(library, name) : NULL;
}

#endif
