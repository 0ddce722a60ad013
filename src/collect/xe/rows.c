#include "collect/xe/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"

enum {
	CHUNK_BITS = 10,
	CHUNK = 1 << CHUNK_BITS, /* sums; no sum moves when there are more */
	INDEX_BITS = 10,         /* at first */
	IP_BITS = 29,            /* of all layouts but Xe3p's */
	IP_BITS_XE3P = 61,
	UNIT_BITS = 3,
	MARK_AT = 50, /* the flags that the prelim i915 adds */
	MARK_DROPPED = 1 << 8,
};

/* Sums of a row's ten bytes of counts, in their order. */
struct af_xe_sum {
	uint64_t address;
	uint32_t counts[AF_XE_NR_REASONS];
};

_Static_assert(sizeof(struct af_xe_sum) == 48, "with its places in the index less than 64 bytes");

/* The reasons of the ten bytes that follow the address. */
static const uint8_t order_pvc[AF_XE_NR_REASONS] = {
    AF_XE_ACTIVE, AF_XE_OTHER, AF_XE_CONTROL, AF_XE_PIPE,  AF_XE_SEND,
    AF_XE_DIST,   AF_XE_SBID,  AF_XE_SYNC,    AF_XE_FETCH, AF_XE_TDR, /* the last is not there */
};
static const uint8_t order_xe2[AF_XE_NR_REASONS] = {
    AF_XE_TDR,  AF_XE_OTHER, AF_XE_CONTROL, AF_XE_PIPE,  AF_XE_SEND,
    AF_XE_DIST, AF_XE_SBID,  AF_XE_SYNC,    AF_XE_FETCH, AF_XE_ACTIVE,
};

static const uint8_t *order_of(enum af_xe_layout layout)
{
	return layout == AF_XE_PVC ? order_pvc : order_xe2;
}

enum af_xe_layout af_xe_layout_of(uint32_t major, uint32_t minor)
{
	if (major == 12 && minor >= 60 && minor < 70)
		return AF_XE_PVC;
	if (major >= 35)
		return AF_XE_XE3P;
	return major >= 20 ? AF_XE_XE2 : (enum af_xe_layout)0;
}

/* The counts of a row: eight bytes, and the two that follow. */
struct cut {
	uint64_t ip, eight;
	uint32_t two;
};

/* Words of a row are little-endian, as is every machine that has such a GPU. */
static inline uint64_t word_at(const uint8_t *row, unsigned i)
{
	uint64_t w;

	memcpy(&w, row + 8 * i, sizeof w);
	return w;
}

static inline __attribute__((always_inline)) struct cut row_cut(enum af_xe_layout layout,
                                                                const uint8_t *row)
{
	uint64_t a = word_at(row, 0), b = word_at(row, 1);

	if (layout == AF_XE_XE3P)
		return (struct cut){
		    .ip = a & ((UINT64_C(1) << IP_BITS_XE3P) - 1),
		    .eight = a >> IP_BITS_XE3P | b << (64 - IP_BITS_XE3P),
		    .two = (b >> IP_BITS_XE3P | word_at(row, 2) << (64 - IP_BITS_XE3P)) & 0xffff,
		};
	return (struct cut){
	    .ip = a & ((UINT64_C(1) << IP_BITS) - 1),
	    .eight = a >> IP_BITS | b << (64 - IP_BITS),
	    .two = b >> IP_BITS & (layout == AF_XE_PVC ? 0xff : 0xffff),
	};
}

/* Eight bytes are added to eight sums, between zeros: machines have instructions for that. */
#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define XE_HAS_SHUFFLE 1
#endif
#endif
#ifdef XE_HAS_SHUFFLE
static inline __attribute__((always_inline)) void eight_add(uint32_t *sums, uint64_t eight)
{
	typedef uint8_t bytes __attribute__((vector_size(16)));
	typedef uint16_t halves __attribute__((vector_size(16)));
	typedef uint32_t words __attribute__((vector_size(16)));
	typedef uint64_t longs __attribute__((vector_size(16)));
	bytes one = (bytes)(longs){eight, 0}, none = {0};
	halves two = (halves)__builtin_shufflevector(one, none, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
	                                             5, 21, 6, 22, 7, 23);
	words a, b;

	memcpy(&a, sums, sizeof a);
	memcpy(&b, sums + 4, sizeof b);
	a += (words)__builtin_shufflevector(two, (halves)none, 0, 8, 1, 9, 2, 10, 3, 11);
	b += (words)__builtin_shufflevector(two, (halves)none, 4, 12, 5, 13, 6, 14, 7, 15);
	memcpy(sums, &a, sizeof a);
	memcpy(sums + 4, &b, sizeof b);
}
#else
static inline void eight_add(uint32_t *sums, uint64_t eight)
{
	for (int i = 0; i < 8; i++)
		sums[i] += eight >> 8 * i & 0xff;
}
#endif

