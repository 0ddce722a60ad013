/*
 * Places probes in code: a jump over a function's first instructions to a stub near the module.
 * A module's code is written before anybody can run it, or while the process has one thread.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/pages.h"
#include "inject/core/inject.h"
#include "inject/probe/private.h"

enum {
	STUB = 64,
	STUBS_PAGE = 16 << 10,
	STUBS_PAGES = 64,
	REACH = 1 << 30, /* half of what rel32 reaches */
	NEAR_STEP = 16 << 20,
	PAGE = 4096,
	LOADS_ALIGNED = 16, /* functions of ld.so */
};

/* Memory for stubs; a page begins with the address of probe_entry. */
struct stubs {
	uint8_t *page;
	uint32_t used;
};

static struct {
	const struct af_probe *probes;
	_Atomic uint64_t addresses[AF_PROBES_MOST];
	uint32_t nr;
	struct stubs stubs[STUBS_PAGES];
	uint32_t nr_stubs;
	bool failed;
} patch;

static void patch_failed(const char *why)
{
	if (!patch.failed)
		af_inject_note("probes", why);
	patch.failed = true;
}

uint64_t probe_address(uint64_t number)
{
	return atomic_load_explicit(&patch.addresses[number], memory_order_relaxed);
}

static bool is_near(const uint8_t *page, uint64_t address)
{
	int64_t apart = (int64_t)((uint64_t)page - address);

	return apart > -REACH && apart < REACH;
}

/* A page that jumps from @address reach; the kernel takes the hint where nothing is there. */
static uint8_t *page_near(uint64_t address)
{
	for (int64_t off = NEAR_STEP; off < REACH; off += NEAR_STEP)
		for (int sign = -1; sign <= 1; sign += 2) {
			int64_t at = (int64_t)(address & ~(uint64_t)(PAGE - 1)) + sign * off;
			if (at < NEAR_STEP)
				continue;
			uint8_t *page = af_pages_near((void *)at, STUBS_PAGE, 0);
			if (page && is_near(page, address))
				return page;
			if (page)
				munmap(page, STUBS_PAGE);
		}
	return NULL;
}

/* The memory that has room for a stub near @address; NULL: there is none. */
static struct stubs *stubs_near(uint64_t address)
{
	void (*entry)(void) = probe_entry;

	for (uint32_t i = 0; i < patch.nr_stubs; i++) {
		struct stubs *s = &patch.stubs[i];
		if (is_near(s->page, address) && s->used + STUB <= STUBS_PAGE)
			return s;
	}
	uint8_t *page = patch.nr_stubs < STUBS_PAGES ? page_near(address) : NULL;
	if (!page)
		return NULL;
	memcpy(page, &entry, sizeof entry);
	patch.stubs[patch.nr_stubs] = (struct stubs){page, STUB};
	return &patch.stubs[patch.nr_stubs++];
}

/* The instructions in the place of a jump, as in struct af_probe. */
struct head {
	const uint8_t *code;
	uint32_t len, relative;
	uint64_t back; /* where the function goes on */
};

/* Bytes that count from the instructions' old place at @from count from @at. */
static void head_write(uint8_t *at, const uint8_t *from, const struct head *h)
{
	int32_t relative;

	memcpy(at, h->code, h->len);
	if (!h->relative)
		return;
	memcpy(&relative, at + h->relative, sizeof relative);
	relative += (int32_t)(from - at);
	memcpy(at + h->relative, &relative, sizeof relative);
}

/*
 * Intel SDM, volume 2: push $number; call *entry(%rip); lea 8(%rsp),%rsp, which leaves the flags
 * alone; the moved instructions; jmp *(%rip), behind which its target is.
 */
static void stub_write(const struct stubs *s, uint8_t *stub, uint32_t number, const uint8_t *from,
                       const struct head *h)
{
	static const uint8_t call[] = {0xff, 0x15}, lea[] = {0x48, 0x8d, 0x64, 0x24, 0x08},
			     jump[] = {0xff, 0x25, 0, 0, 0, 0};
	uint8_t *at = stub;
	int32_t entry = (int32_t)(s->page - (stub + 11));

	*at++ = 0x68;
	memcpy(at, &number, sizeof number);
	at += sizeof number;
	memcpy(at, call, sizeof call);
	at += sizeof call;
	memcpy(at, &entry, sizeof entry);
	at += sizeof entry;
	memcpy(at, lea, sizeof lea);
	at += sizeof lea;
	head_write(at, from, h);
	at += h->len;
	memcpy(at, jump, sizeof jump);
	at += sizeof jump;
	memcpy(at, &h->back, sizeof h->back);
}

