#include "exchange/source/whole.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "exchange/source/source.h"

enum {
	WHOLE_FIRST = 64 << 10,
	/* Profiles pack to a tenth, the plainest of speedscope's to a thirtieth; zeros to a
	 * thousandth. */
	WHOLE_RATIO = 32,
	WHOLE_SMALL = 64 << 20, /* as small ones pack better */
};

static size_t whole_most(const struct af_import_source *in)
{
	uint64_t most = SIZE_MAX / 4;

	if (in->consumed && (__builtin_mul_overflow(in->consumed(in->arg), WHOLE_RATIO, &most) ||
	                     most > SIZE_MAX / 4))
		most = SIZE_MAX / 4;
	return (size_t)most + WHOLE_SMALL;
}

uint8_t *import_whole(const struct af_import_source *in, size_t *size, ssize_t *rc)
{
	size_t cap = WHOLE_FIRST;
	uint8_t *data = af_xrealloc(NULL, cap), *more;

	*size = 0;
	while ((*rc = in->read(in->arg, data + *size, cap - *size)) > 0) {
		*size += (size_t)*rc;
		if (*size > whole_most(in)) {
			*rc = -EFBIG;
			break;
		}
		if (*size < cap)
			continue;
		more = realloc(data, cap * 2);
		if (!more) {
			*rc = -ENOMEM;
			break;
		}
		data = more;
		cap *= 2;
	}
	return data;
}

const char *import_whole_text(ssize_t rc)
{
	return rc == -EFBIG    ? "it unpacks to more than 32 times its size, the rest is left out: "
	                         "unpack it first if that is meant"
	       : rc == -ENOMEM ? "the memory is not enough for all of it"
	                       : "the file cannot be read further";
}
