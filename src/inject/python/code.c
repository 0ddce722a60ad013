#include "inject/python/code.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"
#include "base/pages.h"
#include "inject/python/layout.h"
#include "inject/python/python.h"
#include "inject/python/text.h"
#include "inject/walk/modules.h"

enum {
	CODES_MAX = 1 << 17,
	SLOTS = 1 << 18, /* twice as many as codes: probes stay short */
	SLOT_PROBES = 64,
};

struct code_record {
	struct af_py_code_copy code;
	uint64_t key;
	_Atomic uint32_t complete;
};

/*
 * One word a slot, so that one compare-and-swap publishes a finished record: the upper half of
 * the key, and the record's index. A handler that interrupts an insertion of its own thread sees
 * either nothing or all of it; in the first case it copies the code object too, and two records
 * of one code object do no harm.
 */
struct code_table {
	_Atomic uint64_t slots[SLOTS];
	struct code_record records[CODES_MAX];
};

struct af_py_types af_py_types;

static _Atomic(struct code_table *) code_table;
static _Atomic uint32_t codes_begun; /* may pass CODES_MAX */
static _Atomic uint32_t codes_complete;
static _Atomic uint64_t codes_lost;

/* Code 0, which is there from the start. */
static void code_unknown(struct code_table *t)
{
	struct code_record *r = &t->records[0];

	r->code = (struct af_py_code_copy){.name = "[python code table full]", .file = "?"};
	atomic_store_explicit(&r->complete, 1, memory_order_release);
}

int af_py_codes_open(void)
{
	if (atomic_load(&code_table))
		return 0;

	int rc = af_py_text_open();
	if (rc)
		return rc;
	struct code_table *t = af_pages(sizeof *t, MAP_NORESERVE);
	if (!t)
		return -errno;
	code_unknown(t);

	struct code_table *none = NULL;
	uint32_t zero = 0;
	atomic_compare_exchange_strong(&codes_begun, &zero, 1);
	if (!atomic_compare_exchange_strong(&code_table, &none, t))
		munmap(t, sizeof *t);
	return 0;
}

/*
 * The identity of a code object among all others, also from the next one at its address. From 3.12
 * on each has a version of its own. Before, it is made of what is shown of it: the first line, the
 * pointers to its names and line table, and because these may come back when source is compiled
 * again and again (a prompt, exec), of the hash of its name, and the length and the beginning of
 * the line table. All of it are addresses and numbers of the interpreter's own: no input to the
 * program chooses them.
 */
static inline int key_read(const struct af_py_layout *l, uint64_t address, uint64_t *key)
{
	uint64_t a, b, line, name, file, lines;

	if (l->code_key) {
		if (af_guarded_word(&a, address + l->code_key) ||
		    af_guarded_word(&b, address + l->code_key + 8))
			return -EFAULT;
		*key = address * 0x9e3779b97f4a7c15ull ^
		       af_mul_fold(a ^ 0xa0761d6478bd642full, b ^ 0xe7037ed1a0b428dbull);
		return 0;
	}

	if (af_guarded_word(&line, address + l->code_first_line) ||
	    af_guarded_word(&name, address + l->code_name) ||
	    af_guarded_word(&file, address + l->code_file) ||
	    af_guarded_word(&lines, address + l->code_lines))
		return -EFAULT;
	*key = address * 0x9e3779b97f4a7c15ull ^
	       af_mul_fold(name ^ 0xa0761d6478bd642full, file ^ 0xe7037ed1a0b428dbull);

	/* For a str its hash; for a bytes object its size and content, without the hash between. */
	if (af_guarded_word(&name, name + 24) || af_guarded_word(&a, lines + 16) ||
	    af_guarded_word(&b, lines + 32))
		return -EFAULT;
	if (a < 8)
		b &= ~(~0ull << a * 8);
	*key ^= af_mul_fold(name ^ 0x8ebc6af09c88c6e3ull, (uint32_t)line ^ lines << 24);
	*key ^= af_mul_fold(a ^ 0x1d8e4e27c47d124full, b ^ 0x589965cc75374cc3ull);
	return 0;
}

static uint32_t slot_lookup(const struct code_table *t, uint64_t key, uint32_t *free_slot)
{
	for (uint32_t i = 0; i < SLOT_PROBES; i++) {
		uint32_t at = ((uint32_t)key + i) & (SLOTS - 1);
		uint64_t slot = atomic_load_explicit(&t->slots[at], memory_order_acquire);
		if (!slot) {
			*free_slot = at;
			return AF_PY_NO_CODE;
		}
		if (slot >> 32 == key >> 32 && t->records[(uint32_t)slot].key == key)
			return (uint32_t)slot;
	}
	*free_slot = UINT32_MAX;
	return AF_PY_NO_CODE;
}

