/* Reads the words of --uprobe. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cmd/functions/private.h"

enum { EVERY_MOST = 1000000 };

#define TAKES                                                                                      \
	"--uprobe takes LIB:FUNCTION, +RETURN for times, and @1/N for one call in N: "             \
	"libz.so.1:deflate+RETURN@1/100"

/* "@1/N" at the end of @text is cut off. */
static int every_parse(char *text, struct functions_word *word, struct af_err *err)
{
	char *at = strrchr(text, '@'), *end = "";
	unsigned long every = 0;

	word->every = 1;
	/* A version of a symbol looks like that, too: f@@VERSION. */
	if (!at || strncmp(at, "@1/", 3) != 0)
		return 0;
	if (at[3] >= '1' && at[3] <= '9')
		every = strtoul(at + 3, &end, 10);
	if (!every || every > EVERY_MOST || *end)
		return af_fail_plain(err, -EINVAL, TAKES ", with N from 1 to %u; not \"%s\"",
		                     (unsigned)EVERY_MOST, at);
	word->every = (uint32_t)every;
	*at = 0;
	return 0;
}

/* "+RETURN" at the end of @text is cut off. */
static bool returns_parse(char *text)
{
	static const char word[] = "+RETURN";
	size_t len = strlen(text), of_word = sizeof word - 1;

	if (len < of_word || strcmp(text + len - of_word, word) != 0)
		return false;
	text[len - of_word] = 0;
	return true;
}

/* A path has no colon before the function's, a C++ name has more of them after it. */
static int word_parse(const char *text, struct functions_word *word, struct af_err *err)
{
	const char *colon = strchr(text, ':');

	if (!colon || colon == text || !colon[1])
		return af_fail_plain(err, -EINVAL, TAKES "; not \"%s\"", text);
	word->lib = af_xstrndup(text, (size_t)(colon - text));
	word->function = af_xstrndup(colon + 1, strlen(colon + 1));
	int rc = every_parse(word->function, word, err);
	word->returns = !rc && returns_parse(word->function);
	if (!rc && !*word->function)
		return af_fail_plain(err, -EINVAL, TAKES "; not \"%s\"", text);
	return rc;
}

static int by_place(const void *a, const void *b)
{
	const struct af_watch_function *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (order)
		return order;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* A function that is named twice has one probe: that with the most records. */
static void functions_sort(struct af_functions *to)
{
	uint32_t kept = 0;

	AF_SORT(to->all, to->nr, by_place);
	for (uint32_t i = 0; i < to->nr; i++) {
		struct af_watch_function *last = kept ? &to->all[kept - 1] : NULL;
		if (!last || by_place(last, &to->all[i]))
			to->all[kept++] = to->all[i];
		else if (to->all[i].every < last->every)
			last->every = to->all[i].every;
	}
	to->nr = kept;
}

int af_functions_find(struct af_functions *to, const char *const *words, uint32_t nr,
                      const struct af_functions_of *of, struct af_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < nr; i++) {
		struct functions_word word = {0};
		struct functions_file file;

		rc = word_parse(words[i], &word, err);
		if (!rc)
			rc = functions_file_find(&file, word.lib, of, err);
		if (!rc)
			rc = functions_find_in(to, &file, &word, err);
		free(word.lib);
		free(word.function);
		functions_sort(to);
	}
	return rc;
}

void functions_less_add(struct af_functions_less *l, const char *name, const char *why)
{
	enum { SHOWN = 3 };
	size_t used = strlen(l->first);

	if (l->nr++ < SHOWN)
		snprintf(l->first + used, sizeof l->first - used, "%s%s (%s)", used ? ", " : "",
		         name, why);
	else if (l->nr == SHOWN + 1)
		snprintf(l->first + used, sizeof l->first - used, ", …");
}

void af_functions_less_text(const struct af_functions *f, char *text, size_t size)
{
	*text = 0;
	if (f->untimed.nr)
		snprintf(text, size,
		         "of the functions that match %u cannot be timed, and are counted: %s",
		         f->untimed.nr, f->untimed.first);
	size_t used = strlen(text);
	if (f->unprobed.nr)
		snprintf(text + used, size - used,
		         "%sof the functions that match %u cannot be probed without root: %s",
		         used ? "; " : "", f->unprobed.nr, f->unprobed.first);
}

void af_functions_free(struct af_functions *f)
{
	af_arena_free(&f->memory);
	*f = (struct af_functions){0};
}
