/* Texts that the server makes itself: JSON beside a report, and pages of a sentence. */
#include <stdio.h>
#include <string.h>

#include "cmd/serve/private.h"

enum { PAGE_BINS = 128 };

static void add_json(struct af_buf *b, const char *key, const char *text)
{
	af_buf_fmt(b, "\"%s\":", key);
	af_buf_json(b, text, strlen(text));
}

static void add_bins(struct af_buf *b, const struct af_overview *o)
{
	uint64_t each = (o->nr_bins + PAGE_BINS - 1) / PAGE_BINS;

	each = each ? each : 1;
	unsigned long long bin_ns = each * o->bin_ns;
	af_buf_fmt(b, ",\"bin\":%llu,\"bins\":[", bin_ns);
	for (uint64_t i = 0; i < o->nr_bins; i += each) {
		uint64_t sum = 0;
		for (uint64_t k = i; k < i + each && k < o->nr_bins; k++)
			sum += o->bins[k];
		af_buf_fmt(b, "%s%llu", i ? "," : "", (unsigned long long)sum);
	}
	af_buf_char(b, ']');
}

void page_served(struct af_buf *b, const struct served *s, struct job_range range)
{
	const struct af_overview *o = &s->overview;
	uint64_t to_ns = range.to_ns ? range.to_ns : o->span_ns;

	af_buf_char(b, '{');
	add_json(b, "trace", s->id);
	af_buf_fmt(b,
	           ",\"whole\":%s,\"small\":%s,\"from\":%llu,\"to\":%llu,\"span\":%llu,"
	           "\"bytes\":%llu,\"part\":%llu,\"processes\":%u,\"streams\":%u,\"lost\":%llu",
	           range.to_ns ? "false" : "true", s->small ? "true" : "false",
	           (unsigned long long)range.from_ns, (unsigned long long)to_ns,
	           (unsigned long long)o->span_ns, (unsigned long long)o->bytes,
	           (unsigned long long)af_overview_bytes(o, range.from_ns, to_ns), o->nr_processes,
	           o->nr_streams, (unsigned long long)o->discarded);
	add_bins(b, o);
	af_buf_char(b, '}');
}

void page_state(struct af_buf *b, const struct served *s, const char *id, const struct job *whole)
{
	static const char *const names[] = {"none", "runs", "done", "failed"};
	enum job_state state = whole ? whole->state : JOB_NONE;
	const char *now = s->now == SERVE_LIVE           ? "live"
	                  : s->now == SERVE_GONE         ? "gone"
	                  : id && strcmp(id, s->id) != 0 ? "replaced"
	                                                 : "same";
	char text[128] = "";
	unsigned percent = 0;

	if (state == JOB_RUNS)
		job_progress(whole, text, sizeof text, &percent);
	af_buf_char(b, '{');
	add_json(b, "now", now);
	af_buf_char(b, ',');
	add_json(b, "whole", names[state]);
	af_buf_fmt(b, ",\"percent\":%u,", percent);
	add_json(b, "what", state == JOB_FAILED ? whole->why : text);
	af_buf_str(b, "}\n");
}

void page_sentence(struct af_buf *b, const char *title, const char *text, const char *link,
                   unsigned seconds)
{
	af_buf_str(b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	              "<meta name=\"viewport\" content=\"width=device-width\">\n"
	              "<meta name=\"color-scheme\" content=\"light dark\">\n"
	              "<link rel=\"icon\" href=\"data:,\">\n");
	if (link) {
		af_buf_fmt(b, "<meta http-equiv=\"refresh\" content=\"%u;url=", seconds);
		af_buf_xml(b, link, strlen(link));
		af_buf_str(b, "\">\n");
	}
	af_buf_str(b, "<title>");
	af_buf_xml(b, title, strlen(title));
	af_buf_str(b, " - aflame</title>\n<style>body { font: 15px/1.5 system-ui, sans-serif; "
	              "max-width: 42rem; margin: 4rem auto; padding: 0 1rem }</style></head>\n"
	              "<body><h1>");
	af_buf_xml(b, title, strlen(title));
	af_buf_str(b, "</h1>\n<p>");
	af_buf_xml(b, text, strlen(text));
	af_buf_str(b, "</p></body></html>\n");
}
