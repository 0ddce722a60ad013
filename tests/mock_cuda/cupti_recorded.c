/*
 * Records that a real CUPTI made on a real GPU (tests/gpu/recorded), handed out among our own:
 * MOCK_CUPTI_RECORDED names the file. Only the kernels' names are set anew, as they were pointers.
 */
#include "mock_cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL_NAME_AT = 104, NAME_MAX_BYTES = 4096 };

static bool recorded_read(FILE *file, struct mock_record *record)
{
	uint32_t head[2]; /* bytes of the record, of the name */
	char *name;

	if (fread(head, sizeof(head), 1, file) != 1)
		return false;
	if (head[0] > sizeof(record->bytes) || head[1] > NAME_MAX_BYTES)
		abort();
	*record = (struct mock_record){.size = head[0]};
	name = calloc(1, head[1] + 1);
	if (fread(record->bytes, head[0], 1, file) != 1 ||
	    (head[1] && fread(name, head[1], 1, file) != 1))
		abort();
	if (head[1])
		memcpy(record->bytes + KERNEL_NAME_AT, &name, sizeof(name));
	else
		free(name);
	return true;
}

void cupti_recorded(void (*add)(struct mock_record *record))
{
	const char *path = getenv("MOCK_CUPTI_RECORDED");
	FILE *file = path ? fopen(path, "rb") : NULL;
	struct mock_record record;

	if (path && !file)
		abort();
	while (file && recorded_read(file, &record))
		add(&record);
	if (file)
		fclose(file);
}
