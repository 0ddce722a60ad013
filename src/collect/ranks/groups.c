#include "collect/ranks/groups.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "collect/disk/job.h"
#include "collect/ranks/launch.h"
#include "collect/ranks/select.h"

enum { FILE_MOST = 64 << 20 };

/* A part of a text that has no NUL at its end. */
struct part {
	const char *at;
	size_t len;
};

/* A key once more replaces the value. False: a name is invalid, or there are too many. */
static bool group_put(struct af_rank_groups *g, struct part key, struct part value)
{
	uint32_t i = 0;

	if (!key.len || key.len >= AF_GROUP_KEY || !value.len || value.len >= AF_GROUP_VALUE)
		return false;
	for (size_t c = 0; c < key.len; c++)
		if (!isalnum((unsigned char)key.at[c]) && !strchr("_.-", key.at[c]))
			return false;
	for (size_t c = 0; c < value.len; c++)
		if ((unsigned char)value.at[c] <= ' ' || value.at[c] == 0x7f)
			return false;
	while (i < g->nr &&
	       (strlen(g->all[i].key) != key.len || memcmp(g->all[i].key, key.at, key.len) != 0))
		i++;
	if (i == AF_GROUPS_MAX)
		return false;
	g->nr += i == g->nr;
	memcpy(g->all[i].key, key.at, key.len);
	g->all[i].key[key.len] = 0;
	memcpy(g->all[i].value, value.at, value.len);
	g->all[i].value[value.len] = 0;
	return true;
}

/* "dp=3" */
static bool pair_put(struct af_rank_groups *g, struct part pair)
{
	const char *is = memchr(pair.at, '=', pair.len);

	if (!is)
		return false;
	size_t key_len = (size_t)(is - pair.at);
	return group_put(g, (struct part){pair.at, key_len},
	                 (struct part){is + 1, pair.len - key_len - 1});
}

static void variable_put(struct af_rank_groups *g, const char *key, const char *variable)
{
	const char *value = getenv(variable);
	uint64_t number;

	if (value && af_digits(value, &number))
		group_put(g, (struct part){key, strlen(key)}, (struct part){value, strlen(value)});
}

static void number_put(struct af_rank_groups *g, const char *key, uint64_t number)
{
	char text[24];
	int len = snprintf(text, sizeof text, "%llu", (unsigned long long)number);

	group_put(g, (struct part){key, strlen(key)}, (struct part){text, (size_t)len});
}

/* Slurm's topology plugin: "s0.s3.node17", and what these are, "switch.switch.node". */
static void switch_put(struct af_rank_groups *g)
{
	const char *at = getenv("SLURM_TOPOLOGY_ADDR"), *is = getenv("SLURM_TOPOLOGY_ADDR_PATTERN");
	struct part found = {NULL, 0};

	while (at && is && *at && *is) {
		size_t len = strcspn(at, "."), is_len = strcspn(is, ".");
		if (is_len == 6 && !memcmp(is, "switch", 6))
			found = (struct part){at, len};
		at += len + (at[len] == '.');
		is += is_len + (is[is_len] == '.');
	}
	if (found.at)
		group_put(g, (struct part){"switch", 6}, found);
}

static void environment_put(struct af_rank_groups *g, const struct af_launch *l)
{
	static const char *const numbers[][2] = {
	    {"dp", "DP_RANK"}, {"dp", "VLLM_DP_RANK"}, {"tp", "TP_RANK"},
	    {"pp", "PP_RANK"}, {"cp", "CP_RANK"},      {"ep", "EP_RANK"},
	};
	const char *role = getenv("ROLE_NAME");

	if (l->has_node)
		number_put(g, "node", l->node);
	if (l->has_local)
		number_put(g, "local", l->local);
	switch_put(g);
	if (role && *role && strcmp(role, "default") != 0)
		group_put(g, (struct part){"role", 4}, (struct part){role, strlen(role)});
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		variable_put(g, numbers[i][0], numbers[i][1]);
}

