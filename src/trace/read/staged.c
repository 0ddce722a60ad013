#include "trace/read/staged.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "trace/read/files.h"

/* The next line of *@text into @to; "?" for one that is too long, empty or has odd characters. */
static void line_take(char **text, char *to, size_t size)
{
	char *line = *text;
	size_t len = strcspn(line, "\n");
	bool fine = len > 0 && len < size;

	for (size_t i = 0; i < len; i++)
		fine &= !iscntrl((unsigned char)line[i]);
	*text = line + len + (line[len] == '\n');
	snprintf(to, size, "%.*s", fine ? (int)len : 1, fine ? line : "?");
}

bool af_staged_read(int dirfd, struct af_staged *s)
{
	char text[2048], *rest = text;

	if (!af_trace_has(dirfd, AF_STAGED_FILE))
		return false;
	af_trace_text(dirfd, AF_STAGED_FILE, text, sizeof text);
	line_take(&rest, s->host, sizeof s->host);
	line_take(&rest, s->boot_id, sizeof s->boot_id);
	line_take(&rest, s->path, sizeof s->path);
	if (s->path[0] != '/')
		snprintf(s->path, sizeof s->path, "?");
	return true;
}
