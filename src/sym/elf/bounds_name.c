#include "sym/elf/bounds_name.h"

#include <string.h>

#include "base/buf.h"

static const char bounds_mark[] = "!fn_";

void af_bounds_name(struct af_buf *b, const char *module, uint64_t start)
{
	af_buf_fmt(b, "%s%s%llx", module, bounds_mark, (unsigned long long)start);
}

static int bounds_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

size_t af_bounds_name_module(const char *text, size_t len)
{
	size_t mark = sizeof bounds_mark - 1, at = len;

	while (at && bounds_hex(text[at - 1]))
		at--;
	if (at == len || at <= mark || memcmp(text + at - mark, bounds_mark, mark) != 0)
		return 0;
	return at - mark;
}
