#include "cmd/record/mpi.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/program.h"
#include "cmd/record/choose.h"
#include "cmd/record/library.h"
#include "collect/session/session.h"
#include "trace/write/rank.h"

enum { HEADERS = 64, DYNAMIC = 512 };

/* An ELF file, as far as it tells what it is linked with. */
struct elf_file {
	int fd;
	Elf64_Phdr headers[HEADERS];
	unsigned nr_headers;
	Elf64_Dyn dynamic[DYNAMIC];
	unsigned nr_dynamic;
};

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

static bool elf_read(struct elf_file *f)
{
	Elf64_Ehdr e;

	if (!read_at(f->fd, &e, sizeof e, 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof *f->headers)
		return false;
	f->nr_headers = e.e_phnum < HEADERS ? e.e_phnum : HEADERS;
	if (!read_at(f->fd, f->headers, f->nr_headers * sizeof *f->headers, e.e_phoff))
		return false;
	for (unsigned i = 0; i < f->nr_headers; i++) {
		const Elf64_Phdr *p = &f->headers[i];
		if (p->p_type != PT_DYNAMIC)
			continue;
		f->nr_dynamic = (unsigned)(p->p_filesz / sizeof *f->dynamic);
		if (f->nr_dynamic > DYNAMIC)
			f->nr_dynamic = DYNAMIC;
		return read_at(f->fd, f->dynamic, f->nr_dynamic * sizeof *f->dynamic, p->p_offset);
	}
	return false;
}

/* Where in the file an address of the program lies; 0: nowhere. */
static uint64_t offset_of(const struct elf_file *f, uint64_t address)
{
	for (unsigned i = 0; i < f->nr_headers; i++) {
		const Elf64_Phdr *p = &f->headers[i];
		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_filesz)
			return p->p_offset + (address - p->p_vaddr);
	}
	return 0;
}

/* Is it linked with a library whose name begins so? */
static bool is_linked(const char *path, const char *prefix)
{
	struct elf_file f = {.fd = af_open_regular(AT_FDCWD, path, 0)};
	scope_close int fd = f.fd;
	uint64_t names = 0;
	char name[32];
	size_t len = strlen(prefix);

	if (fd < 0 || !elf_read(&f))
		return false;
	for (unsigned i = 0; i < f.nr_dynamic; i++)
		if (f.dynamic[i].d_tag == DT_STRTAB)
			names = offset_of(&f, f.dynamic[i].d_un.d_ptr);
	for (unsigned i = 0; names && i < f.nr_dynamic; i++)
		if (f.dynamic[i].d_tag == DT_NEEDED &&
		    read_at(fd, name, len, names + f.dynamic[i].d_un.d_val) &&
		    !memcmp(name, prefix, len))
			return true;
	return false;
}

static bool is_launcher(const char *program)
{
	static const char *const launchers[] = {"mpirun", "mpiexec", "orterun", "prterun",
	                                        "prun",   "srun",    "aprun",   "jsrun"};
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

	for (unsigned i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		size_t len = strlen(launchers[i]);
		/* Debian has mpirun.mpich and mpiexec.hydra. */
		if (!strncmp(name, launchers[i], len) && (!name[len] || name[len] == '.'))
			return true;
	}
	return false;
}

static bool mpi_is_wanted(const char *list, char **words)
{
	const char *variable = NULL;
	char path[PATH_MAX];

	if (list && !af_api_is_chosen(list, "mpi"))
		return false;
	if (af_api_is_named(list, "mpi"))
		return true;
	/* RANK is PyTorch's. */
	if (af_rank_own_named(&variable) && strcmp(variable, "RANK"))
		return true;
	if (!words || !words[0] || !af_program_find(words[0], path))
		return false;
	/* libmpi.so.40, libmpi_mpifh.so.40, libmpich.so.12, libmpifort.so.12, … */
	return is_launcher(path) || is_linked(path, "libmpi");
}

static bool hip_is_wanted(const char *list, char **words)
{
	char path[PATH_MAX];

	if (list && !af_api_is_chosen(list, "hip"))
		return false;
	if (af_api_is_named(list, "hip") || !access("/dev/kfd", F_OK))
		return true;
	if (!words || !words[0] || !af_program_find(words[0], path))
		return false;
	/* ROCTX by its older and its newer library. */
	return is_linked(path, "libamdhip64") || is_linked(path, "libroctx64") ||
	       is_linked(path, "librocprofiler-sdk-roctx");
}

/* A user who did not ask for the API gets a trace without it where our library is missing. */
static int library_choose(const struct af_record_options *o, const char *api, const char *name,
                          const char *what, char path[PATH_MAX], const char **library,
                          const struct af_session_options *s, struct af_err *err)
{
	struct af_err why = {0};
	int rc = af_library_find_other(path, s->library, name, what, &why);

	if (!rc)
		*library = path;
	return rc && af_api_is_named(o->api, api) ? af_fail_plain(err, rc, "%s", why.msg) : 0;
}

int af_mpi_choose(const struct af_record_options *o, char **words, struct af_session_options *s,
                  struct af_err *err)
{
	static char path[PATH_MAX];

	if (!mpi_is_wanted(o->api, words))
		return 0;
	return library_choose(o, "mpi", "libaflame-mpi.so", "calls of MPI", path, &s->mpi_library,
	                      s, err);
}

int af_hip_choose(const struct af_record_options *o, char **words, struct af_session_options *s,
                  struct af_err *err)
{
	static char path[PATH_MAX];

	if (!hip_is_wanted(o->api, words))
		return 0;
	return library_choose(o, "hip", "libaflame-hip.so", "calls of HIP", path, &s->hip_library,
	                      s, err);
}
