#include "sym/device/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/sha256.h"
#include "base/strtab.h"
#include "base/system/fs.h"
#include "base/write.h"
#include "sym/device/code_object.h"
#include "sym/device/disassembler.h"
#include "sym/device/listing_parse.h"
#include "sym/device/sass.h"
#include "sym/module/cache.h"

enum {
	/*
	 * A small object is disassembled as a whole; a larger one as a whole once more than so many
	 * of its functions were requested; of a huge one, at most so many functions are
	 * disassembled.
	 */
	LISTING_AT_ONCE = 1 << 20,
	LISTING_FUNCTIONS = 4,
	LISTING_WHOLE = 32 << 20,
	LISTING_RUNS = 64,
	LISTING_TRIES = 4, /* disassemblers: an old one does not know new code */
	LISTING_FILE_MAX = 64 << 20,
};

/* The first line of a file in the cache. */
#define LISTING_MAGIC "aflame text 1\n"

struct listing_insn {
	uint64_t offset; /* in the section, or the address */
	uint32_t text;
};

struct listing_function {
	struct listing_insn *insns;
	uint32_t nr, cap;
	bool asked;
};

struct af_listing {
	struct af_code *code;
	char *sha;
	struct af_strtab texts;
	struct listing_function *functions; /* what is within a kernel is kept with it */
	uint32_t runs;
	enum af_disassembler_kind kind;
	bool whole; /* there is no more to ask for */
	const char *source;
	char reason[600];
};

static int listing_order(const void *a, const void *b)
{
	const struct listing_insn *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The function that instructions of section @name are kept with, -1 for none. */
static int64_t listing_section(const struct af_listing *l, const char *name, size_t len)
{
	scope_free char *text = af_xstrndup(name, len);
	int i = af_code_find(l->code, text, 0);

	return i < 0 ? -1 : (int64_t)af_code_function(l->code, (uint32_t)i)->holder;
}

/* Take lines in the form of listing_parse.h; false when they contain no instruction. */
static bool listing_load(struct af_listing *l, const char *lines, size_t size)
{
	uint32_t nr_functions = af_code_nr_functions(l->code);
	struct af_listing_line line;
	int64_t current = -1;
	uint64_t holder;
	bool any = false;

	while (af_listing_next(&lines, &size, &line)) {
		if (line.is_function) {
			current = listing_section(l, line.text, line.len);
			continue;
		}
		if (l->kind == AF_DISASSEMBLER_OBJDUMP)
			current = af_code_find_address(l->code, line.offset, &holder);
		if (current < 0 || current >= nr_functions)
			continue;
		struct listing_function *f = &l->functions[current];
		AF_GROW(f->insns, f->nr, f->cap);
		f->insns[f->nr++] = (struct listing_insn){
		    line.offset, af_strtab_id(&l->texts, line.text, line.len)};
		any = true;
	}
	for (uint32_t i = 0; i < nr_functions; i++)
		AF_SORT(l->functions[i].insns, l->functions[i].nr, listing_order);
	return any;
}

/* The name of a cache file, which stands for the object, the function and the program. */
static void listing_name(const struct af_listing *l, const struct af_disassembler *d, int index,
                         char name[AF_SHA256_HEX + 8])
{
	char identity[PATH_MAX + 80], key[PATH_MAX + 240], hex[AF_SHA256_HEX];

	af_disassembler_identity(d, identity, sizeof identity);
	int len =
	    snprintf(key, sizeof key, "%s\n%s\n%.100s\n%d", LISTING_MAGIC, identity, l->sha, index);
	af_sha256_hex(key, (size_t)len, hex);
	snprintf(name, AF_SHA256_HEX + 8, "text-%s", hex);
}

static bool listing_cached(struct af_listing *l, const char *name)
{
	struct af_cache cache;
	struct af_file file;
	struct stat st;
	bool good = false;
	size_t magic = strlen(LISTING_MAGIC);

	af_cache_open(&cache, NULL);
	scope_close int dir = cache.dirfd;
	if (dir < 0)
		return false;
	scope_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || st.st_uid != geteuid() || st.st_size > LISTING_FILE_MAX ||
	    af_file_map_fd(&file, fd))
		return false;
	if (file.size > magic && !memcmp(file.data, LISTING_MAGIC, magic))
		good = listing_load(l, (const char *)file.data + magic, file.size - magic);
	if (good)
		futimens(fd, NULL);
	af_file_unmap(&file);
	return good;
}

/* A failure only means that the next time takes as long as this one. */
static void listing_keep(const char *name, const struct af_buf *lines)
{
	struct af_cache cache;
	char temporary[AF_SHA256_HEX + 40];

	if (lines->len > LISTING_FILE_MAX - 64 || !af_file_size_allowed(lines->len + 64))
		return;
	af_cache_open(&cache, NULL);
	if (cache.dirfd < 0)
		return;
	snprintf(temporary, sizeof temporary, ".%s.%d", name, (int)getpid());
	scope_close int fd = af_create_private(cache.dirfd, temporary);
	if (fd >= 0 && (af_write_all(fd, LISTING_MAGIC, strlen(LISTING_MAGIC)) ||
	                af_write_all(fd, lines->data, lines->len) ||
	                renameat(cache.dirfd, temporary, cache.dirfd, name)))
		unlinkat(cache.dirfd, temporary, 0);
	af_cache_close(&cache);
}

