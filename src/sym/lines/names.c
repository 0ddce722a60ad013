#include "sym/lines/names.h"

#include <string.h>

#include "base/map.h"

/* Where the name at @offset ends; 0 when none begins there. */
static uint64_t name_end(const struct af_elf *e, const Elf64_Shdr *strings, uint64_t offset)
{
	if (offset >= strings->sh_size || (offset && af_elf_bytes(e, strings)[offset - 1]))
		return 0;
	const char *name = af_elf_string(e, strings, offset);
	return name ? offset + strlen(name) + 1 : 0;
}

/* Move @end_at to where the names of rows [@first, @end) end, which begin at it; false: they do
 * not. */
static bool names_end(const struct af_line_table *t, const struct af_elf *e,
                      const Elf64_Shdr *strings, uint32_t first, uint32_t end, uint64_t *end_at)
{
	uint64_t base = *end_at;
	struct af_map seen = {0};
	bool begin = true;

	for (uint32_t i = first; i < end && begin; i++) {
		bool fresh;

		if (t->rows[i].caller == AF_LINE_NONE)
			continue;
		af_map_at(&seen, t->rows[i].name, &fresh);
		if (!fresh)
			continue;
		uint64_t stop = name_end(e, strings, base + t->rows[i].name);
		begin = stop;
		if (stop > *end_at)
			*end_at = stop;
	}
	af_map_free(&seen);
	return begin;
}

void line_names_place(struct af_line_table *t, const struct af_elf *e, const Elf64_Shdr *strings,
                      const uint32_t *programs, uint32_t nr)
{
	uint64_t base = 0;
	bool known = strings->sh_type != SHT_NOBITS;

	if (nr < 2)
		return;
	for (uint32_t i = 0; i < nr && known; i++) {
		uint32_t end = i + 1 < nr ? programs[i + 1] : t->nr_rows;
		uint64_t next = base;

		known = names_end(t, e, strings, programs[i], end, &next) && next < AF_LINE_NONE;
		for (uint32_t k = programs[i]; known && k < end; k++)
			t->rows[k].name += (uint32_t)base;
		base = next;
	}
	if (known && base == strings->sh_size)
		return;
	for (uint32_t k = programs[1]; k < t->nr_rows; k++)
		t->rows[k].name = AF_LINE_NONE;
}
