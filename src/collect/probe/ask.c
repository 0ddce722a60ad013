#include "collect/probe/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/system/rights.h"
#include "base/system/tool.h"
#include "base/write.h"
#include "trace/write/session.h"

enum { ASK_SECONDS = 10 };

struct question {
	void (*ask)(void *answer);
	void *answer;
	size_t size;
};

/* In the child. The answer goes where its standard output went: drivers write to theirs. */
static int question_answer(void *arg)
{
	const struct question *q = arg;
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_RDWR);

	af_rights_drop(); /* drivers load what the environment names */
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	unsetenv(AF_SESSION_ENV);
	signal(SIGALRM, SIG_DFL);
	alarm(ASK_SECONDS + 1); /* when our parent is gone */
	q->ask(q->answer);
	return af_write_all(out, q->answer, q->size) != 0;
}

int af_ask(void (*ask)(void *answer), void *answer, size_t size, const char *who, const char *see,
           struct af_err *err)
{
	struct question question = {ask, answer, size};
	struct af_buf out = {0};
	struct af_err why = {0};
	char name[128];

	snprintf(name, sizeof name, "%s crashed when asked for its devices", who);
	int rc = af_tool_run(&(struct af_tool){.path = name,
	                                       .call = question_answer,
	                                       .arg = &question,
	                                       .input = -1,
	                                       .seconds = ASK_SECONDS,
	                                       .most = size},
	                     &out, &why);
	bool whole = out.len == size;
	if (whole)
		memcpy(answer, out.data, size);
	af_buf_free(&out);
	if (whole)
		return 0;
	if (rc == -ETIMEDOUT)
		return af_fail_plain(err, rc, "%s did not answer in %d s: %s", who, ASK_SECONDS,
		                     see);
	if (!rc)
		return af_fail_plain(err, -EIO, "%s: it gave no whole answer: %s", name, see);
	return af_fail_plain(err, rc, "%s: %s", why.msg, see);
}
