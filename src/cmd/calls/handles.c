#include "cmd/calls/handles.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/tables/tables.h"
#include "base/arena.h"
#include "base/buf.h"

enum { NAME_MAX_BYTES = 48 };

void af_handles_free(struct af_handles *h)
{
	for (uint32_t i = 0; i < h->nr; i++)
		af_map_free(&h->numbers[i]);
	free(h->numbers);
	af_map_free(&h->by_type);
	af_map_free(&h->by_space);
	af_strtab_free(&h->names);
	*h = (struct af_handles){0};
}

static void end_cut(char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	if (len > n && !strcmp(name + len - n, end))
		name[len - n] = 0;
}

/* The type's name without the prefix that an API gives all its types. */
static const char *after_prefix(const char *type)
{
	static const char *const prefixes[] = {"cuda", "CU",  "cl_",  "zes_", "zet_",
	                                       "ze_",  "hip", "MPI_", "ompt_"};

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		size_t n = strlen(prefixes[i]);
		if (!strncmp(type, prefixes[i], n) && isalpha((unsigned char)type[n]))
			return type + n;
	}
	const char *dash = strchr(type, '_');
	return dash && dash - type <= 5 && isalpha((unsigned char)dash[1]) ? dash + 1 : type;
}

/* "stream" for CUstream, cudaStream_t; "queue" for cl_command_queue. */
static void sort_of(char name[NAME_MAX_BYTES], const char *type)
{
	size_t n = 0;

	for (const char *s = after_prefix(type); *s && n < NAME_MAX_BYTES - 1; s++)
		name[n++] = isalnum((unsigned char)*s) ? (char)tolower((unsigned char)*s) : '_';
	name[n] = 0;
	end_cut(name, "_t");
	end_cut(name, "_handle");
	end_cut(name, "_id");
	if (!strcmp(name, "command_queue"))
		strcpy(name, "queue");
	if (!n)
		strcpy(name, "handle");
}

static uint32_t name_of(struct af_handles *h, const struct af_api_type *type)
{
	char name[NAME_MAX_BYTES];
	bool fresh;
	uint64_t *slot = af_map_at(&h->by_type, (uintptr_t)type, &fresh);

	if (fresh) {
		sort_of(name, type->name ? type->name : "handle");
		*slot = af_strtab_id_z(&h->names, name);
	}
	return (uint32_t)*slot;
}

void af_handle_name(struct af_handles *h, uint32_t process, const struct af_api_type *type,
                    uint64_t value, struct af_buf *b)
{
	bool fresh;

	if (!value) {
		af_buf_str(b, "NULL");
		return;
	}
	uint32_t name = name_of(h, type);
	uint64_t *space = af_map_at(&h->by_space, (uint64_t)process << 32 | name, &fresh);
	if (fresh) {
		AF_GROW(h->numbers, h->nr, h->cap);
		h->numbers[h->nr] = (struct af_map){0};
		*space = h->nr++;
	}
	struct af_map *numbers = &h->numbers[*space];
	uint64_t *number = af_map_at(numbers, value, &fresh);
	if (fresh)
		*number = numbers->nr;
	af_buf_str(b, af_strtab_get(&h->names, name));
	af_buf_char(b, '#');
	af_buf_u64(b, *number);
}
