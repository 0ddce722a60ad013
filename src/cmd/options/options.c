/* Parses a command's arguments by its option table. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "cmd/options/command.h"
#include "cmd/options/nearest.h"

static const struct af_option *option_by_name(const struct af_command *cmd, const char *name,
                                              size_t len)
{
	for (const struct af_option *o = cmd->options; o && o->type != AF_OPT_END; o++)
		if (o->name && o->type != AF_OPT_GROUP && strlen(o->name) == len &&
		    !memcmp(o->name, name, len))
			return o;
	return NULL;
}

static const struct af_option *option_by_letter(const struct af_command *cmd, char letter)
{
	for (const struct af_option *o = cmd->options; o && o->type != AF_OPT_END; o++)
		if (o->letter == letter && o->type != AF_OPT_GROUP)
			return o;
	return NULL;
}

static int value_number(const char *text, double *number, const char **unit)
{
	char *end;

	errno = 0;
	*number = strtod(text, &end);
	if (end == text || errno || !isfinite(*number) || *number < 0)
		return -EINVAL;
	*unit = end;
	return 0;
}

static int value_scaled(const char *text, const char *const units[], const double scales[],
                        uint64_t *value)
{
	double number;
	const char *unit;

	if (value_number(text, &number, &unit))
		return -EINVAL;
	for (int i = 0; units[i]; i++) {
		if (strcasecmp(unit, units[i]))
			continue;
		number *= scales[i];
		if (number > 1.8e19)
			return -EINVAL;
		*value = (uint64_t)(number + 0.5);
		return 0;
	}
	return -EINVAL;
}

static int value_size(const char *text, uint64_t *value)
{
	static const char *const units[] = {"",  "b",  "k",   "kb", "kib", "m",   "mb", "mib",
	                                    "g", "gb", "gib", "t",  "tb",  "tib", NULL};
	const double k = 1024, m = k * k, g = m * k, t = g * k;
	const double scales[] = {1, 1, k, k, k, m, m, m, g, g, g, t, t, t};

	return value_scaled(text, units, scales, value);
}

static int value_time(const char *text, uint64_t *value)
{
	static const char *const units[] = {"",  "s",   "sec", "ms", "us", "ns",
	                                    "m", "min", "h",   "d",  NULL};
	static const double scales[] = {1e9, 1e9, 1e9, 1e6, 1e3, 1, 60e9, 60e9, 3600e9, 86400e9};

	return value_scaled(text, units, scales, value);
}

static int value_u64(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return errno || end == text || *end || *text == '-' ? -EINVAL : 0;
}

static bool choice_allows(const char *choices, const char *text)
{
	size_t len = strcspn(text, "|");

	if (!len || text[len])
		return false;
	for (const char *c = choices; c; c = strchr(c, '|') ? strchr(c, '|') + 1 : NULL)
		if (!strncmp(c, text, len) && (c[len] == '|' || !c[len]))
			return true;
	return false;
}

static void list_add(struct af_strings *list, const char *text)
{
	list->items = af_xrealloc(list->items, (list->nr + 1) * sizeof *list->items);
	list->items[list->nr++] = text;
}

/* The nearest known word. */
static const char *option_hint(enum af_option_type type)
{
	if (type == AF_OPT_SIZE)
		return ": 64k, 10M and 1G are";
	if (type == AF_OPT_TIME)
		return ": 10s, 1.5s, 200ms, 5min and 1h are";
	return "";
}

static int option_store(const struct af_option *o, void *state, const char *text,
                        struct af_err *err)
{
	void *at = (char *)state + o->offset;
	int rc = 0;
	const char *unit;

	switch (o->type) {
	case AF_OPT_FLAG:
		*(bool *)at = true;
		break;
	case AF_OPT_STRING:
		*(const char **)at = text;
		break;
	case AF_OPT_LIST:
		list_add(at, text);
		break;
	case AF_OPT_CHOICE:
	case AF_OPT_OPTIONAL:
		if (!o->any && !choice_allows(o->choices, text))
			return af_fail_plain(err, -EINVAL, "--%s takes one of %s, not \"%s\"",
			                     o->name, o->choices, text);
		*(const char **)at = text;
		break;
	case AF_OPT_U64:
		rc = value_u64(text, at);
		break;
	case AF_OPT_SIZE:
		rc = value_size(text, at);
		break;
	case AF_OPT_TIME:
		rc = value_time(text, at);
		break;
	case AF_OPT_DOUBLE:
		rc = value_number(text, at, &unit);
		rc = rc || *unit ? -EINVAL : 0;
		break;
	case AF_OPT_GROUP:
	case AF_OPT_END:
		break;
	}
	if (rc)
		return af_fail_plain(err, rc, "--%s %s: \"%s\" is an invalid value%s", o->name,
		                     o->arg, text, option_hint(o->type));
	return 0;
}

