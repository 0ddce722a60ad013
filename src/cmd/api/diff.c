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
                     const struct af_model *after)
{
	struct api_diff d = {.json = o->json};

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
static int diff_command(const struct af_command *cmd, struct af_buf *line,
                        struct af_api_options *made, char **words, struct af_err *err)
{
	static const char begin[] = "# aflame api ";
	bool help = false;

	if (!line->data || strncmp(line->data, begin, sizeof begin - 1) != 0)
		return 0;
	uint32_t nr = command_split(line->data + sizeof begin - 1, words);
	return af_options_parse(cmd, made, (int)nr, words, &help, err);
}

static int diff_file(const char *path, struct af_buf *text, struct af_err *err)
{
	scope_fclose FILE *f = fopen(path, "re");
	char some[4096];
	size_t len;

	if (!f)
		return af_fail(err, -errno, "cannot open %s", path);
	while ((len = fread(some, 1, sizeof some, f)) > 0)
		af_buf_add(text, some, len);
	return ferror(f) ? af_fail(err, -EIO, "cannot read %s", path) : 0;
}

static int diff_model(const struct af_api_options *o, const char *name, struct af_buf *text,
                      struct af_err *err)
{
	if (o->model)
		return diff_file(o->model, text, err);
	for (const struct af_api_model *m = af_api_models; m->name; m++)
		if (!strcmp(m->name, name)) {
			af_buf_add(text, m->text, *m->len);
			return 0;
		}
	af_buf_fmt(text, "no model %s in aflame: give one of", name);
	for (const struct af_api_model *m = af_api_models; m->name; m++)
		af_buf_fmt(text, " %s,", m->name);
	return af_fail_plain(err, -EINVAL, "%s or --model", text->data);
}

/* The model of @text and the headers, by the options of the command that made the model. */
static int diff_read(const struct af_api_options *o, const struct af_command *cmd, const char *name,
                     uint32_t nr, char **files, const struct af_buf *text, struct af_err *err)
{
	struct af_model before = {0}, after = {0};
	struct af_api_options made = {0};
	struct af_buf line = {0};
	char *words[COMMAND_WORDS + 1] = {0};

	af_buf_add(&line, text->data, text->data ? strcspn(text->data, "\n") : 0);
	int rc = diff_command(cmd, &line, &made, words, err);
	if (!nr && rc > 2) {
		nr = (uint32_t)rc - 2;
		files = words + 2;
	}
	if (rc >= 0 && !nr)
		rc = af_fail_plain(err, -EINVAL,
		                   "the model does not say which headers it is from: give them");
	made.folders = o->folders;
	if (rc >= 0)
		rc = af_model_read_text(&before, o->model ? o->model : name, text->data, text->len,
		                        err);
	if (!rc)
		rc = af_api_headers(&made, name, nr, files, &after, err);
	if (!rc)
		rc = diff_show(o, &before, &after);
	af_model_free(&before);
	af_model_free(&after);
	af_buf_free(&line);
	return rc;
}

/* 1 is the status of models that differ, so every failure has 2, that of -EINVAL. */
int af_api_diff(const struct af_api_options *o, const struct af_command *cmd, const char *name,
                uint32_t nr, char **files, struct af_err *err)
{
	struct af_buf text = {0};
	int rc = diff_model(o, name, &text, err);

	if (!rc)
		rc = diff_read(o, cmd, name, nr, files, &text, err);
	af_buf_free(&text);
	return rc < 0 ? -EINVAL : rc;
}