/* One store: whoever runs it sees the old instruction or the jump. @to is so aligned. */
static bool jump_write(uint8_t *to, const uint8_t *stub)
{
	uint64_t *word = (uint64_t *)((uint64_t)to & ~7ull), bytes;
	uint64_t page = (uint64_t)to & ~(uint64_t)(PAGE - 1);
	uint32_t shift = (uint32_t)((uint64_t)to & 7);
	int32_t rel = (int32_t)(stub - (to + AF_PROBE_JUMP));

	memcpy(&bytes, word, sizeof bytes);
	((uint8_t *)&bytes)[shift] = 0xe9;
	memcpy((uint8_t *)&bytes + shift + 1, &rel, sizeof rel);
	if (mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	__atomic_store_n(word, bytes, __ATOMIC_SEQ_CST);
	mprotect((void *)page, PAGE, PROT_READ | PROT_EXEC);
	return true;
}

/* The first instructions at @to are @h, and move into a stub. */
static bool probe_place(uint32_t number, uint8_t *to, const struct head *h)
{
	struct stubs *s = stubs_near((uint64_t)to);

	if (!s || mprotect(s->page, STUBS_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	uint8_t *stub = s->page + s->used;
	stub_write(s, stub, number, to, h);
	s->used += STUB;
	return !mprotect(s->page, STUBS_PAGE, PROT_READ | PROT_EXEC) && jump_write(to, stub);
}

/* Is @address in code of the module that is readable now? */
static bool has_code(const struct dl_phdr_info *m, uint64_t address)
{
	for (int i = 0; i < m->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &m->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_flags & PF_R &&
		    address >= p->p_vaddr && address + AF_PROBE_HEAD <= p->p_vaddr + p->p_memsz)
			return true;
	}
	return false;
}

/* Does a jump of ours stand at @to? */
static bool is_placed(const uint8_t *to)
{
	int32_t rel;

	memcpy(&rel, to + 1, sizeof rel);
	const uint8_t *stub = to + AF_PROBE_JUMP + rel;
	for (uint32_t i = 0; *to == 0xe9 && i < patch.nr_stubs; i++)
		if ((uint64_t)stub - (uint64_t)patch.stubs[i].page < STUBS_PAGE)
			return true;
	return false;
}

static void module_probe(const struct dl_phdr_info *m, uint32_t number)
{
	const struct af_probe *p = &patch.probes[number];
	uint8_t *to = (uint8_t *)(m->dlpi_addr + p->address);
	const struct head h = {p->code, p->code_len, p->relative, (uint64_t)to + p->len};

	atomic_store(&patch.addresses[number], (uint64_t)to);
	if (!has_code(m, p->address))
		patch_failed("a function is not where its file has it: its calls are not recorded");
	else if (is_placed(to))
		return;
	else if (memcmp(to, p->head, p->len) != 0)
		patch_failed("the code of a function is not that of its file: something else has "
		             "changed it, and its calls are not recorded");
	else if (!probe_place(number, to, &h))
		patch_failed("code could not be changed (SELinux's execmod, or no memory near "
		             "it): calls of a function are not recorded");
}

static int module_take(struct dl_phdr_info *m, size_t size, void *arg)
{
	struct stat st;
	const char *path = m->dlpi_name && *m->dlpi_name ? m->dlpi_name : "/proc/self/exe";
	(void)size, (void)arg;

	if (stat(path, &st))
		return 0;
	for (uint32_t i = 0; i < patch.nr; i++)
		if (patch.probes[i].dev == st.st_dev && patch.probes[i].ino == st.st_ino)
			module_probe(m, i);
	return 0;
}

void probe_patch_modules(void)
{
	dl_iterate_phdr(module_take, NULL);
}

/* Is it `ret`, of a function alone in its 16 bytes, or `endbr64; ret`? Its length then, or 0. */
static uint32_t empty_function(const uint8_t *code)
{
	static const uint8_t guarded[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xc3};

	if ((uint64_t)code % LOADS_ALIGNED)
		return 0;
	if (!memcmp(code, guarded, sizeof guarded))
		return sizeof guarded;
	/* Padding: nopw, nopl, nop, int3 (Intel SDM, volume 2, NOP). */
	bool padded = code[1] == 0x66 || (code[1] == 0x0f && code[2] == 0x1f) || code[1] == 0x90 ||
	              code[1] == 0xcc;
	return *code == 0xc3 && padded ? AF_PROBE_JUMP : 0;
}

/* For debuggers ld.so calls this function when its list of modules has changed (link.h). */
static void loads_watch(void)
{
	/* By name: being linked with it would make ld.so a library that we need. */
	const struct r_debug *loads = dlsym(RTLD_DEFAULT, "_r_debug");
	uint8_t *to = loads ? (uint8_t *)loads->r_brk : NULL;
	uint32_t len = to ? empty_function(to) : 0;
	const struct head h = {to, len, 0, (uint64_t)to + len};

	if (!len || !probe_place(PROBE_LOADS, to, &h))
		af_inject_note("probes",
		               "calls of functions in libraries that are loaded later are "
		               "not recorded: this ld.so is not known");
}

void probe_patch_start(const struct af_probe *probes, uint32_t nr)
{
	struct stat threads;

	patch.probes = probes;
	patch.nr = nr;
	/* A directory has a link from each in it. */
	if (stat("/proc/self/task", &threads) || threads.st_nlink != 3) {
		patch_failed("the program had more than one thread before it began: calls of "
		             "functions are not recorded");
		return;
	}
	probe_patch_modules();
	loads_watch();
}
