#include "collect/ranks/select.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/err.h"
#include "collect/disk/job.h"
#include "collect/ranks/launch.h"

int af_rank_in_list(uint64_t rank, const char *list)
{
	int found = 0;

	for (const char *at = list;; at++) {
		uint64_t first, last;
		if (!af_digits_take(&at, &first))
			return -EINVAL;
		last = first;
		if (*at == '-') {
			at++;
			if (!af_digits_take(&at, &last) || last < first)
				return -EINVAL;
		}
		found |= rank >= first && rank <= last;
		if (!*at)
			return found;
		if (*at != ',')
			return -EINVAL;
	}
}

/* Is this host in "node1,node2"? With or without its domain. */
static bool host_is_in(const char *list)
{
	char host[256] = "";

	gethostname(host, sizeof host - 1);
	size_t all = strlen(host), plain = strcspn(host, ".");
	for (const char *at = list; *at; at += *at == ',') {
		size_t len = strcspn(at, ",");
		if (len && (len == all || len == plain) && !strncmp(at, host, len))
			return true;
		at += len;
	}
	return false;
}

static bool is_any(const struct af_rank_selection *s)
{
	return s->ranks || s->hosts || s->every;
}

int af_rank_select(const struct af_rank_selection *s, const struct af_job_rank *job,
                   const struct af_launch *l, struct af_err *err)
{
	int listed = s->ranks ? af_rank_in_list(l->rank, s->ranks) : 1;

	if (listed < 0)
		return af_fail_plain(err, -EINVAL,
		                     "--ranks takes numbers and ranges, as 0-3,64, not \"%s\"",
		                     s->ranks);
	if (s->hosts && (!*s->hosts || s->hosts[strspn(s->hosts, ",")] == 0))
		return af_fail_plain(err, -EINVAL,
		                     "--hosts takes `one` or names of hosts, as node1,node2");
	if (!is_any(s))
		return 1;
	if (!job->is_rank)
		return af_fail_plain(
		    err, -ENOENT,
		    "--ranks, --hosts and --every choose among ranks, and no launcher made this "
		    "process one: put the launcher first, as `mpirun -n 64 aflame record …`");
	bool on = !s->hosts ||
	          (!strcmp(s->hosts, "one") ? af_launch_is_first_host(l) : host_is_in(s->hosts));
	return listed && on && (!s->every || !(l->rank % s->every));
}

void af_rank_selection_text(const struct af_rank_selection *s, char *text, size_t size)
{
	const struct {
		const char *option, *value;
	} words[] = {{"--ranks", s->ranks}, {"--hosts", s->hosts}};
	size_t used = 0;

	*text = 0;
	for (size_t i = 0; i < 2 && used < size; i++)
		if (words[i].value)
			used += (size_t)snprintf(text + used, size - used, "%s%s %s",
			                         used ? " " : "", words[i].option, words[i].value);
	if (s->every && used < size)
		snprintf(text + used, size - used, "%s--every %llu", used ? " " : "",
		         (unsigned long long)s->every);
}