/* The ninth and the tenth sum are added as one word: they do not overflow into each other. */
static inline __attribute__((always_inline)) void counts_add(uint32_t *sums, struct cut c)
{
	uint64_t pair, two = (c.two & 0xff) | (uint64_t)(c.two >> 8) << 32;

	eight_add(sums, c.eight);
	memcpy(&pair, sums + 8, sizeof pair);
	pair += two;
	memcpy(sums + 8, &pair, sizeof pair);
}

static void row_order(enum af_xe_layout layout, const uint32_t *sums, struct af_xe_row *out)
{
	const uint8_t *order = order_of(layout);

	for (uint32_t i = 0; i < AF_XE_NR_REASONS; i++)
		out->counts[order[i]] = sums[i];
}

uint32_t af_xe_rows_marked(const uint8_t *rows, size_t nr)
{
	uint32_t marked = 0;
	uint16_t flags;

	for (size_t i = 0; i < nr; i++) {
		memcpy(&flags, rows + i * AF_XE_ROW_BYTES + MARK_AT, sizeof flags);
		marked += (flags & MARK_DROPPED) != 0;
	}
	return marked;
}

void af_xe_rows_open(struct af_xe_rows *t, enum af_xe_layout layout)
{
	*t = (struct af_xe_rows){
	    .layout = layout, .bits = INDEX_BITS, .scatter = af_hash_seed[0] | 1};
	t->index = af_xcalloc((size_t)1 << t->bits, sizeof *t->index);
}

static inline struct af_xe_sum *sum_at(const struct af_xe_rows *t, uint32_t i)
{
	return &t->chunks[i >> CHUNK_BITS][i & (CHUNK - 1)];
}

static inline uint32_t place_of(const struct af_xe_rows *t, uint64_t ip)
{
	/* A kernel's instructions lie in a row: one product spreads them. */
	return (uint32_t)(ip * t->scatter >> (64 - t->bits));
}

static uint32_t place_free(const struct af_xe_rows *t, uint64_t ip)
{
	uint32_t mask = (1u << t->bits) - 1, at = place_of(t, ip);

	while (t->index[at])
		at = (at + 1) & mask;
	return at;
}

/* Before it is three quarters full, so an address has at most 11 bytes of it. */
static void index_grow(struct af_xe_rows *t)
{
	free(t->index);
	t->bits++;
	t->index = af_xcalloc((size_t)1 << t->bits, sizeof *t->index);
	for (uint32_t i = 0; i < t->nr; i++)
		t->index[place_free(t, sum_at(t, i)->address)] = i + 1;
}

static __attribute__((noinline)) struct af_xe_sum *sum_new(struct af_xe_rows *t, uint64_t ip)
{
	if (t->nr >= (1u << t->bits) / 4 * 3)
		index_grow(t);
	if (t->nr >> CHUNK_BITS == t->nr_chunks) {
		AF_GROW(t->chunks, t->nr_chunks, t->cap_chunks);
		t->chunks[t->nr_chunks++] = af_xcalloc(CHUNK, sizeof **t->chunks);
	}
	struct af_xe_sum *s = sum_at(t, t->nr);
	*s = (struct af_xe_sum){.address = ip};
	t->index[place_free(t, ip)] = ++t->nr;
	return s;
}

/* The table as it is until the next new address: in registers, whatever is stored meanwhile. */
struct finder {
	const uint32_t *index;
	struct af_xe_sum *const *chunks;
	uint64_t scatter;
	uint32_t mask, shift;
};

static inline struct finder finder_of(const struct af_xe_rows *t)
{
	return (struct finder){.index = t->index,
	                       .chunks = t->chunks,
	                       .scatter = t->scatter,
	                       .mask = (1u << t->bits) - 1,
	                       .shift = 64 - t->bits};
}

static inline __attribute__((always_inline)) struct af_xe_sum *sum_find(const struct finder *f,
                                                                        uint64_t ip)
{
	for (uint32_t at = (uint32_t)(ip * f->scatter >> f->shift);; at = (at + 1) & f->mask) {
		uint32_t i = f->index[at];
		if (!i)
			return NULL;
		struct af_xe_sum *s = &f->chunks[(i - 1) >> CHUNK_BITS][(i - 1) & (CHUNK - 1)];
		if (__builtin_expect(s->address == ip, 1))
			return s;
	}
}

