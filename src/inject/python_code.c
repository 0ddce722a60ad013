#include "inject/python_code.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"
#include "inject/modules.h"
#include "inject/python.h"
#include "inject/python_layout.h"
#include "inject/python_text.h"

enum {
	CODES_MAX = 1 << 17,
	SLOTS = 1 << 18, /* twice as many as codes: probes stay short */
	SLOT_PROBES = 64,
};

struct code_record {
	struct af_py_code code;
	uint64_t address, key;
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

	r->code = (struct af_py_code){.name = "[python code table full]", .file = "?"};
	atomic_store_explicit(&r->complete, 1, memory_order_release);
}

int af_py_codes_open(void)
{
	if (atomic_load(&code_table))
		return 0;

	int rc = af_py_text_open();
	if (rc)
		return rc;
	struct code_table *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE,
	                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t == MAP_FAILED)
		return -errno;
	code_unknown(t);

	struct code_table *none = NULL;
	uint32_t zero = 0;
	atomic_compare_exchange_strong(&codes_begun, &zero, 1);
	if (!atomic_compare_exchange_strong(&code_table, &none, t))
		munmap(t, sizeof *t);
	return 0;
}

static uint64_t mul_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/*
 * What tells one code object from the next one at its address: the unchanging fields, among them
 * the pointers to its names and tables, and from 3.12 on a version that no other one has.
 */
static uint64_t key_of(const struct af_py_layout *l, uint64_t address, const uint8_t *fields)
{
	uint64_t key = address * 0x9e3779b97f4a7c15ull, w[2];
	unsigned len = l->code_key_to - l->code_key_from;

	for (unsigned i = 0; i < len; i += 16) {
		memcpy(w, fields + i, sizeof w);
		key ^= mul_fold(w[0] ^ (0xa0761d6478bd642full + i), w[1] ^ 0xe7037ed1a0b428dbull);
	}
	return key;
}

/*
 * Before 3.12 code objects have no version. When source is compiled again and again under the
 * same name (a prompt, exec), all the addresses may come back too, so the line table's length and
 * beginning are part of the key. The bytes object's own hash lies between the two and changes.
 */
static uint64_t key_with_lines(const struct af_py_layout *l, uint64_t key, const uint8_t *fields)
{
	uint64_t lines, w[3];

	memcpy(&lines, fields + l->code_lines - l->code_key_from, sizeof lines);
	if (af_guarded_read(w, lines + 16, sizeof w))
		return key;
	if (w[0] < 8)
		w[2] &= ~(~0ull << w[0] * 8);
	return key ^ mul_fold(w[0] ^ 0x8ebc6af09c88c6e3ull, w[2] ^ 0x589965cc75374cc3ull);
}

static uint32_t slot_lookup(const struct code_table *t, uint64_t address, uint64_t key,
                            uint32_t *free_slot)
{
	for (uint32_t i = 0; i < SLOT_PROBES; i++) {
		uint32_t at = ((uint32_t)key + i) & (SLOTS - 1);
		uint64_t slot = atomic_load_explicit(&t->slots[at], memory_order_acquire);
		if (!slot) {
			*free_slot = at;
			return AF_PY_NO_CODE;
		}
		const struct code_record *r = &t->records[(uint32_t)slot];
		if (slot >> 32 == key >> 32 && r->key == key && r->address == address)
			return (uint32_t)slot;
	}
	*free_slot = UINT32_MAX;
	return AF_PY_NO_CODE;
}

/* False with no version set: that is no code object. False with one: there is no room. */
static bool code_copy(const struct af_py_layout *l, uint64_t address, const uint8_t *fields,
                      struct af_py_code *c)
{
	uint64_t name, file, lines, type;

	if (af_guarded_read(&type, address + 8, sizeof type) ||
	    !af_py_type_is(&af_py_types.code, type, "code"))
		return false;

	memcpy(&c->first_line, fields + l->code_first_line - l->code_key_from, 4);
	memcpy(&name, fields + l->code_name - l->code_key_from, sizeof name);
	memcpy(&file, fields + l->code_file - l->code_key_from, sizeof file);
	memcpy(&lines, fields + l->code_lines - l->code_key_from, sizeof lines);
	c->version = l->version;
	c->name = af_py_text_name(l, name);
	c->file = af_py_text_file(l, file);
	c->lines = af_py_text_lines(lines, &c->lines_len);
	if (c->name && c->file && !strcmp(c->name, "?") && !strcmp(c->file, "?"))
		c->version = 0; /* neither is a str: the layout is not this interpreter's */
	return c->version && c->name && c->file;
}

/* Give the copied code an index and make it known. */
static uint32_t code_publish(struct code_table *t, struct af_py_code *c, uint64_t address,
                             uint64_t key, uint32_t slot)
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
	r->address = address;
	r->key = key;
	atomic_store_explicit(&r->complete, 1, memory_order_release);

	uint64_t empty = 0;
	uint64_t mine = key >> 32 << 32 | i;
	if (!atomic_compare_exchange_strong(&t->slots[slot], &empty, mine)) {
		uint32_t theirs = slot_lookup(t, address, key, &slot);
		if (theirs != AF_PY_NO_CODE)
			return theirs;
		empty = 0;
		if (slot != UINT32_MAX)
			atomic_compare_exchange_strong(&t->slots[slot], &empty, mine);
	}
	return i;
}

static __attribute__((noinline, cold)) uint32_t code_add(const struct af_py_layout *l,
                                                         struct code_table *t, uint64_t address,
                                                         const uint8_t *fields, uint64_t key,
                                                         uint32_t slot)
{
	struct af_py_code c = {0};

	if (slot == UINT32_MAX || atomic_load(&codes_begun) >= CODES_MAX) {
		atomic_fetch_add(&codes_lost, 1);
		return 0;
	}
	if (!code_copy(l, address, fields, &c)) {
		if (!c.version)
			return AF_PY_NO_CODE;
		atomic_fetch_add(&codes_lost, 1);
		return 0;
	}
	return code_publish(t, &c, address, key, slot);
}

uint32_t af_py_code_index(const struct af_py_layout *l, uint64_t address)
{
	struct code_table *t = atomic_load_explicit(&code_table, memory_order_relaxed);
	uint8_t fields[AF_PY_KEY_BYTES];
	uint32_t free_slot;

	if (af_guarded_read(fields, address + l->code_key_from, l->code_key_to - l->code_key_from))
		return AF_PY_NO_CODE;

	uint64_t key = key_of(l, address, fields);
	if (l->version < 0x30c)
		key = key_with_lines(l, key, fields);
	uint32_t index = slot_lookup(t, address, key, &free_slot);
	if (__builtin_expect(index != AF_PY_NO_CODE, 1))
		return index;
	return code_add(l, t, address, fields, key, free_slot);
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

const struct af_py_code *af_python_code(uint32_t index)
{
	return index < af_python_nr_codes() ? &atomic_load(&code_table)->records[index].code : NULL;
}

uint64_t af_python_lost(void)
{
	return atomic_load(&codes_lost);
}
