/* Answers to requests: the report, the state of things, or a sentence. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/serve/private.h"

/* A report brings a policy for its own script; nothing else has any. */
#define POLICY_ALL "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
#define POLICY_REPORT POLICY_ALL "; connect-src 'self'"
#define POLICY_TEXT POLICY_ALL "; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

enum { WAIT_S = 1, LIVE_S = 2 };

static const char *status_text(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 408:
		return "Request Timeout";
	case 414:
		return "URI Too Long";
	case 431:
		return "Request Header Fields Too Large";
	case 500:
		return "Internal Server Error";
	case 503:
		return "Service Unavailable";
	default:
		return "HTTP Version Not Supported";
	}
}

static void add_head(struct af_buf *b, int status, const char *type, uint64_t size,
                     const char *policy, const char *more)
{
	af_buf_fmt(b,
	           "HTTP/1.1 %d %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %llu\r\n"
	           "Content-Security-Policy: %s\r\nX-Frame-Options: DENY\r\n"
	           "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
	           "Cross-Origin-Resource-Policy: same-origin\r\n"
	           "Cross-Origin-Opener-Policy: same-origin\r\n"
	           "Cache-Control: no-store\r\nConnection: close\r\n%s\r\n",
	           status, status_text(status), type, (unsigned long long)size, policy, more);
}

static void answer_page(struct answer *a, int status, struct af_buf *page, const char *more)
{
	add_head(&a->bytes, status, "text/html", page->len, POLICY_TEXT, more);
	af_buf_add(&a->bytes, page->data, page->len);
	af_buf_free(page);
}

static void answer_sentence(struct answer *a, int status, const char *title, const char *text)
{
	struct af_buf page = {0};

	page_sentence(&page, title, text, NULL, 0);
	answer_page(a, status, &page, status == 405 ? "Allow: GET, HEAD\r\n" : "");
}

void answer_status(int status, struct answer *a)
{
	const char *why =
	    status == 405
		? "aflame serve answers GET and HEAD: it shows a trace and changes nothing."
	    : status == 408 ? "The request did not come to its end within ten seconds."
	    : status == 414 ? "The address is too long."
	    : status == 431
		? "The request has more headers than any that a browser sends: cookies of "
		  "other servers on this machine may be among them. Remove the cookies of "
		  "127.0.0.1, or open the link in a private window."
	    : status == 505 ? "aflame serve speaks HTTP/1.1."
			    : "This is no request that can be answered: its address or one of its "
			      "headers is malformed.";

	answer_sentence(a, status, status_text(status), why);
}

/* "./?from=1&to=2": this page again, without a token. */
static void add_link(struct af_buf *b, const struct af_request *r)
{
	static const char *const kept[] = {"from", "to", "whole"};
	unsigned long long ns;
	char comma = '?';

	af_buf_str(b, "./");
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		const char *value = af_request_parameter(r, kept[i]);
		if (!value || (*value && !af_request_time(value, &ns)))
			continue;
		af_buf_fmt(b, *value ? "%c%s=%s" : "%c%s", comma, kept[i], value);
		comma = '&';
	}
}

/*
 * The token comes once, and goes into a cookie. The next request is the page's own: a browser would
 * not send this cookie where the link of another page or program leads.
 */
static void answer_first(const struct server *s, const struct af_request *r, struct answer *a)
{
	struct af_buf page = {0}, link = {0}, cookie = {0};

	add_link(&link, r);
	page_sentence(&page, "One moment", "The report comes next.", link.data, 0);
	af_buf_fmt(&cookie, "Set-Cookie: %s=%s; Path=%s; HttpOnly; SameSite=Strict\r\n",
	           s->gate.cookie, s->gate.token, s->gate.path);
	answer_page(a, 200, &page, cookie.data);
	af_buf_free(&link);
	af_buf_free(&cookie);
}

static void answer_refused(enum af_gate_answer why, const struct server *s, struct answer *a)
{
	char text[512];

	if (why == AF_GATE_HOST)
		snprintf(
		    text, sizeof text,
		    "The address in the browser names another machine. aflame serve answers to "
		    "127.0.0.1 and localhost: from another machine, forward the port with `ssh "
		    "-L %u:127.0.0.1:%u` and open the printed link as it is.",
		    s->port, s->port);
	else if (why == AF_GATE_ORIGIN)
		snprintf(text, sizeof text,
		         "A page of another site sent this request, and traces are not for it.");
	else
		snprintf(text, sizeof text,
		         "This address lacks the token, or has that of another server. Open the "
		         "whole link that `aflame serve` printed in its terminal; the browser must "
		         "allow cookies for it.");
	answer_sentence(a, 403, "Not allowed", text);
}

static void answer_again(const struct af_request *r, const char *title, const char *text,
                         unsigned seconds, struct answer *a)
{
	struct af_buf page = {0}, link = {0};

	add_link(&link, r);
	page_sentence(&page, title, text, link.data, seconds);
	af_buf_free(&link);
	answer_page(a, 200, &page, "");
}

static void answer_runs(const struct server *s, const struct af_request *r, const struct job *job,
                        struct answer *a)
{
	struct af_buf text = {0};
	char what[128];
	unsigned percent;

