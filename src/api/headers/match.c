/* Lists of patterns, as options have them. */
#include "api/headers/headers.h"

#include <fnmatch.h>
#include <string.h>

bool af_headers_match(const char *patterns, const char *name)
{
	char one[256];

	for (const char *at = patterns; *at; at += strspn(at, ",")) {
		size_t len = strcspn(at, ",");

		if (len < sizeof one) {
			memcpy(one, at, len);
			one[len] = 0;
			if (!fnmatch(one, name, 0))
				return true;
		}
		at += len;
	}
	return false;
}
