#include "trace/read/near_memo.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "trace/read/near.h"

/*
 * A packet is known by its first byte's place in its piece, so two that begin in one piece are not
 * mistaken for one another: the later one to be found out is the one that is known.
 */
enum { PIECE = 16 << 10 };

struct af_near_memo {
	uint64_t nr;
	_Atomic uint16_t known[]; /* by piece: the place of a packet in it, plus 1; 0: none */
};

static size_t memo_bytes(uint64_t nr)
{
	return sizeof(struct af_near_memo) + nr * sizeof(uint16_t);
}

uint64_t af_near_memo_size(uint64_t bytes)
{
	return bytes / PIECE + 1;
}

struct af_near_memo *af_near_memo_make(uint64_t bytes, uint32_t nr_streams)
{
	uint64_t nr = bytes / PIECE + nr_streams;
	struct af_near_memo *m = mmap(NULL, memo_bytes(nr), PROT_READ | PROT_WRITE,
	                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	m->nr = nr;
	return m;
}

void af_near_memo_free(struct af_near_memo *m)
{
	if (m)
		munmap(m, memo_bytes(m->nr));
}

bool af_near_memo_has(const struct af_near_memo *m, uint64_t begin, uint64_t at)
{
	uint64_t piece = begin + at / PIECE;

	return piece < m->nr && atomic_load(&m->known[piece]) == at % PIECE + 1;
}

void af_near_memo_set(struct af_near_memo *m, uint64_t begin, uint64_t at)
{
	uint64_t piece = begin + at / PIECE;

	if (piece < m->nr)
		atomic_store(&m->known[piece], (uint16_t)(at % PIECE + 1));
}
