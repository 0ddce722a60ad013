#include "cmd/shared/perf_script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "exchange/perf/tree.h"
#include "exchange/source/source.h"

static int words_parse(struct af_perf_tree_options *o, const char *words, struct af_err *err)
{
	const struct {
		const char *word;
		bool *flag;
	} known[] = {{"plain", &o->plain},
	             {"pid", &o->pid},
	             {"tid", &o->tid},
	             {"addrs", &o->addresses},
	             {"srcline", &o->lines}};
	enum { KNOWN = sizeof known / sizeof *known };

	for (const char *w = words; w && *w; w += w[strcspn(w, ",")] == ',') {
		size_t len = strcspn(w, ",");
		int i = 0;
		while (i < KNOWN && (strlen(known[i].word) != len || memcmp(known[i].word, w, len)))
			i++;
		if (i == KNOWN)
			return af_fail_plain(err, -EINVAL,
			                     "--perf-frames takes " AF_PERF_FRAMES
			                     ", with commas between, not \"%.*s\"",
			                     (int)len, w);
		*known[i].flag = true;
		w += len;
	}
	return 0;
}

int af_perf_script(struct af_tree *t, const char *text, size_t size, const char *words,
                   const char *event, struct af_err *err)
{
	struct af_perf_tree_options o = {.event = event};
	struct af_perf_tree_stats s;
	int rc = words_parse(&o, words, err);
	char say[256];

	if (rc)
		return rc;
	if (af_import_is_other(text, size, af_import_is_perf_text, say, sizeof say))
		return af_fail_plain(err, -EBADMSG, "not the output of perf script: %s", say);
	af_perf_tree(t, text, size, &o, &s);
	if (s.bad_lines * 2 > s.lines)
		return af_fail_plain(err, -EBADMSG,
		                     "not the output of perf script: %" PRIu64 " of %" PRIu64
		                     " lines do not parse, the first: line %" PRIu64,
		                     s.bad_lines, s.lines, s.first_bad);
	if (s.bad_lines)
		fprintf(stderr,
		        "aflame flame: %" PRIu64 " of %" PRIu64
		        " lines are not perf script's, the first: line %" PRIu64 "\n",
		        s.bad_lines, s.lines, s.first_bad);
	if (s.other_samples)
		fprintf(stderr,
		        "aflame flame: only event %s is used, not %s and such: %" PRIu64
		        " samples; --event takes another\n",
		        s.event, s.other, s.other_samples);
	if (!s.samples)
		return af_fail_plain(err, -ENODATA,
		                     "no samples%s%s found in the output of perf script",
		                     event ? " of event " : "", event ? event : "");
	return 0;
}
