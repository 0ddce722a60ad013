#include "exchange/import_whole.h"

#include <errno.h>

#include "base/arena.h"
#include "exchange/import.h"

uint8_t *import_whole(const struct af_import_source *in, size_t most, size_t *size, ssize_t *rc)
{
	size_t cap = 64 << 10;
	uint8_t *data = af_xrealloc(NULL, cap);

	*size = 0;
	while ((*rc = in->read(in->arg, data + *size, cap - *size)) > 0) {
		*size += (size_t)*rc;
		if (*size > most) {
			*size = most;
			*rc = -EFBIG;
			break;
		}
		if (*size == cap)
			data = af_xrealloc(data, cap *= 2);
	}
	return data;
}
