#include "exchange/builder/launch_name.h"

#include <ctype.h>
#include <string.h>

bool exchange_is_launch(const char *name)
{
	static const char *const prefixes[] = {"cuda", "cu", "hip"};
	const char *rest = NULL;

	for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes && !rest; i++) {
		size_t len = strlen(prefixes[i]);
		if (!strncmp(name, prefixes[i], len) && isupper((unsigned char)name[len]))
			rest = name + len;
	}
	if (!rest || !strstr(rest, "Launch") || strstr(rest, "Graph") || strstr(rest, "Host"))
		return false;
	while (isalnum((unsigned char)*rest) || *rest == '_')
		rest++;
	return !*rest;
}
