#include "cmd/functions/heads.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "cmd/functions/moved.h"
#include "cmd/functions/private.h"
#include "cmd/functions/tails.h"
#include "sym/module/finder.h"
#include "unwind/elf_file.h"

#ifndef AF_HAVE_CAPSTONE

int af_functions_heads(struct af_functions *f, struct af_probe *to, uint32_t *nr,
                       struct af_err *err)
{
	(void)f, (void)to, (void)nr;
	return af_fail_plain(err, -ENOTSUP,
	                     "without root it needs a disassembler, which this build of aflame has "
	                     "not: install Capstone (Debian: libcapstone-dev) and build it again");
}

#else

#include <capstone/capstone.h>

struct heads {
	const struct af_watch_function *f;
	struct af_elf elf;
	csh handle;
	cs_insn *insn;
	struct functions_code code; /* of @elf */
	struct functions_tails tails;
	const char *why; /* it is refused */
	struct af_err *err;
};

static const uint8_t *bytes_at(const void *elf, uint64_t address, uint64_t *left)
{
	return af_elf_at(elf, address, left);
}

static int refused(struct heads *h, const char *why)
{
	h->why = why;
	return -ENOTSUP;
}

/*
 * Whole instructions, as many as a jump takes; behind the function's end it may take what fills the
 * room before the next one.
 */
static int head_read(struct heads *h, struct af_probe *to, const uint8_t *code, size_t left)
{
	const uint64_t size = h->f->size;
	uint64_t address = h->f->address;
	const uint8_t *at = code;

	while (to->len < AF_PROBE_JUMP && to->len < size) {
		if (!left || !cs_disasm_iter(h->handle, &at, &left, &address, h->insn))
			return refused(h, "its instructions are not known");
		if (!functions_move(to, h->insn))
			return refused(h, "its first instructions work only where they are");
		to->len += h->insn->size;
	}
	if (to->len < AF_PROBE_JUMP &&
	    functions_next(h->handle, h->insn, at, left, address) < to->address + AF_PROBE_JUMP)
		return refused(h, "it is too short");
	if (to->len < AF_PROBE_JUMP)
		to->len = AF_PROBE_JUMP;
	if (to->len > AF_PROBE_HEAD)
		to->len = AF_PROBE_HEAD;
	memcpy(to->head, code, to->len);
	return 0;
}

/* Nothing of the function jumps behind the first byte of what a jump is to replace. */
static int jumps_check(struct heads *h, const struct af_probe *to, const uint8_t *code, size_t left)
{
	uint64_t address = h->f->address;

	while (left) {
		if (!cs_disasm_iter(h->handle, &code, &left, &address, h->insn))
			return refused(h, "some of its instructions are not known");
		const cs_x86 *x = &h->insn->detail->x86;
		if (!functions_branches(h->insn) || !x->op_count ||
		    x->operands[0].type != X86_OP_IMM)
			continue;
		uint64_t into = (uint64_t)x->operands[0].imm - h->f->address;
		if (into && into < to->len)
			return refused(h, "it has a loop over its first instructions");
	}
	return 0;
}

static int function_probe(struct heads *h, struct af_probe *to)
{
	const struct af_watch_function *f = h->f;
	uint64_t left = 0;
	const uint8_t *code = af_elf_at(&h->elf, f->address, &left);
	Elf64_Shdr go;

	if (h->elf.machine != EM_X86_64)
		return refused(h, "it is not of x86-64");
	if (af_elf_named(&h->elf, ".gopclntab", &go))
		return refused(h, "its program is of Go, whose stacks are too small for it");
	if (!code || !f->size || f->size > left)
		return refused(h, "the end of its code is not known");
	to->address = f->address;
	to->every = f->every;
	strncpy(to->name, f->name, AF_PROBE_NAME);
	int rc = head_read(h, to, code, left);
	return rc ? rc : jumps_check(h, to, code, f->size);
}

static int function_refused(const struct heads *h, const char *how)
{
	return af_fail_plain(h->err, -ENOTSUP, "without root %s cannot be %s: %s; leave it out",
	                     h->f->name, how, h->why);
}