/* False with no version set: that is no code object. False with one: there is no room. */
static bool code_copy(const struct af_py_layout *l, uint64_t address, struct af_py_code_copy *c)
{
	uint64_t type, name, file, lines;

	if (af_guarded_read(&type, address + 8, sizeof type) ||
	    !af_py_type_is(&af_py_types.code, type, "code") ||
	    af_guarded_read(&c->first_line, address + l->code_first_line, sizeof c->first_line) ||
	    af_guarded_read(&name, address + l->code_name, sizeof name) ||
	    af_guarded_read(&file, address + l->code_file, sizeof file) ||
	    af_guarded_read(&lines, address + l->code_lines, sizeof lines))
		return false;

	c->name = af_py_text_name(l, name);
	c->file = af_py_text_file(l, file);
	c->lines = af_py_text_lines(lines, &c->lines_len);
	if (c->name && c->file && !strcmp(c->name, "?") && !strcmp(c->file, "?"))
		return false; /* neither is a str: the layout is not this interpreter's */
	c->version = l->version;
	return c->name && c->file;
}

/* Give the copied code an index and make it known. */
static uint32_t code_publish(struct code_table *t, struct af_py_code_copy *c, uint64_t key,
                             uint32_t slot)
{
	uint32_t i = atomic_fetch_add(&codes_begun, 1);
	if (i >= CODES_MAX) {
		atomic_store(&codes_begun, CODES_MAX);
		atomic_fetch_add(&codes_lost, 1);
		return 0;
	}

	struct code_record *r = &t->records[i];
	c->index = i;
	r->code = *c;
	r->key = key;
	atomic_store_explicit(&r->complete, 1, memory_order_release);

	uint64_t empty = 0;
	uint64_t mine = key >> 32 << 32 | i;
	if (!atomic_compare_exchange_strong(&t->slots[slot], &empty, mine)) {
		uint32_t theirs = slot_lookup(t, key, &slot);
		if (theirs != AF_PY_NO_CODE)
			return theirs;
		empty = 0;
		if (slot != UINT32_MAX)
			atomic_compare_exchange_strong(&t->slots[slot], &empty, mine);
	}
	return i;
}

static __attribute__((noinline)) uint32_t
code_find_or_add(const struct af_py_layout *l, struct code_table *t, uint64_t address, uint64_t key)
{
	struct af_py_code_copy c = {0};
	uint32_t slot = UINT32_MAX;
	uint32_t index = slot_lookup(t, key, &slot);

	if (index != AF_PY_NO_CODE)
		return index;
	if (slot != UINT32_MAX && atomic_load(&codes_begun) < CODES_MAX) {
		if (code_copy(l, address, &c))
			return code_publish(t, &c, key, slot);
		if (!c.version)
			return AF_PY_NO_CODE;
	}
	atomic_fetch_add(&codes_lost, 1);
	return 0;
}

uint32_t af_py_code_index(const struct af_py_layout *l, uint64_t address)
{
	struct code_table *t = atomic_load_explicit(&code_table, memory_order_relaxed);
	uint64_t key;

	if (key_read(l, address, &key))
		return AF_PY_NO_CODE;

	/* The first probe of slot_lookup(), for nearly every frame the only one. */
	uint64_t slot =
	    atomic_load_explicit(&t->slots[(uint32_t)key & (SLOTS - 1)], memory_order_acquire);
	if (__builtin_expect(slot >> 32 == key >> 32 && t->records[(uint32_t)slot].key == key, 1))
		return (uint32_t)slot;
	return code_find_or_add(l, t, address, key);
}

uint32_t af_python_nr_codes(void)
{
	const struct code_table *t = atomic_load(&code_table);
	uint32_t n = atomic_load(&codes_complete);

	if (!t)
		return 0;
	while (n < CODES_MAX &&
	       atomic_load_explicit(&t->records[n].complete, memory_order_acquire)) {
		/* A failed exchange means that another thread was here, and brings its number. */
		if (atomic_compare_exchange_strong(&codes_complete, &n, n + 1))
			n++;
	}
	return n;
}

const struct af_py_code_copy *af_python_code(uint32_t index)
{
	return index < af_python_nr_codes() ? &atomic_load(&code_table)->records[index].code : NULL;
}

void af_py_codes_after_fork(void)
{
	struct code_table *t = atomic_load(&code_table);
	uint32_t begun = atomic_load(&codes_begun);

	if (!t)
		return;
	for (uint32_t i = atomic_load(&codes_complete); i < begun && i < CODES_MAX; i++) {
		struct code_record *r = &t->records[i];
		if (atomic_load(&r->complete))
			continue;
		r->code = (struct af_py_code_copy){.index = i, .name = "?", .file = "?"};
		atomic_store_explicit(&r->complete, 1, memory_order_release);
	}
}

uint64_t af_python_lost(void)
{
	return atomic_load(&codes_lost);
}
