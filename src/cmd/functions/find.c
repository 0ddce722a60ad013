/*
 * Finds functions in an ELF file by name: in its own symbol tables, in those of its debug file, and
 * in its MiniDebugInfo.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cmd/functions/private.h"
#include "cmd/options/nearest.h"
#include "sym/elf/unpack.h"
#include "sym/module/fetch.h"
#include "sym/module/finder.h"
#include "sym/sym.h"

enum {
	NEAR_MOST = 4,    /* names in a message */
	NAME_MOST = 2048, /* longer symbols are passed over */
};

struct find {
	struct af_functions *to;
	const struct functions_file *file;
	const struct functions_word *word;
	const struct af_elf *elf; /* the file itself, whose segments say where addresses lie */
	struct functions_around around;
	bool is_timed[AF_WATCH_FUNCTIONS]; /* the exits of this one of @to are wanted */
	uint32_t nr_symbols, nr_found;
	bool is_pattern, has_ifunc, is_full;
	char near[NEAR_MOST][128]; /* names that have the word in them */
	uint32_t nr_near;
	struct af_nearest nearest;
	char best[128]; /* where af_nearest_best() lies */
};

static void function_add(struct find *f, uint64_t offset, const Elf64_Sym *s, const char *name)
{
	struct af_functions *to = f->to;
	char path[sizeof f->file->root + PATH_MAX];

	f->nr_found++;
	/* Other names of the place. */
	snprintf(path, sizeof path, "%s%s", f->file->root, f->file->path);
	for (uint32_t i = 0; i < to->nr; i++)
		if (to->all[i].offset == offset && !strcmp(to->all[i].path, path)) {
			if (f->word->every < to->all[i].every)
				to->all[i].every = f->word->every;
			if (!to->all[i].size)
				to->all[i].size = s->st_size;
			to->all[i].by_pattern &= f->is_pattern;
			f->is_timed[i] = f->word->returns;
			return;
		}
	f->is_full = to->nr == AF_WATCH_FUNCTIONS;
	if (f->is_full)
		return;
	to->all[to->nr++] = (struct af_watch_function){
	    .path = af_arena_strdup(&to->memory, path, strlen(path)),
	    .name = af_arena_strdup(&to->memory, name, strlen(name)),
	    .offset = offset,
	    .address = s->st_value,
	    .size = s->st_size,
	    .every = f->word->every,
	    .by_pattern = f->is_pattern,
	};
	f->is_timed[to->nr - 1] = f->word->returns;
}

static bool is_named(const struct find *f, const char *name)
{
	const char *word = f->word->function;

	return !strcmp(word, name) || (f->is_pattern && !fnmatch(word, name, 0));
}

static void name_offer(struct find *f, const char *name)
{
	const char *was = f->nearest.best;

	if (strlen(name) >= sizeof f->best)
		return;
	af_nearest_offer(&f->nearest, name);
	if (f->nearest.best != was) {
		strcpy(f->best, name);
		f->nearest.best = f->best;
	}
	if (f->nr_near == NEAR_MOST || !strcasestr(name, f->word->function))
		return;
	for (uint32_t i = 0; i < f->nr_near; i++)
		if (!strcmp(f->near[i], name))
			return;
	strcpy(f->near[f->nr_near++], name);
}

/*
 * gcc's and clang's name for a piece of a function that runs seldom and lies elsewhere. It is
 * entered by jumps, so that no pattern means it.
 */
static bool is_cold(struct find *f, const Elf64_Sym *s, const char *name)
{
	struct functions_around *a = &f->around;

	if (!strstr(name, ".cold"))
		return false;
	AF_GROW(a->cold, a->nr_cold, a->cap_cold);
	a->cold[a->nr_cold++] = (struct af_watch_part){s->st_value, s->st_size};
	return f->is_pattern;
}

static void symbol_take(struct find *f, const Elf64_Sym *s, const char *symbol)
{
	char name[NAME_MOST];
	size_t len = strcspn(symbol, "@"); /* its version */
	uint64_t offset;

	if (!len || len >= sizeof name || !functions_offset(f->elf, s->st_value, &offset))
		return;
	memcpy(name, symbol, len);
	name[len] = 0;
	f->nr_symbols++;
	if (is_cold(f, s, name))
		return;
	scope_free char *demangled = af_demangle(name);
	if (!is_named(f, name) && !(demangled && is_named(f, demangled))) {
		name_offer(f, demangled ? demangled : name);
		return;
	}
	if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
		f->has_ifunc = true;
	else
		function_add(f, offset, s, demangled ? demangled : name);
}

