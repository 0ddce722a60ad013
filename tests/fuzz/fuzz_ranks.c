/*
 * The ranks that processes send to another one, which joins, compares and draws them: two lots of
 * hostile bytes, split by two bytes in front, and by how much the clock of every second rank is
 * off. The first lot comes twice. What was read is written and read again: it is the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ranks/ranks.h"
#include "base/buf.h"
#include "base/err.h"
#include "render/heat/rank_map.h"
#include "render/text/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same_again(const struct af_ranks *all)
{
	struct af_ranks *copy = af_ranks_open();
	struct af_buf first = {0}, second = {0};

	af_ranks_write(all, &first);
	if (af_ranks_read(copy, first.data, first.len, NULL))
		abort();
	af_ranks_write(copy, &second);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
	af_ranks_close(copy);
	af_buf_free(&first);
	af_buf_free(&second);
}

static void draw(const struct af_ranks *all, const struct af_ranks_result *r,
                 const struct af_ranks_heat *h, struct af_tables *f)
{
	struct af_buf b = {0};

	af_ranks_map_table(all, h, h->start_ns, f);
	af_ranks_heat_table(all, h, f);
	af_rank_map_text(&b, r, h, 80, 64, false);
	af_rank_map_svg(&b, r, h, "ranks");
	af_buf_free(&b);
}

/* The set has all but the last rank. */
static void compare(struct af_ranks *all, int64_t shift)
{
	const struct af_ranks_result *r = af_ranks_end(all);
	struct af_set set = {.path = "set", .nr = r->nr ? r->nr - 1 : 0};
	int64_t *shifts = af_xcalloc(r->nr + 1ull, sizeof *shifts);
	const struct af_set_times times = {0};
	struct af_ranks_heat heat;
	struct af_tables f = {0};
	uint32_t nr;

	set.members = af_xcalloc(set.nr + 1ull, sizeof *set.members);
	for (uint32_t i = 0; i < r->nr; i++) {
		shifts[i] = i % 2 ? shift : 0;
		if (i < set.nr)
			set.members[i] = *r->ranks[i].who;
	}
	af_ranks_tables(all, &set, &f);
	free(af_ranks_first(all, &set, &nr));
	af_ranks_heat(all, shifts, &heat);
	draw(all, r, &heat, &f);
	af_ranks_heat_close(&heat);
	af_ranks_heat_placed(all, &set, &times, &heat);
	af_ranks_heat_close(&heat);
	struct af_buf b = {0};
	const struct af_document document = {.report = "ranks"};
	af_tables_json(&b, &document, &f, 0);
	for (const struct af_table *t = f.first; t; t = t->next)
		af_table_text(&b, t, 0, false, NULL);
	af_buf_free(&b);
	af_tables_free(&f);
	free(set.members);
	free(shifts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_ranks *all = af_ranks_open();
	uint16_t split = 0;
	int64_t shift = 0;
	const size_t head = sizeof split + sizeof shift;

	if (size > head) {
		memcpy(&split, data, sizeof split);
		memcpy(&shift, data + sizeof split, sizeof shift);
		size_t first = split < size - head ? split : size - head;
		af_ranks_read(all, data + head, first, NULL);
		af_ranks_read(all, data + head + first, size - head - first, NULL);
		af_ranks_read(all, data + head, first, NULL);
		same_again(all);
		compare(all, shift);
	}
	af_ranks_close(all);
	return 0;
}
