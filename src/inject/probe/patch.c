/*
 * Places probes in code: a jump over a function's first instructions, or over those by which it
 * ends, to a stub near the module. A module's code is written before anybody can run it, or while
 * the process has one thread.
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
	STUB = 80,
	STUBS_PAGE = 16 << 10,
	STUBS_PAGES = 64,
	REACH = 1 << 30, /* half of what rel32 reaches */
	NEAR_STEP = 16 << 20,
	PAGE = 4096,
	LOADS_ALIGNED = 16, /* functions of ld.so */
};

/* Memory for stubs; a page begins with the addresses of probe_entry and probe_entry_red. */
struct stubs {
	uint8_t *page;
	uint32_t used;
};

static struct {
	const struct af_probe *probes;
	_Atomic uint64_t addresses[AF_PROBES_MOST];
	_Atomic uint64_t biases[AF_PROBES_MOST];
	uint32_t nr;
	struct stubs stubs[STUBS_PAGES];
	uint32_t nr_stubs;
	bool failed;
	/* A function that cannot be changed before it runs is not changed later. */
	bool gave_up[AF_PROBES_MOST];
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

uint64_t probe_bias(uint64_t number)
{
	return atomic_load_explicit(&patch.biases[number], memory_order_relaxed);
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
	void (*const entries[])(void) = {probe_entry, probe_entry_red};

	for (uint32_t i = 0; i < patch.nr_stubs; i++) {
		struct stubs *s = &patch.stubs[i];
		if (is_near(s->page, address) && s->used + STUB <= STUBS_PAGE)
			return s;
	}
	uint8_t *page = patch.nr_stubs < STUBS_PAGES ? page_near(address) : NULL;
	if (!page)
		return NULL;
	memcpy(page, entries, sizeof entries);
	patch.stubs[patch.nr_stubs] = (struct stubs){page, STUB};
	return &patch.stubs[patch.nr_stubs++];
}

/* The instructions in the place of a jump, as in struct af_probe. */
struct head {
	const uint8_t *code;
	uint32_t len, relative;
	uint32_t last; /* the probe comes before the instruction there */
	bool is_red;
	uint64_t back; /* where the function goes on */
};

/*
 * The instructions from @from to before @end, at @at. Bytes that count from their old place, which
 * was @old for the first of all, count from the new one.
 */
static uint8_t *head_write(uint8_t *at, const uint8_t *old, const struct head *h, uint32_t from,
                           uint32_t end)
{
	int32_t relative;

	memcpy(at, h->code + from, end - from);
	if (h->relative > from && h->relative < end) {
		memcpy(&relative, h->code + h->relative, sizeof relative);
		relative += (int32_t)(old + from - at);
		memcpy(at + h->relative - from, &relative, sizeof relative);
	}
	return at + (end - from);
}

/* All of @bytes, then @value of @size. */
static uint8_t *bytes_write(uint8_t *at, const uint8_t *bytes, size_t nr, const void *value,
                            size_t size)
{
	memcpy(at, bytes, nr);
	memcpy(at + nr, value, size);
	return at + nr + size;
}

/* Moved instructions, lea, push, call, lea, jmp. */
_Static_assert(AF_PROBE_MOVED + 8 + 5 + 6 + 8 + 14 <= STUB, "a stub has room for all of these");

/*
 * Intel SDM, volume 2: the moved instructions before the probe; push $number; call *entry(%rip);
 * lea 8(%rsp),%rsp, which leaves the flags alone; the moved instructions behind it; jmp *(%rip),
 * behind which its target is. Where the stack below is the function's (PROBE_RED), the first lea
 * goes around it, and the last one back.
 */
static void stub_write(const struct stubs *s, uint8_t *stub, uint32_t number, const uint8_t *from,
                       const struct head *h)
{
	static const uint8_t push[] = {0x68}, call[] = {0xff, 0x15},
			     jump[] = {0xff, 0x25, 0, 0, 0, 0}, lea[] = {0x48, 0x8d, 0xa4, 0x24};
	const int32_t down = -PROBE_RED, up = 8 + (h->is_red ? PROBE_RED : 0);
	uint8_t *at = head_write(stub, from, h, 0, h->last);

	if (h->is_red)
		at = bytes_write(at, lea, sizeof lea, &down, sizeof down);
	at = bytes_write(at, push, sizeof push, &number, sizeof number);
	int32_t entry = (int32_t)(s->page + (h->is_red ? sizeof(void *) : 0) -
	                          (at + sizeof call + sizeof entry));
	at = bytes_write(at, call, sizeof call, &entry, sizeof entry);
	at = bytes_write(at, lea, sizeof lea, &up, sizeof up);
	at = head_write(at, from, h, h->last, h->len);
	bytes_write(at, jump, sizeof jump, &h->back, sizeof h->back);
}

/* Nobody runs the code at @to now. */
static bool jump_write(uint8_t *to, const uint8_t *stub)
{
	uint64_t page = (uint64_t)to & ~(uint64_t)(PAGE - 1);
	uint64_t end = ((uint64_t)to + AF_PROBE_JUMP + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	int32_t rel = (int32_t)(stub - (to + AF_PROBE_JUMP));

	if (mprotect((void *)page, end - page, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	*to = 0xe9;
	memcpy(to + 1, &rel, sizeof rel);
	mprotect((void *)page, end - page, PROT_READ | PROT_EXEC);
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

/* Are @len bytes at @address code of the module that is readable now? */
static bool has_code(const struct dl_phdr_info *m, uint64_t address, uint32_t len)
{
	for (int i = 0; i < m->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &m->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_flags & PF_R &&
		    address >= p->p_vaddr && address + len <= p->p_vaddr + p->p_memsz)
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

/* False, and why, where the probe @number is not in the module now. */
static bool module_probe(const struct dl_phdr_info *m, uint32_t number)
{
	const struct af_probe *p = &patch.probes[number];
	uint8_t *to = (uint8_t *)(m->dlpi_addr + p->address);
	const struct head h = {.code = p->code,
	                       .len = p->code_len,
	                       .relative = p->relative,
	                       .last = p->last,
	                       .is_red = probe_is_red(p),
	                       .back = (uint64_t)to + p->len};
	const char *why = NULL;

	if (!has_code(m, p->address, p->len))
		why = "a function is not where its file has it: its calls are not recorded";
	else if (is_placed(to))
		return true;
	else if (memcmp(to, p->head, p->len) != 0)
		why = "the code of a function is not that of its file: something else has "
		      "changed it, and its calls are not recorded";
	else if (!probe_place(number, to, &h))
		why = "code could not be changed (SELinux's execmod, or no memory near "
		      "it): calls of a function are not recorded";
	if (why)
		patch_failed(why);
	return !why;
}

/* Its exits first: every call that is begun can be ended. */
static void function_probe(const struct dl_phdr_info *m, uint32_t number)
{
	const struct af_probe *p = &patch.probes[number];
	bool placed = !patch.gave_up[number];

	atomic_store(&patch.addresses[number], m->dlpi_addr + p->address);
	atomic_store(&patch.biases[number], m->dlpi_addr);
	for (uint32_t i = number + 1; p->is_timed && placed && i < patch.nr; i++)
		if (patch.probes[i].is_exit && patch.probes[i].function == number)
			placed = module_probe(m, i);
	patch.gave_up[number] = !placed || !module_probe(m, number);
}

static int module_take(struct dl_phdr_info *m, size_t size, void *arg)
{
	struct stat st;
	const char *path = m->dlpi_name && *m->dlpi_name ? m->dlpi_name : "/proc/self/exe";
	(void)size, (void)arg;

	if (stat(path, &st))
		return 0;
	for (uint32_t i = 0; i < patch.nr && !patch.probes[i].is_exit; i++)
		if (patch.probes[i].dev == st.st_dev && patch.probes[i].ino == st.st_ino)
			function_probe(m, i);
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
	const struct head h = {.code = to, .len = len, .back = (uint64_t)to + len};

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