static __attribute__((noinline)) void zero_add(struct af_xe_rows *t, struct cut c)
{
	uint32_t sums[AF_XE_NR_REASONS] = {0};

	counts_add(sums, c);
	t->zero_rows++;
	for (uint32_t i = 0; i < AF_XE_NR_REASONS; i++)
		t->zero_counts += sums[i];
}

/* The number of rows that were added. Compiled once for each layout. */
static inline __attribute__((always_inline)) size_t
rows_add(struct af_xe_rows *t, enum af_xe_layout layout, const uint8_t *rows, size_t nr)
{
	struct finder f = finder_of(t);

	for (size_t i = 0; i < nr; i++) {
		struct cut c = row_cut(layout, rows + i * AF_XE_ROW_BYTES);
		if (__builtin_expect(!c.ip, 0)) {
			zero_add(t, c);
			continue;
		}
		struct af_xe_sum *s = sum_find(&f, c.ip);
		if (__builtin_expect(!s, 0)) {
			if (t->nr >= AF_XE_ADDRESSES_MOST)
				return i;
			s = sum_new(t, c.ip);
			f = finder_of(t);
		}
		counts_add(s->counts, c);
	}
	return nr;
}

size_t af_xe_rows_add(struct af_xe_rows *t, const uint8_t *bytes, size_t size)
{
	size_t nr = size / AF_XE_ROW_BYTES, room = AF_XE_ROWS_MOST - t->nr_rows;
	uint32_t zero = t->zero_rows;
	size_t taken = 0;

	if (nr > room)
		nr = room;
	if (t->layout == AF_XE_PVC)
		taken = rows_add(t, AF_XE_PVC, bytes, nr);
	else if (t->layout == AF_XE_XE3P)
		taken = rows_add(t, AF_XE_XE3P, bytes, nr);
	else
		taken = rows_add(t, AF_XE_XE2, bytes, nr);
	t->nr_rows += (uint32_t)taken - (t->zero_rows - zero);
	return taken * AF_XE_ROW_BYTES;
}

static bool fits(const struct af_xe_sum *s, const uint8_t *order, const struct af_xe_row *row)
{
	for (uint32_t i = 0; i < AF_XE_NR_REASONS; i++)
		if (row->counts[order[i]] > UINT32_MAX - s->counts[i])
			return false;
	return true;
}

bool af_xe_rows_put(struct af_xe_rows *t, const struct af_xe_row *row)
{
	uint32_t bits = t->layout == AF_XE_XE3P ? IP_BITS_XE3P : IP_BITS;
	uint64_t ip = row->address >> UNIT_BITS & ((UINT64_C(1) << bits) - 1);
	const uint8_t *order = order_of(t->layout);
	const struct finder f = finder_of(t);

	if (!ip) {
		t->zero_rows++;
		for (uint32_t i = 0; i < AF_XE_NR_REASONS; i++)
			t->zero_counts += row->counts[i];
		return true;
	}
	struct af_xe_sum *s = sum_find(&f, ip);
	if (!af_xe_rows_room(t) || (s && !fits(s, order, row)))
		return false;
	if (!s)
		s = sum_new(t, ip);
	for (uint32_t i = 0; i < AF_XE_NR_REASONS; i++)
		s->counts[i] += row->counts[order[i]];
	t->nr_rows++;
	return true;
}

void af_xe_rows_at(const struct af_xe_rows *t, uint32_t i, struct af_xe_row *out)
{
	const struct af_xe_sum *s = sum_at(t, i);

	out->address = s->address << UNIT_BITS;
	row_order(t->layout, s->counts, out);
}

uint32_t af_xe_rows_room(const struct af_xe_rows *t)
{
	uint32_t rows = AF_XE_ROWS_MOST - t->nr_rows, addresses = AF_XE_ADDRESSES_MOST - t->nr;

	return rows < addresses ? rows : addresses;
}

void af_xe_rows_empty(struct af_xe_rows *t)
{
	memset(t->index, 0, sizeof *t->index << t->bits);
	t->nr = t->nr_rows = t->zero_rows = 0;
	t->zero_counts = 0;
}

size_t af_xe_rows_bytes(const struct af_xe_rows *t)
{
	return (sizeof *t->index << t->bits) + (size_t)t->nr_chunks * CHUNK * sizeof **t->chunks +
	       t->cap_chunks * sizeof *t->chunks;
}

void af_xe_rows_free(struct af_xe_rows *t)
{
	for (uint32_t i = 0; i < t->nr_chunks; i++)
		free(t->chunks[i]);
	free(t->chunks);
	free(t->index);
	*t = (struct af_xe_rows){0};
}
