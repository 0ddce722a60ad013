#include "render/html/encoding.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

bool af_encoding_is_utf8(const char *encoding)
{
	return !encoding || !strcasecmp(encoding, "UTF-8") || !strcasecmp(encoding, "UTF8");
}

/* Bytes to leave out after what is not a character: the next one must be read at its beginning. */
static size_t encoding_unit(const char *encoding)
{
	static const struct {
		const char *prefix;
		size_t size;
	} wide[] = {{"UTF-16", 2}, {"UTF16", 2}, {"UCS-2", 2}, {"UCS2", 2},
	            {"UTF-32", 4}, {"UTF32", 4}, {"UCS-4", 4}, {"UCS4", 4}};

	for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
		if (!strncasecmp(encoding, wide[i].prefix, strlen(wide[i].prefix)))
			return wide[i].size;
	return 1;
}

int af_encoding_read(const char *encoding, const char *data, size_t size, struct af_buf *out,
                     struct af_err *err)
{
	char chunk[1 << 16], *in = (char *)data; /* iconv(3) does not write there */
	size_t unit = encoding_unit(encoding);
	iconv_t way = iconv_open("UTF-8", encoding);

	if (way == (iconv_t)-1)
		return af_fail_plain(err, -EINVAL, "no encoding called %s: `iconv -l` lists them",
		                     encoding);
	while (size) {
		char *to = chunk;
		size_t room = sizeof chunk;
		int why = iconv(way, &in, &size, &to, &room) == (size_t)-1 ? errno : 0;

		af_buf_add(out, chunk, sizeof chunk - room);
		if (why != EILSEQ && why != EINVAL)
			continue;
		size_t bad = why == EINVAL || size < unit ? size : unit;
		af_buf_str(out, "\xef\xbf\xbd");
		in += bad;
		size -= bad;
	}
	iconv_close(way);
	return 0;
}