/* The function @i, of those that a pattern named, has no probe: those behind it move up. */
static void function_drop(struct heads *h, struct af_functions *f, uint32_t i)
{
	functions_less_add(&f->unprobed, f->all[i].name, h->why);
	memmove(&f->all[i], &f->all[i + 1], (f->nr - i - 1) * sizeof *f->all);
	f->nr--;
}

static bool is_of_file(const struct af_functions *f, uint32_t i, const char *path)
{
	return i < f->nr && !strcmp(f->all[i].path, path);
}

/* Probes of the functions of one file from *@i on, to which they are numbers; behind the last. */
static int heads_take(struct heads *h, struct af_functions *f, uint32_t *i, const struct stat *st)
{
	const char *path = f->all[*i].path;

	while (is_of_file(f, *i, path)) {
		struct af_probe *to = &h->tails.all[*i];
		h->f = &f->all[*i];
		*to = (struct af_probe){.dev = st->st_dev, .ino = st->st_ino};
		int rc = h->why ? -ENOTSUP : function_probe(h, to);
		if (rc && !h->f->by_pattern)
			return function_refused(h, "probed");
		if (rc)
			function_drop(h, f, *i);
		else
			++*i;
		h->why = NULL;
	}
	return 0;
}

/* The same of their exits. */
static int tails_take(struct heads *h, struct af_functions *f, uint32_t *i)
{
	const char *path = f->all[*i].path;

	for (; is_of_file(f, *i, path); ++*i) {
		struct af_watch_function *one = &f->all[*i];
		h->f = one;
		if (!one->nr_exits || functions_tails_add(&h->tails, one, *i))
			continue;
		h->why = h->tails.why;
		if (!one->by_pattern)
			return function_refused(h, "timed");
		functions_less_add(&f->untimed, one->name, h->why);
		one->nr_exits = 0;
	}
	return 0;
}

/* All files, for the heads or, when all functions are known, for the tails. */
static int files_take(struct heads *h, struct af_functions *f, bool tails)
{
	const struct af_finder finder = {0};
	int rc = 0;

	for (uint32_t i = 0; !rc && i < f->nr;) {
		const char *path = f->all[i].path;
		struct af_found file = {0};
		struct stat st = {0};
		bool is_there =
		    !stat(path, &st) && !af_finder_file(&finder, &file, path, true, NULL, 0);
		h->why = is_there ? NULL : "its file is no ELF file that can be read";
		h->elf = file.elf;
		rc = tails ? tails_take(h, f, &i) : heads_take(h, f, &i, &st);
		af_found_close(&file);
	}
	return rc;
}

int af_functions_heads(struct af_functions *f, struct af_probe *to, uint32_t *nr,
                       struct af_err *err)
{
	struct heads h = {.tails.all = to, .err = err};

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &h.handle) != CS_ERR_OK)
		return af_fail_plain(err, -ENOTSUP, "Capstone cannot read code of x86-64");
	cs_option(h.handle, CS_OPT_DETAIL, CS_OPT_ON);
	h.insn = cs_malloc(h.handle);
	if (!h.insn) {
		cs_close(&h.handle);
		return af_fail(err, -ENOMEM, "cannot disassemble");
	}
	h.code = (struct functions_code){.bytes = bytes_at, .arg = &h.elf};
	h.tails.handle = h.handle;
	h.tails.code = &h.code;
	int rc = files_take(&h, f, false);
	if (!rc && !f->nr)
		rc = af_fail_plain(err, -ENOTSUP,
		                   "without root none of the %u functions that match can be "
		                   "probed: %s",
		                   f->unprobed.nr, f->unprobed.first);
	h.tails.nr = f->nr;
	h.tails.most = f->nr + AF_PROBES_EXITS_MOST;
	if (!rc)
		rc = files_take(&h, f, true);
	*nr = h.tails.nr;
	cs_free(h.insn, 1);
	cs_close(&h.handle);
	return rc;
}

#endif
