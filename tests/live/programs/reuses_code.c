/*
 * A run-time compiler that uses the same memory again: jit_first, jit_second and jit_third lie at
 * one address one after the other, and run for 60 %, 30 % and 10 % of the CPU time. Each is
 * announced before it runs, in the way that the first argument names:
 *
 *	map      appends a line to the perf map
 *	rewrite  writes the perf map anew, with the code that is there now
 *	dump     a jitdump, in the current directory
 *	gdb      an ELF file in memory in the list of GDB's JIT interface (GDB manual, "JIT
 *	         Compilation Interface"), where the entry of the code before is removed
 *
 * The second argument is a factor on its duration of one second of CPU time.
 */
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"
#include "jit_code.h"

/* GDB's interface, whose names are fixed. */
struct jit_code_entry {
	struct jit_code_entry *next_entry, *prev_entry;
	const char *symfile_addr;
	uint64_t symfile_size;
};

struct jit_descriptor {
	uint32_t version, action_flag;
	struct jit_code_entry *relevant_entry, *first_entry;
};

struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};

void __jit_debug_register_code(void);
APART void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

static int file = -1;

static void put(const void *data, size_t size)
{
	if (write(file, data, size) != (ssize_t)size)
		exit(1);
}

static void map_open(void)
{
	char path[64];

	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (file < 0)
		exit(1);
}

static void map_say(const void *at, const char *name)
{
	char line[128];

	snprintf(line, sizeof line, "%lx %zx %s\n", (unsigned long)(uintptr_t)at, sizeof code,
	         name);
	put(line, strlen(line));
}

static void rewrite_say(const void *at, const char *name)
{
	if (ftruncate(file, 0) || lseek(file, 0, SEEK_SET))
		exit(1);
	map_say(at, name);
}

static void dump_open(void)
{
	const uint32_t header[10] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid()};
	char path[64];

	snprintf(path, sizeof path, "jit-%d.dump", (int)getpid());
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		exit(1);
	put(header, sizeof header);
	/* Profilers see by this mapping where the dump is. */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
		exit(1);
}

static void dump_say(const void *at, const char *name)
{
	static uint64_t index;
	struct {
		uint32_t id, size;
		uint64_t time_ns;
		uint32_t pid, tid;
		uint64_t vma, address, code_size, index;
	} load = {.size = (uint32_t)(sizeof load + strlen(name) + 1 + sizeof code),
	          .time_ns = (uint64_t)burn_clock_ns(CLOCK_MONOTONIC),
	          .vma = (uintptr_t)at,
	          .address = (uintptr_t)at,
	          .code_size = sizeof code,
	          .index = ++index};

	put(&load, sizeof load);
	put(name, strlen(name) + 1);
	put(code, sizeof code);
}

/* A relocatable file whose code section is where the code runs, as LLVM registers them. */
struct symfile {
	Elf64_Ehdr header;
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[2];
	char names[64];
};

static void symfile_make(struct symfile *f, const void *at, const char *name)
{
	*f = (struct symfile){
	    .header = {.e_type = ET_REL,
	               .e_machine = EM_X86_64,
	               .e_version = EV_CURRENT,
	               .e_ehsize = sizeof f->header,
	               .e_shoff = offsetof(struct symfile, sections),
	               .e_shentsize = sizeof *f->sections,
	               .e_shnum = 4,
	               .e_shstrndx = 3},
	    .sections = {{0},
	                 {.sh_name = 1,
	                  .sh_type = SHT_PROGBITS,
	                  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
	                  .sh_addr = (uintptr_t)at,
	                  .sh_size = sizeof code},
	                 {.sh_name = 7,
	                  .sh_type = SHT_SYMTAB,
	                  .sh_offset = offsetof(struct symfile, symbols),
	                  .sh_size = sizeof f->symbols,
	                  .sh_link = 3,
	                  .sh_info = 1,
	                  .sh_entsize = sizeof *f->symbols},
	                 {.sh_name = 15,
	                  .sh_type = SHT_STRTAB,
	                  .sh_offset = offsetof(struct symfile, names),
	                  .sh_size = sizeof f->names}},
	    .symbols = {{0},
	                {.st_name = 32,
	                 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
	                 .st_shndx = 1,
	                 .st_size = sizeof code}},
	    .names = "\0.text\0.symtab\0.strtab",
	};
	memcpy(f->header.e_ident, ELFMAG, SELFMAG);
	f->header.e_ident[EI_CLASS] = ELFCLASS64;
	f->header.e_ident[EI_DATA] = ELFDATA2LSB;
	f->header.e_ident[EI_VERSION] = EV_CURRENT;
	snprintf(f->names + 32, sizeof f->names - 32, "%s", name);
}

static void gdb_say(const void *at, const char *name)
{
	static struct symfile symfile;
	static struct jit_code_entry entry;
	struct jit_descriptor *d = &__jit_debug_descriptor;

	if (d->first_entry) {
		d->first_entry = NULL;
		d->relevant_entry = &entry;
		d->action_flag = 2;
		__jit_debug_register_code();
	}
	symfile_make(&symfile, at, name);
	entry = (struct jit_code_entry){.symfile_addr = (const char *)&symfile,
	                                .symfile_size = sizeof symfile};
	d->first_entry = d->relevant_entry = &entry;
	d->action_flag = 1;
	__jit_debug_register_code();
}

static void run(uint8_t *at, int64_t ns)
{
	void (*function)(unsigned n);
	int64_t end = burn_thread_ns() + ns;

	memcpy(&function, &at, sizeof function);
	while (burn_thread_ns() < end)
		function(1 << 18);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*open)(void);
		void (*say)(const void *at, const char *name);
	} ways[] = {{"map", map_open, map_say},
	            {"rewrite", map_open, rewrite_say},
	            {"dump", dump_open, dump_say},
	            {"gdb", NULL, gdb_say}};
	static const struct {
		const char *name;
		int64_t ms;
	} parts[] = {{"jit_first", 600}, {"jit_second", 300}, {"jit_third", 100}};
	const char *way = argc > 1 ? argv[1] : "";
	double scale = burn_scale(argc - 1, argv + 1);
	unsigned w = 0;

	while (w < 4 && strcmp(way, ways[w].name) != 0)
		w++;
	uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w == 4 || memory == MAP_FAILED)
		return 1;
	if (ways[w].open)
		ways[w].open();
	for (unsigned i = 0; i < 3; i++) {
		memset(memory, 0xcc, sizeof code);
		ways[w].say(memory, parts[i].name);
		memcpy(memory, code, sizeof code);
		run(memory, (int64_t)(scale * (double)parts[i].ms * 1000000));
		truth_share(parts[i].name, parts[i].ms, 1000);
	}
	return 0;
}