static int list_put(struct af_rank_groups *g, const char *list, struct af_err *err)
{
	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ",");
		if (!pair_put(g, (struct part){at, len}))
			return af_fail_plain(err, -EINVAL,
			                     "groups are at most %d of KEY=VALUE, as dp=3,tp=0, "
			                     "not \"%s\"",
			                     AF_GROUPS_MAX, list);
		at += len + (at[len] == ',');
	}
	return 0;
}

static size_t blanks(const char *at, const char *end)
{
	size_t n = 0;

	while (at + n < end && (at[n] == ' ' || at[n] == '\t' || at[n] == '\r'))
		n++;
	return n;
}

static struct part word_take(const char **at, const char *end)
{
	*at += blanks(*at, end);
	struct part word = {*at, 0};
	while (*at < end && !strchr(" \t\r", **at)) {
		word.len++;
		(*at)++;
	}
	return word;
}

/* Is the line about this rank: "0-3", "node17"? */
static bool is_of(struct part who, const struct af_job_rank *job, const struct af_launch *l)
{
	char text[512];

	if (who.len >= sizeof text)
		return false;
	memcpy(text, who.at, who.len);
	text[who.len] = 0;
	int listed = job->is_rank ? af_rank_in_list(l->rank, text) : -EINVAL;
	size_t plain = strcspn(job->host, ".");
	return listed > 0 || !strcmp(text, job->host) ||
	       (strlen(text) == plain && !strncmp(text, job->host, plain));
}

/* False: the line makes no sense. */
static bool line_put(struct af_rank_groups *g, const char *at, const char *end,
                     const struct af_job_rank *job, const struct af_launch *l)
{
	static struct af_rank_groups others; /* lines of other ranks are checked, too */
	const char *comment = memchr(at, '#', (size_t)(end - at));

	end = comment ? comment : end;
	if (memchr(at, 0, (size_t)(end - at)))
		return false;
	struct part who = word_take(&at, end);
	struct af_rank_groups *to = who.len && is_of(who, job, l) ? g : &others;
	others.nr = 0;
	for (;;) {
		struct part pair = word_take(&at, end);
		if (!pair.len)
			return true;
		if (!pair_put(to, pair))
			return false;
	}
}

static int file_put(struct af_rank_groups *g, const char *name, const struct af_job_rank *job,
                    const struct af_launch *l, struct af_err *err)
{
	struct af_file f;
	int rc = af_file_map(&f, name, err), number = 0;

	if (rc)
		return af_while(err, rc, "groups");
	if (f.size > FILE_MOST) {
		af_file_unmap(&f);
		return af_fail_plain(err, -EFBIG, "%s: too large for a file of groups", name);
	}
	const char *at = (const char *)f.data, *all = f.size ? at + f.size : at;
	while (!rc && at && at < all) {
		const char *line = memchr(at, '\n', (size_t)(all - at));
		number++;
		if (!line_put(g, at, line ? line : all, job, l))
			rc = af_fail_plain(err, -EINVAL,
			                   "%s:%d: a line is RANKS or HOST, then at most %d of "
			                   "KEY=VALUE, as `0-3 dp=0 tp=1`",
			                   name, number, AF_GROUPS_MAX);
		at = line ? line + 1 : all;
	}
	af_file_unmap(&f);
	return rc;
}

int af_rank_groups_find(struct af_rank_groups *g, const char *given, const struct af_job_rank *job,
                        const struct af_launch *l, struct af_err *err)
{
	struct af_rank_groups all = {.nr = 0};

	g->nr = 0;
	environment_put(g, l);
	if (!given || !*given)
		return 0;
	all = *g;
	int rc =
	    strchr(given, '=') ? list_put(&all, given, err) : file_put(&all, given, job, l, err);
	if (!rc)
		*g = all;
	return rc;
}