/*
 * The first of its choices. It lives as long as the program, as the words of the command line do.
 */
static int option_store_first(const struct af_option *o, void *state, struct af_err *err)
{
	size_t len = strcspn(o->choices, "|");
	char *first = af_xcalloc(1, len + 1);

	memcpy(first, o->choices, len);
	return option_store(o, state, first, err);
}

static int option_unknown(const struct af_command *cmd, const char *name, struct af_err *err)
{
	struct af_nearest n;

	af_nearest_init(&n, name);
	for (const struct af_option *o = cmd->options; o && o->type != AF_OPT_END; o++)
		if (o->name && o->type != AF_OPT_GROUP)
			af_nearest_offer(&n, o->name);
	if (af_nearest_best(&n))
		return af_fail_plain(err, -EINVAL, "no option --%s: did you mean --%s?", name,
		                     af_nearest_best(&n));
	return af_fail_plain(err, -EINVAL, "no option --%s: see `aflame %s --help`", name,
	                     cmd->name);
}

/* --name, --name=value, --name value */
static int parse_long(const struct af_command *cmd, void *state, char **argv, int argc, int *i,
                      struct af_err *err)
{
	const char *name = argv[*i] + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct af_option *o = option_by_name(cmd, name, len);

	if (!o) {
		char shown[64];
		snprintf(shown, sizeof shown, "%.*s", (int)(len < 60 ? len : 60), name);
		return option_unknown(cmd, shown, err);
	}
	if (o->type == AF_OPT_FLAG) {
		if (equals)
			return af_fail_plain(err, -EINVAL, "--%s takes no value", o->name);
		return option_store(o, state, NULL, err);
	}
	if (equals)
		return option_store(o, state, equals + 1, err);
	if (o->type == AF_OPT_OPTIONAL)
		return option_store_first(o, state, err);
	if (*i + 1 >= argc)
		return af_fail_plain(err, -EINVAL, "--%s needs a value: --%s %s", o->name, o->name,
		                     o->arg);
	return option_store(o, state, argv[++*i], err);
}

/* -x, -xVALUE, -x VALUE, -xyz for flags */
static int parse_short(const struct af_command *cmd, void *state, char **argv, int argc, int *i,
                       struct af_err *err)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		const struct af_option *o = option_by_letter(cmd, *p);
		if (!o)
			return af_fail_plain(err, -EINVAL, "no option -%c: see `aflame %s --help`",
			                     *p, cmd->name);
		if (o->type == AF_OPT_FLAG) {
			int rc = option_store(o, state, NULL, err);
			if (rc)
				return rc;
			continue;
		}
		if (p[1])
			return option_store(o, state, p + 1, err);
		if (*i + 1 >= argc)
			return af_fail_plain(err, -EINVAL, "-%c needs a value: -%c %s", *p, *p,
			                     o->arg);
		return option_store(o, state, argv[++*i], err);
	}
	return 0;
}

int af_options_parse(const struct af_command *cmd, void *state, int argc, char **argv, bool *help,
                     struct af_err *err)
{
	int nr_words = 0;
	bool only_words = false;

	for (int i = 0; i < argc; i++) {
		int rc = 0;
		if (only_words || argv[i][0] != '-' || !argv[i][1]) {
			argv[nr_words++] = argv[i];
			only_words |= !!(cmd->flags & AF_CMD_STOP_AT_WORD);
		} else if (!strcmp(argv[i], "--")) {
			only_words = true;
			if (cmd->flags & AF_CMD_KEEPS_DASHES)
				argv[nr_words++] = argv[i];
		} else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			*help = true;
			return 0;
		} else if (argv[i][1] == '-') {
			rc = parse_long(cmd, state, argv, argc, &i, err);
		} else {
			rc = parse_short(cmd, state, argv, argc, &i, err);
		}
		if (rc)
			return rc;
	}
	argv[nr_words] = NULL; /* argv has one more for it: words may be exec'd as they are */
	return nr_words;
}