/* gABI, "Symbol Table"; @e has the symbols. */
static void symbols_take(struct find *f, const struct af_elf *e)
{
	Elf64_Shdr table, strings;
	Elf64_Sym s;

	for (uint32_t i = 1; i < e->nr_sections; i++) {
		if (!af_elf_section(e, i, &table) ||
		    (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) ||
		    table.sh_entsize != af_elf_symbol_size(e) ||
		    !af_elf_section(e, table.sh_link, &strings))
			continue;
		for (uint64_t k = 0; k < table.sh_size / af_elf_symbol_size(e); k++) {
			af_elf_symbol(e, &table, k, &s);
			unsigned type = ELF64_ST_TYPE(s.st_info);
			if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
			    s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS)
				continue;
			const char *name = af_elf_string(e, &strings, s.st_name);
			if (name && *name)
				symbol_take(f, &s, name);
		}
	}
}

static void minidebug_take(struct find *f)
{
	scope_free uint8_t *data = NULL;
	struct af_elf mini;
	size_t size;

	if (!af_unpack_minidebug(f->elf, &data, &size) && !af_elf_parse(&mini, data, size))
		symbols_take(f, &mini);
}

/* Nothing is called that: near names, and what can be done. */
static int nothing_found(struct find *f, const struct af_found *file, bool has_debug,
                         struct af_err *err)
{
	struct af_buf near = {0};
	const char *best = af_nearest_best(&f->nearest);
	Elf64_Shdr section;

	if (f->has_ifunc)
		return af_fail_plain(err, -EINVAL,
		                     "--uprobe: %s of %s is chosen by ld.so among several "
		                     "(IFUNC): name the one that this machine runs, which `aflame "
		                     "report` shows, or a pattern: '*%s*'",
		                     f->word->function, f->file->path, f->word->function);
	for (uint32_t i = 0; i < f->nr_near; i++)
		af_buf_fmt(&near, "%s%s", near.len ? ", " : "", f->near[i]);
	if (best && !f->nr_near)
		af_buf_fmt(&near, "%s", best);
	bool stripped = !has_debug && !af_elf_named(&file->elf, ".symtab", &section);
	int rc = af_fail_plain(err, -EINVAL, "--uprobe: %s has no function %s%s%.*s%s%s",
	                       f->file->path, f->word->function, near.len ? "; near names: " : "",
	                       (int)near.len, near.data ? near.data : "",
	                       stripped ? "; only exported names are known, as it is stripped: "
	                                  "install its debug symbols (Debian: -dbgsym), or set "
	                                  "DEBUGINFOD_URLS"
	                                : "",
	                       f->nr_symbols ? "" : " (it has no names at all)");
	af_buf_free(&near);
	return rc;
}

static int timed_find(struct find *f, struct af_err *err)
{
	int rc = 0;

	f->around.elf = f->elf;
	if (f->word->returns)
		af_cfi_open(&f->around.cfi, f->elf, AF_CFI_INDEX_MAX, NULL);
	for (uint32_t i = 0; !rc && i < f->to->nr; i++)
		if (f->is_timed[i] && !f->to->all[i].nr_exits)
			rc = functions_time(f->to, &f->to->all[i], &f->around, err);
	af_cfi_close(&f->around.cfi);
	return rc;
}

static int file_search(struct find *f, const struct af_finder *finder, struct af_err *err)
{
	struct af_found file = {0}, debug = {0};
	int rc = af_finder_file(finder, &file, f->file->path, true, NULL, 0);

	if (rc)
		return af_fail_plain(err, -EINVAL, "--uprobe: %s is no ELF file that can be read",
		                     f->file->path);
	f->elf = &file.elf;
	symbols_take(f, &file.elf);
	bool has_debug = af_finder_debug(finder, &debug, &file.elf, f->file->path);
	if (has_debug)
		symbols_take(f, &debug.elf);
	else
		minidebug_take(f);
	if (f->is_full)
		rc = af_fail_plain(err, -EINVAL,
		                   "--uprobe: more than %u functions, %s of %s among them: name "
		                   "fewer",
		                   (unsigned)AF_WATCH_FUNCTIONS, f->word->function, f->file->path);
	else if (!f->nr_found || (f->has_ifunc && !f->is_pattern))
		rc = nothing_found(f, &file, has_debug, err);
	else
		rc = timed_find(f, err);
	free(f->around.cold);
	f->elf = NULL;
	af_found_close(&debug);
	af_found_close(&file);
	return rc;
}

int functions_find_in(struct af_functions *to, const struct functions_file *file,
                      const struct functions_word *word, struct af_err *err)
{
	struct find f = {
	    .to = to,
	    .file = file,
	    .word = word,
	    .is_pattern = strpbrk(word->function, "*?[") != NULL,
	};
	struct af_finder finder = {
	    .root = *file->root ? file->root : NULL,
	    .fetch = af_fetch_open(NULL, NULL),
	};

	af_nearest_init(&f.nearest, word->function);
	int rc = file_search(&f, &finder, err);
	af_fetch_close(finder.fetch);
	return rc;
}