	job_progress(job, what, sizeof what, &percent);
	af_buf_fmt(&text, "%s: %u %%. ", what, percent);
	if (job->range.to_ns)
		af_buf_fmt(&text, "This is of %.3f s to %.3f s of %.3f s.",
		           (double)job->range.from_ns / 1e9, (double)job->range.to_ns / 1e9,
		           (double)s->served.overview.span_ns / 1e9);
	else
		af_buf_fmt(&text, "This is of the whole trace, %.1f MB.",
		           (double)s->served.overview.bytes / 1e6);
	answer_again(r, "The report is being made", text.data, WAIT_S, a);
	af_buf_free(&text);
}

/* Which part is asked for; false when that is none. */
static bool range_read(struct server *s, const struct af_request *r, struct job_range *range)
{
	const char *from = af_request_parameter(r, "from"), *to = af_request_parameter(r, "to");
	const struct af_overview *o = &s->served.overview;
	unsigned long long from_ns = 0, to_ns = o->span_ns;

	*range = (struct job_range){0};
	if (from || to) {
		if ((from && !af_request_time(from, &from_ns)) ||
		    (to && !af_request_time(to, &to_ns)) || to_ns <= from_ns ||
		    from_ns >= o->span_ns)
			return false;
		*range = (struct job_range){from_ns, to_ns < o->span_ns ? to_ns : o->span_ns};
		return true;
	}
	if (s->served.small || af_request_parameter(r, "whole"))
		return true;
	const struct job *whole = job_find(&s->jobs, *range);
	if (!whole || whole->state != JOB_DONE)
		range->to_ns = af_overview_first(o, SERVE_PART_BYTES);
	return true;
}

static struct job *report_start(struct server *s, struct job_range range)
{
	struct af_buf served = {0};

	page_served(&served, &s->served, range);
	struct job *job = job_start(&s->jobs, &s->served, range, served.data);
	af_buf_free(&served);
	return job;
}

void answer_prepare(struct server *s)
{
	const struct af_request bare = {0};
	struct job_range range;

	if (s->served.now == SERVE_READY && range_read(s, &bare, &range))
		report_start(s, range);
}

static void answer_job(struct server *s, const struct af_request *r, struct job *job, bool patient,
                       struct answer *a)
{
	struct stat st = {0};
	char text[700];

	if (!job) {
		answer_again(
		    r, "Waiting",
		    "As many reports as can be made at once are being made. This one is next.",
		    WAIT_S, a);
	} else if (job->state == JOB_RUNS && patient) {
		a->wait = true;
	} else if (job->state == JOB_RUNS) {
		answer_runs(s, r, job, a);
	} else if (job->state == JOB_FAILED) {
		snprintf(text, sizeof text, "The report could not be made: %s.", job->why);
		answer_sentence(a, 500, "No report", text);
		job_forget(job); /* the next request tries again */
	} else {
		fstat(job->fd, &st);
		add_head(&a->bytes, 200, "text/html", (uint64_t)st.st_size, POLICY_REPORT, "");
		a->report = job;
	}
}

static void answer_report(struct server *s, const struct af_request *r, bool patient,
                          struct answer *a)
{
	struct job_range range;
	char text[700];

	if (s->served.now == SERVE_LIVE) {
		snprintf(text, sizeof text,
		         "%s is still being recorded. Its report comes here when the program has "
		         "ended; `aflame tui` shows a recording made with --live meanwhile.",
		         s->served.dir);
		answer_again(r, "Still being recorded", text, LIVE_S, a);
		return;
	}
	if (s->served.now == SERVE_GONE) {
		snprintf(text, sizeof text, "%s. Reload this page when it is there.",
		         s->served.why);
		answer_sentence(a, 404, "No trace", text);
		return;
	}
	if (!range_read(s, r, &range)) {
		snprintf(
		    text, sizeof text,
		    "from and to are seconds since the trace began, such as ?from=1.5&to=2, and "
		    "this trace has %.9f s.",
		    (double)s->served.overview.span_ns / 1e9);
		answer_sentence(a, 400, "No such time", text);
		return;
	}
	struct job *job = report_start(s, range);
	answer_job(s, r, job, patient, a);
}

static void answer_state(struct server *s, const struct af_request *r, struct answer *a)
{
	const struct job_range all = {0};
	const char *id = af_request_parameter(r, "trace");
	struct af_buf json = {0};

	/* A page asks once its part is shown: now there is time to read the rest. */
	if (s->served.now == SERVE_READY && id && !strcmp(id, s->served.id))
		report_start(s, all);
	page_state(&json, &s->served, id, job_find(&s->jobs, all));
	add_head(&a->bytes, 200, "application/json", json.len, POLICY_TEXT, "");
	af_buf_add(&a->bytes, json.data, json.len);
	af_buf_free(&json);
}

void answer_request(struct server *s, const struct af_request *r, bool patient, struct answer *a)
{
	enum af_gate_answer gate = af_gate_check(&s->gate, r);

	*a = (struct answer){0};
	if (gate == AF_GATE_FIRST) {
		answer_first(s, r, a);
	} else if (gate != AF_GATE_OPEN) {
		answer_refused(gate, s, a);
	} else {
		if (served_look(&s->served))
			jobs_clear(&s->jobs);
		const char *name = r->path + strlen(s->gate.path);
		if (!strcmp(name, "state"))
			answer_state(s, r, a);
		else if (!*name)
			answer_report(s, r, patient, a);
		else
			answer_sentence(a, 404, "Nothing here",
			                "There is no such page: the report is at the link that "
			                "`aflame serve` printed.");
	}
}
