/*
 * Demangles C++ and Rust names by libiberty, bounded in length, and cuts off compilers' suffixes.
 */
#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "sym/sym.h"

enum {
	DEMANGLE_INPUT = 8 << 10, /* longer names stay as they are */
	DEMANGLE_OUTPUT = AF_SYM_NAME_MAX,
};

/* Output so far. A mangled name of 200 bytes can stand for gigabytes: it stops when full. */
struct demangle_text {
	char bytes[DEMANGLE_OUTPUT];
	size_t len;
	jmp_buf full;
};

static void demangle_part(const char *part, size_t len, void *arg)
{
	struct demangle_text *t = arg;
	size_t room = sizeof t->bytes - t->len;

	memcpy(t->bytes + t->len, part, len < room ? len : room);
	if (len > room) {
		t->len = sizeof t->bytes;
		/* The demanglers hold nothing but stack while they print. */
		longjmp(t->full, 1);
	}
	t->len += len;
}

static int demangle_run(struct demangle_text *t, const char *mangled)
{
	if (setjmp(t->full))
		return 1;
	/*
	 * Rust's legacy scheme looks like C++, so it is asked first. Without DMGL_PARAMS arguments
	 * and the suffixes of clones are left out.
	 */
	int known = rust_demangle_callback(mangled, DMGL_NO_OPTS, demangle_part, t);
	if (!known) {
		t->len = 0;
		known = cplus_demangle_v3_callback(mangled, DMGL_NO_OPTS, demangle_part, t);
	}
	return known;
}

size_t af_sym_cut(char *text, size_t len, size_t most)
{
	static const char ellipsis[] = "\xe2\x80\xa6";

	if (len <= most)
		return len;
	size_t at = most - (sizeof ellipsis - 1);
	/* Not inside a character: bytes 10xxxxxx continue one (RFC 3629). */
	while (at && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	memcpy(text + at, ellipsis, sizeof ellipsis - 1);
	return at + sizeof ellipsis - 1;
}

/*
 * nvcc puts a prefix before static names in device code, "_INTERNAL_0a96884c_6_app_cu_k1::". Nobody
 * gave that name, so it is cut off.
 */
static size_t demangle_internal(char *text, size_t len)
{
	static const char prefix[] = "_INTERNAL_";
	enum { PREFIX = sizeof prefix - 1 };
	size_t to = 0;

	for (size_t at = 0; at < len;) {
		bool begins = !at || !(isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_');
		if (begins && len - at > PREFIX && !memcmp(text + at, prefix, PREFIX)) {
			size_t end = at + PREFIX;
			while (end < len && (isalnum((unsigned char)text[end]) || text[end] == '_'))
				end++;
			if (len - end > 2 && !memcmp(text + end, "::", 2)) {
				at = end + 2;
				continue;
			}
		}
		text[to++] = text[at++];
	}
	return to;
}

char *af_demangle(const char *mangled)
{
	struct demangle_text t;

	if (strncmp(mangled, "_Z", 2) && strncmp(mangled, "_R", 2) && strncmp(mangled, "__Z", 3))
		return NULL;
	if (strnlen(mangled, DEMANGLE_INPUT) == DEMANGLE_INPUT)
		return NULL;
	t.len = 0;
	if (!demangle_run(&t, mangled) || !t.len)
		return NULL;
	t.len = demangle_internal(t.bytes, t.len);
	size_t len = af_sym_cut(t.bytes, t.len, sizeof t.bytes - 1);
	char *text = af_xrealloc(NULL, len + 1);
	memcpy(text, t.bytes, len);
	text[len] = 0;
	return text;
}

/*
 * The number of bytes of @symbol before the suffix that a compiler appends to the name of a copy or
 * a part of a function.
 */
static size_t demangle_stem(const char *symbol, size_t len)
{
	static const char *const suffixes[] = {".cold",      ".part.", ".constprop.", ".isra.",
	                                       ".lto_priv.", ".llvm.", ".localalias", ".abi0"};

	for (size_t i = 1; i < len; i++) {
		if (symbol[i] != '.')
			continue;
		for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++)
			if (!strncmp(symbol + i, suffixes[k], strlen(suffixes[k])))
				return i;
	}
	return len;
}

char *af_function_name(const char *symbol)
{
	size_t len = strcspn(symbol, "@"), stem;
	const char *tail = !strcmp(symbol + len, "@plt") ? "@plt" : "";

	if (!len)
		len = strlen(symbol);
	len = stem = demangle_stem(symbol, len);
	char *name = af_xrealloc(NULL, stem + 1);
	memcpy(name, symbol, stem);
	name[stem] = 0;
	char *plain = af_demangle(name);
	if (plain) {
		free(name);
		name = plain;
		len = strlen(name);
	}
	len = af_sym_cut(name, len, AF_SYM_NAME_MAX - sizeof "@plt");
	name = af_xrealloc(name, len + strlen(tail) + 1);
	strcpy(name + len, tail);
	return name;
}

/* PoCL, lib/llvmopencl: Workgroup.cc names what it makes of a kernel after it. */
const char *af_sym_kernel_name(const char *symbol, size_t *len)
{
	static const char prefix[] = "_pocl_kernel_";
	static const char *const suffixes[] = {"_workgroup_fast", "_workgroup_argbuffer",
	                                       "_workgroup"};

	if (strncmp(symbol, prefix, sizeof prefix - 1))
		return NULL;
	symbol += sizeof prefix - 1;
	*len = strcspn(symbol, "@");
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		size_t n = strlen(suffixes[i]);

		if (*len > n && !strncmp(symbol + *len - n, suffixes[i], n)) {
			*len -= n;
			break;
		}
	}
	return *len ? symbol : NULL;
}
