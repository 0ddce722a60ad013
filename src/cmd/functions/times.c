/* Finds the exits of a function in its file, for the times of its calls. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "cmd/functions/private.h"
#include "sym/elf/fde.h"

bool functions_offset(const struct af_elf *e, uint64_t address, uint64_t *offset)
{
	Elf64_Phdr p;

	for (uint32_t i = 0; i < e->nr_segments; i++) {
		if (!af_elf_segment(e, i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		if (address < p.p_vaddr || address - p.p_vaddr >= p.p_filesz)
			continue;
		*offset = address - p.p_vaddr + p.p_offset;
		return true;
	}
	return false;
}

static const uint8_t *bytes_at(const void *arg, uint64_t address, uint64_t *left)
{
	const struct functions_around *a = arg;

	return af_elf_at(a->elf, address, left);
}

/* All of .plt is one FDE, or has none: each entry leads to another function. */
static bool in_plt(const struct af_elf *e, uint64_t address)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got"};
	Elf64_Shdr s;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (af_elf_named(e, names[i], &s) && address - s.sh_addr < s.sh_size)
			return true;
	return false;
}

/*
 * A piece of a function has a symbol that says so. In a stripped file it has an FDE with a stack
 * frame before its first instruction, or jumps lead into its middle, as they do into no function of
 * a compiler's. (Where people write such jumps, the exits of both are the right ones, too.) A piece
 * of neither kind counts as another function, in which the call ends.
 */
static bool part_at(const void *arg, uint64_t address, struct af_watch_part *part)
{
	const struct functions_around *a = arg;
	struct af_cfi_function f;

	for (uint32_t i = 0; i < a->nr_cold; i++)
		if (address - a->cold[i].start < a->cold[i].size) {
			*part = a->cold[i];
			return true;
		}
	if (in_plt(a->elf, address) || !af_cfi_function(&a->cfi, address, &f) ||
	    f.size == UINT64_MAX || address - f.start >= f.size)
		return false;
	*part = (struct af_watch_part){f.start, f.size};
	return f.start != address || af_fde_part_len(&a->cfi, address);
}

/* A symbol without a size: the code is as long as its FDE covers. */
static uint64_t size_by_fde(const struct af_cfi *c, uint64_t address)
{
	struct af_cfi_function f;

	return af_cfi_function(c, address, &f) && f.start == address && f.size != UINT64_MAX
	           ? f.size
	           : 0;
}

static int exits_keep(struct af_functions *to, struct af_watch_function *f,
                      const struct functions_around *around, const struct functions_exits *e,
                      struct af_err *err)
{
	uint32_t nr = e->nr;

	if (!nr)
		return 0; /* its calls are counted, and have no end */
	for (uint32_t i = 0; i < to->nr; i++)
		nr += to->all[i].nr_exits;
	if (nr > AF_WATCH_EXITS)
		return af_fail_plain(err, -EINVAL,
		                     "--uprobe: +RETURN: more than %u places where functions "
		                     "return, %s among them: name fewer functions",
		                     (unsigned)AF_WATCH_EXITS, f->name);
	struct af_watch_exit *all = af_arena_alloc(&to->memory, e->nr * sizeof *all);
	memcpy(all, e->all, e->nr * sizeof *all);
	for (uint32_t i = 0; i < e->nr; i++)
		if (!functions_offset(around->elf, all[i].address, &all[i].offset))
			return af_fail_plain(err, -EINVAL, "--uprobe: %s has code outside its file",
			                     f->name);
	f->exits = all;
	f->nr_exits = e->nr;
	memcpy(f->parts, e->parts, sizeof f->parts);
	return 0;
}

int functions_time(struct af_functions *to, struct af_watch_function *f,
                   const struct functions_around *around, struct af_err *err)
{
	const struct functions_code code = {bytes_at, part_at, around};
	struct functions_exits exits = {0};
	struct af_err why = {0};
	uint64_t size = f->size ? f->size : size_by_fde(&around->cfi, f->address);
	int rc = -ENOTSUP;

	if (around->elf->machine == EM_X86_64)
		rc = functions_exits_find(&exits, f->address, size, &code, &why);
	else
		af_fail_plain(&why, rc, "it is not for x86-64");
	if (rc && f->by_pattern) {
		functions_less_add(&to->untimed, f->name, why.msg);
		rc = 0;
	} else if (rc)
		rc = af_fail_plain(err, -EINVAL,
		                   "--uprobe: +RETURN: where %s of %s returns is not known: %s; "
		                   "without +RETURN its calls are counted",
		                   f->name, f->path, why.msg);
	else
		rc = exits_keep(to, f, around, &exits, err);
	functions_exits_free(&exits);
	return rc;
}