/* Parse @out, the listing of the function at @index, into lines. */
static void listing_parse(struct af_listing *l, int index, struct af_buf *lines,
                          const struct af_buf *out)
{
	if (l->kind == AF_DISASSEMBLER_OBJDUMP) {
		af_listing_objdump(lines, out->data, out->len);
	} else if (l->kind == AF_DISASSEMBLER_NVDISASM) {
		af_listing_nvdisasm(lines, out->data, out->len);
	} else if (index >= 0) {
		const struct af_code_function *f = af_code_function(l->code, (uint32_t)index);

		af_buf_fmt(lines, "f %s\n", f->name);
		af_listing_iga64(lines, f->start, out->data, out->len);
	}
}

/* Run one disassembler, or read its earlier output from the cache. */
static bool listing_ask(struct af_listing *l, const struct af_disassembler *d, int index)
{
	struct af_buf out = {0}, lines = {0};
	char name[AF_SHA256_HEX + 8] = "";
	struct af_err err = {0};
	bool good;

	if (l->sha) {
		listing_name(l, d, index, name);
		if (listing_cached(l, name))
			return true;
	}
	good = !af_disassembler_run(d, l->code, index, &out, &err);
	if (good)
		listing_parse(l, index, &lines, &out);
	good = good && lines.len && listing_load(l, lines.data, lines.len);
	if (good && l->sha)
		listing_keep(name, &lines);
	if (!good)
		snprintf(l->reason, sizeof l->reason, "%s",
		         err.code ? err.msg : "the disassembler printed no instructions");
	af_buf_free(&out);
	af_buf_free(&lines);
	return good;
}

/* Disassemble the function at @index, or all functions when it is negative. */
static void listing_fill(struct af_listing *l, int index)
{
	struct af_disassembler *d = af_xcalloc(1, sizeof *d);
	unsigned n = 0;

	l->whole = index < 0;
	for (uint32_t i = 0; l->whole && i < af_code_nr_functions(l->code); i++)
		l->functions[i].nr = 0;
	while (n < LISTING_TRIES && af_disassembler_find(d, l->kind, n)) {
		n++;
		if (listing_ask(l, d, index)) {
			l->source = af_disassembler_name(l->kind);
			*l->reason = 0;
			break;
		}
	}
	if (!n)
		snprintf(l->reason, sizeof l->reason, "there is no %s here",
		         af_disassembler_name(l->kind));
	free(d);
}

/* Was all of it asked for before? */
static bool listing_known(struct af_listing *l)
{
	struct af_disassembler *d = af_xcalloc(1, sizeof *d);
	char name[AF_SHA256_HEX + 8];

	if (l->sha && af_disassembler_find(d, l->kind, 0)) {
		listing_name(l, d, -1, name);
		l->whole = listing_cached(l, name);
	}
	if (l->whole)
		l->source = af_disassembler_name(l->kind);
	free(d);
	return l->whole;
}

struct af_listing *af_listing_open(struct af_code *code, const char *sha)
{
	struct af_listing *l = af_xcalloc(1, sizeof *l);

	l->code = code;
	l->sha = sha && *sha ? af_xstrdup(sha) : NULL;
	l->kind = af_disassembler_kind(code);
	l->source = l->kind == AF_DISASSEMBLER_NVDISASM ? "aflame's table" : "";
	l->functions = af_xcalloc(af_code_nr_functions(code) + 1U, sizeof *l->functions);
	if (!code->elf.data) {
		l->source = "the trace";
		l->whole = true;
	} else if (l->kind != AF_DISASSEMBLER_IGA64 && !listing_known(l) &&
	           code->elf.size <= LISTING_AT_ONCE) {
		listing_fill(l, -1);
	}
	return l;
}

void af_listing_close(struct af_listing *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < af_code_nr_functions(l->code); i++)
		free(l->functions[i].insns);
	free(l->functions);
	af_strtab_free(&l->texts);
	free(l->sha);
	free(l);
}

static const char *listing_decoded(struct af_listing *l, const struct af_code_function *fn,
                                   uint64_t offset)
{
	char text[AF_SASS_TEXT_MAX];
	struct af_sass insn;

	if (l->kind != AF_DISASSEMBLER_NVDISASM || !fn->bytes || fn->size < AF_SASS_BYTES ||
	    offset % AF_SASS_BYTES || offset > fn->size - AF_SASS_BYTES)
		return NULL;
	af_sass_decode(af_code_sm(l->code), fn->bytes + offset, &insn);
	af_sass_text(&insn, text);
	return af_strtab_get(&l->texts, af_strtab_id_z(&l->texts, text));
}

const char *af_listing_text(struct af_listing *l, uint32_t i, uint64_t offset)
{
	const char *text = af_code_text(l->code, i, offset);

	if (text || i >= af_code_nr_functions(l->code))
		return text;
	const struct af_code_function *fn = af_code_function(l->code, i);
	struct listing_function *f = &l->functions[fn->holder];
	if (!l->whole && !f->asked && l->runs < LISTING_RUNS) {
		bool all = l->kind != AF_DISASSEMBLER_IGA64 && l->runs == LISTING_FUNCTIONS &&
		           l->code->elf.size <= LISTING_WHOLE;

		f->asked = true;
		l->runs++;
		listing_fill(l, all ? -1 : (int)fn->holder);
	}
	struct listing_insn *found = NULL;
	if (f->nr)
		found = bsearch(&(struct listing_insn){fn->start + offset, 0}, f->insns, f->nr,
		                sizeof *f->insns, listing_order);
	return found ? af_strtab_get(&l->texts, found->text) : listing_decoded(l, fn, offset);
}

const char *af_listing_source(const struct af_listing *l)
{
	return l->source;
}

const char *af_listing_reason(const struct af_listing *l)
{
	return l->reason;
}
