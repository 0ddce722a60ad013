/* aflame api diff: headers against a model. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/model/compare.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cmd/api/api.h"

enum { COMMAND_WORDS = 256 };

struct api_diff {
	bool json;
	uint32_t nr;
	struct af_buf text;
};

static void diff_change(const struct af_model_change *c, void *arg)
{
	struct api_diff *d = arg;
	struct af_buf *b = &d->text;
	const char *change = !c->before ? "added" : !c->after ? "dropped" : "changed";

	if (d->json) {
		af_buf_fmt(b, "%s\n    {\"change\": \"%s\", \"what\": \"%s\", \"name\": ",
		           d->nr ? "," : "", change, c->what);
		af_buf_json(b, c->name, strlen(c->name));
		if (c->before) {
			af_buf_str(b, ", \"before\": ");
			af_buf_json(b, c->before, strlen(c->before));
		}
		if (c->after) {
			af_buf_str(b, ", \"after\": ");
			af_buf_json(b, c->after, strlen(c->after));
		}
		af_buf_char(b, '}');
	} else {
		af_buf_fmt(b, "%c %s %s: ",
		           !c->before  ? '+'
		           : !c->after ? '-'
		                       : '~',
		           c->what, c->name);
		af_buf_fmt(b, c->before && c->after ? "%s → %s\n" : "%s%s\n",
		           c->before ? c->before : "", c->after ? c->after : "");
	}
	d->nr++;
}

static int diff_show(const struct af_api_options *o, const struct af_model *before,
                     const struct af_model *after, struct af_err *err)
{
	struct api_diff d = {.json = o->json};
	(void)err;

	if (o->json)
		af_buf_str(&d.text, "{\n  \"changes\": [");
	af_model_compare(before, after, diff_change, &d);
	if (o->json)
		af_buf_fmt(&d.text, "%s]\n}\n", d.nr ? "\n  " : "");
	if (d.text.data)
		fputs(d.text.data, stdout);
	af_buf_free(&d.text);
	return d.nr ? 1 : 0;
}

/* Words as af_buf_word() writes them, in place. */
static uint32_t command_split(char *text, char **words)
{
	uint32_t nr = 0;
	char *from = text, *to = text;
	bool quoted = false;

	while (nr < COMMAND_WORDS) {
		from += strspn(from, " ");
		if (!*from)
			return nr;
		words[nr++] = to;
		for (; *from && (quoted || *from != ' '); from++)
			if (*from == '\'')
				quoted = !quoted;
			else if (*from == '\\' && !quoted && from[1])
				*to++ = *++from;
			else
				*to++ = *from;
		if (*from)
			from++;
		*to++ = 0;
	}
	return nr;
}

/* The options and headers of the command that made the model, from its first line. */
static int diff_command(const struct af_command *cmd, const char *path, char **line,
                        struct af_api_options *made, char **words, struct af_err *err)
{
	static const char begin[] = "# aflame api ";
	scope_fclose FILE *f = fopen(path, "re");
	size_t cap = 0;
	bool help = false;

	if (!f)
		return af_fail(err, -errno, "cannot open %s", path);
	if (getline(line, &cap, f) < 0 || strncmp(*line, begin, sizeof begin - 1))
		return 0;
	(*line)[strcspn(*line, "\n")] = 0;
	uint32_t nr = command_split(*line + sizeof begin - 1, words);
	return af_options_parse(cmd, made, (int)nr, words, &help, err);
}

/* The model and the headers, by the options of the command that made the model. */
static int diff_read(const struct af_api_options *o, const struct af_command *cmd, const char *name,
                     uint32_t nr, char **files, struct af_err *err)
{
	struct af_model before = {0}, after = {0};
	struct af_api_options made = {0};
	char *words[COMMAND_WORDS + 1] = {0};
	scope_free char *line = NULL;
	int rc = diff_command(cmd, o->model, &line, &made, words, err);

	if (!nr && rc > 2) {
		nr = (uint32_t)rc - 2;
		files = words + 2;
	}
	if (rc >= 0 && !nr)
		return af_fail_plain(
		    err, -EINVAL, "%s does not say which headers it is from: give them", o->model);
	made.folders = o->folders;
	if (rc >= 0)
		rc = af_model_read(&before, o->model, err);
	if (!rc)
		rc = af_api_headers(&made, name, nr, files, &after, err);
	if (!rc)
		rc = diff_show(o, &before, &after, err);
	af_model_free(&before);
	af_model_free(&after);
	return rc;
}

/* 1 is the status of models that differ, so every failure has 2, that of -EINVAL. */
int af_api_diff(const struct af_api_options *o, const struct af_command *cmd, const char *name,
                uint32_t nr, char **files, struct af_err *err)
{
	if (!o->model)
		return af_fail_plain(err, -EINVAL, "give --model, the model to compare with");
	int rc = diff_read(o, cmd, name, nr, files, err);
	return rc < 0 ? -EINVAL : rc;
}
