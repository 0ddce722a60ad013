#include "cmd/functions/heads.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "cmd/functions/moved.h"
#include "cmd/functions/tails.h"
#include "sym/module/finder.h"
#include "unwind/elf_file.h"

#ifndef AF_HAVE_CAPSTONE

int af_functions_heads(const struct af_functions *f, struct af_probe *to, uint32_t *nr,
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
	struct functions_tails tails;
	struct af_err *err;
};

static const uint8_t *bytes_at(const void *elf, uint64_t address, uint64_t *left)
{
	return af_elf_at(elf, address, left);
}

static int refused(const struct heads *h, const char *why)
{
	return af_fail_plain(h->err, -ENOTSUP, "without root %s cannot be %s: %s; leave it out",
	                     h->f->name, h->f->nr_exits ? "timed" : "probed", why);
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

/* The functions of one file, @nr of them; probes begin with the file that they are of. */
static int file_probe(struct heads *h, const struct af_watch_function *f, uint32_t nr,
                      struct af_probe *to)
{
	const struct af_finder finder = {0};
	struct af_found file = {0};
	struct stat st;
	int rc = 0;

	h->f = f;
	if (stat(f->path, &st) || af_finder_file(&finder, &file, f->path, true, NULL, 0))
		rc = refused(h, "its file is no ELF file that can be read");
	h->elf = file.elf;
	for (uint32_t i = 0; !rc && i < nr; i++) {
		h->f = &f[i];
		to[i] = (struct af_probe){.dev = st.st_dev, .ino = st.st_ino};
		rc = function_probe(h, &to[i]);
	}
	const struct functions_code bytes = {.bytes = bytes_at, .arg = &h->elf};
	h->tails.code = &bytes;
	for (uint32_t i = 0; !rc && i < nr; i++) {
		h->f = &f[i];
		if (f[i].nr_exits &&
		    !functions_tails_add(&h->tails, &f[i], (uint32_t)(&to[i] - h->tails.all)))
			rc = refused(h, h->tails.why);
	}
	af_found_close(&file);
	return rc;
}

int af_functions_heads(const struct af_functions *f, struct af_probe *to, uint32_t *nr,
                       struct af_err *err)
{
	struct heads h = {.err = err};
	int rc = 0;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &h.handle) != CS_ERR_OK)
		return af_fail_plain(err, -ENOTSUP, "Capstone cannot read code of x86-64");
	cs_option(h.handle, CS_OPT_DETAIL, CS_OPT_ON);
	h.insn = cs_malloc(h.handle);
	if (!h.insn) {
		cs_close(&h.handle);
		return af_fail(err, -ENOMEM, "cannot disassemble");
	}
	h.tails = (struct functions_tails){
	    .handle = h.handle,
	    .all = to,
	    .nr = f->nr,
	    .most = f->nr + AF_PROBES_EXITS_MOST,
	};
	for (uint32_t i = 0, end; !rc && i < f->nr; i = end) {
		for (end = i + 1; end < f->nr && !strcmp(f->all[i].path, f->all[end].path);)
			end++;
		rc = file_probe(&h, &f->all[i], end - i, &to[i]);
	}
	*nr = h.tails.nr;
	cs_free(h.insn, 1);
	cs_close(&h.handle);
	return rc;
}

#endif
