/* A line of perf script in parts, and what its functions are called. */
#include <string.h>

#include "exchange/perf/kernel.h"
#include "exchange/perf/text.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static uint64_t digits(const char **p, const char *end)
{
	uint64_t v = 0;

	for (; *p < end && is_digit(**p); ++*p)
		v = v * 10 + (uint64_t)(**p - '0');
	return v;
}

/* A number of seconds with a fraction, and a colon after it: its end, or NULL. */
static const char *time_parse(const char *p, const char *end, uint64_t *ns)
{
	const char *first = p;
	uint64_t seconds = digits(&p, end), unit = 100000000;

	if (p == first || p == end || *p != '.' || p - first > 10)
		return NULL;
	*ns = seconds * 1000000000;
	first = ++p;
	for (; p < end && is_digit(*p); p++, unit /= 10)
		*ns += (uint64_t)(*p - '0') * unit;
	return p > first && p < end && *p == ':' ? p + 1 : NULL;
}

/* PID, or PID/TID, all of the word. */
static bool ids_parse(const char *p, const char *end, struct perf_text_sample *s)
{
	const char *first = p;
	uint64_t a = digits(&p, end), b = a;

	if (p == first || p - first > 10)
		return false;
	s->has_pid = p < end && *p == '/';
	if (s->has_pid) {
		first = ++p;
		b = digits(&p, end);
		if (p == first || p - first > 10)
			return false;
	}
	s->pid = (uint32_t)a;
	s->tid = (uint32_t)b;
	return p == end;
}

enum { HEADER_WORDS = 32, ADDRESS_COLUMNS = 16 };

struct span {
	const char *at, *end;
};

static bool word_next(struct span *rest, struct span *w)
{
	while (rest->at < rest->end && is_blank(*rest->at))
		rest->at++;
	w->at = rest->at;
	while (rest->at < rest->end && !is_blank(*rest->at))
		rest->at++;
	w->end = rest->at;
	return w->at < w->end;
}

/* The words of a header, as many as there are before what the event says. */
struct words {
	struct span all[HEADER_WORDS];
	uint32_t nr;
};

static bool is_cpu(const struct span *w)
{
	const char *p = w->at + 1;

	if (w->end - w->at < 3 || *w->at != '[')
		return false;
	digits(&p, w->end);
	return p + 1 == w->end && *p == ']';
}

static bool is_number(const struct span *w, uint64_t *value)
{
	const char *p = w->at;

	*value = digits(&p, w->end);
	return p > w->at && p == w->end;
}

static bool is_ids(const struct words *w, uint32_t i, struct perf_text_sample *s)
{
	return i < w->nr && ids_parse(w->all[i].at, w->all[i].end, s);
}

/* NAME: with any number of colons behind. */
static bool is_event(const struct words *w, uint32_t i)
{
	const struct span *e = &w->all[i];

	return i < w->nr && e->end - e->at > 1 && e->end[-1] == ':' && *e->at != ':';
}

static uint32_t time_find(const struct words *w, struct perf_text_sample *s)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < w->nr; i++)
		if (time_parse(w->all[i].at, w->all[i].end, &ns) == w->all[i].end) {
			s->time_ns = ns;
			s->has_time = true;
			return i;
		}
	return w->nr;
}

/*
 * The event's word: after the time, perhaps with a period between them; without a time, after the
 * ids or the CPU, else the first word that looks like an event.
 */
static uint32_t event_find(const struct words *w, uint32_t time, struct perf_text_sample *s)
{
	uint64_t number;

	if (time < w->nr) {
		uint32_t i = time + 1;
		if (i + 1 < w->nr && is_number(&w->all[i], &number)) {
			s->period = number;
			s->has_period = true;
			i++;
		}
		return is_event(w, i) ? i : w->nr;
	}
	for (uint32_t i = 1; i < w->nr; i++) {
		struct perf_text_sample before;
		if (is_event(w, i) && (is_ids(w, i - 1, &before) || is_cpu(&w->all[i - 1])))
			return i;
	}
	for (uint32_t i = 0; i < w->nr; i++)
		if (is_event(w, i))
			return i;
	return w->nr;
}

/*
 * The first @nr words: a name, which may contain blanks and numbers, the ids, the CPU. The ids are
 * the last word that looks like ids and is not the first word; the first word if there is no name.
 * False: no word looks like ids.
 */
static bool front_parse(const struct words *w, uint32_t nr, struct perf_text_sample *s)
{
	uint32_t name = nr, at = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (is_cpu(&w->all[i])) {
			const char *p = w->all[i].at + 1;
			s->cpu = (uint32_t)digits(&p, w->all[i].end);
			name = name < i ? name : i;
		}
	bool found = false;
	for (uint32_t i = nr; i-- > 1 && !found; at = i)
		found = is_ids(w, i, s);
	if (!found && nr &&
	    (nr == 1 || name == 1 ||
	     memchr(w->all[0].at, '/', (size_t)(w->all[0].end - w->all[0].at))))
		found = is_ids(w, at = 0, s);
	if (found)
		name = at;
	if (name && w->nr) {
		s->comm = w->all[0].at;
		s->comm_len = (size_t)(w->all[name - 1].end - s->comm);
	}
	return found;
}

bool perf_text_header(const char *line, size_t len, struct perf_text_sample *s,
                      struct perf_text_event *e)
{
	struct span rest = {line, line + len};
	struct words w = {.nr = 0};
	uint64_t number;

	*s = (struct perf_text_sample){.period = 1, .comm = line};
	while (w.nr < HEADER_WORDS && word_next(&rest, &w.all[w.nr]))
		w.nr++;
	uint32_t time = time_find(&w, s), event = event_find(&w, time, s);
	uint32_t front = time < event ? time : event, last = event < w.nr ? event : time;
	/* In "comm 12 1000 cycles:" the period is where a time would be. */
	if (time == w.nr && event < w.nr && front > 2 && is_number(&w.all[front - 1], &number) &&
	    is_ids(&w, front - 2, s)) {
		s->period = number;
		s->has_period = true;
		front--;
	}
	bool ids = front_parse(&w, front, s);
	*e = (struct perf_text_event){.rest = line + len};
	if (last < w.nr) {
		e->rest = w.all[last].end;
		e->rest_len = (size_t)(line + len - e->rest);
	}
	if (event < w.nr) {
		e->name = w.all[event].at;
		e->len = (size_t)(w.all[event].end - e->name);
		while (e->len && e->name[e->len - 1] == ':')
			e->len--;
	}
	return ids && s->comm_len && time < w.nr && event < w.nr;
}

/*
 * A line without a module is a frame if it begins as perf prints one: a tab, then the address in 16
 * columns.
 */
static bool frame_plain(const char *line, const char *p, const char *end, struct perf_text_frame *f)
{
	if (*line != '\t' || p - line <= ADDRESS_COLUMNS)
		return false;
	while (p < end && is_blank(*p))
		p++;
	f->module = end;
	f->module_len = 0;
	f->function = p;
	f->function_len = (size_t)(end - p);
	return p < end;
}

bool perf_text_frame(const char *line, size_t len, struct perf_text_frame *f)
{
	const char *p = line, *end = line + len;

	while (p < end && is_blank(*p))
		p++;
	f->address = p;
	while (p < end && is_hex(*p))
		p++;
	f->address_len = (size_t)(p - f->address);
	while (end > p && is_blank(end[-1]))
		end--;
	if (!f->address_len || p == end || !is_blank(*p))
		return false;
	if (end[-1] != ')')
		return frame_plain(line, p, end, f);
	/* The module is in the last parentheses with a blank before; it may have some in it. */
	const char *open = end - 1;
	for (int depth = 0; open > p; open--) {
		depth += *open == ')' ? 1 : *open == '(' ? -1 : 0;
		if (!depth)
			break;
	}
	if (open == p || !is_blank(open[-1]))
		return frame_plain(line, p, end, f);
	f->module = open + 1;
	f->module_len = (size_t)(end - 1 - f->module);
	while (p < open && is_blank(*p))
		p++;
	f->function = p;
	while (open > p && is_blank(open[-1]))
		open--;
	f->function_len = (size_t)(open - p);
	return f->function_len > 0;
}

bool perf_event_is_time(const char *name)
{
	return strstr(name, "cpu-clock") || strstr(name, "task-clock") ||
	       strstr(name, "cpu_clock") || strstr(name, "task_clock");
}

size_t perf_event_unit(const char *name, size_t len)
{
	const char *colon = memrchr(name, ':', len);
	size_t n = colon ? (size_t)(colon - name) : len;

	for (size_t i = n + 1; i < len; i++)
		if (!strchr("ukhGHpPSDWeb", name[i]) || !name[i])
			return len;
	return n;
}

static bool is(const char *text, size_t len, const char *what)
{
	return len == strlen(what) && !memcmp(text, what, len);
}

static bool ends_in(const char *text, size_t len, const char *what)
{
	size_t n = strlen(what);

	return len >= n && !memcmp(text + len - n, what, n);
}

/* perf-PID.map and jitted-PID-N.so: of run-time compilers. */
static bool is_jit(const char *module, size_t len)
{
	const char *slash = memrchr(module, '/', len);
	const char *name = slash ? slash + 1 : module;
	size_t n = len - (size_t)(name - module);

	return (n > 9 && !memcmp(name, "perf-", 5) && ends_in(name, n, ".map")) ||
	       (n > 10 && !memcmp(name, "jitted-", 7) && ends_in(name, n, ".so"));
}

static enum perf_text_kind module_kind(const char *module, size_t len)
{
	if (is(module, len, "inlined"))
		return PERF_TEXT_INLINED;
	if (is_jit(module, len))
		return PERF_TEXT_JIT;
	return perf_kernel_module(module, len) ? PERF_TEXT_KERNEL : PERF_TEXT_NATIVE;
}

/* Without +0xOFFSET at its end. */
static size_t offset_cut(const char *text, size_t len)
{
	size_t n = len;

	while (n && is_hex(text[n - 1]))
		n--;
	return n < len && n >= 3 && !memcmp(text + n - 3, "+0x", 3) ? n - 3 : len;
}

/* A method of Go has its receiver's type in the middle: pkg.(*Type).Method. */
static bool is_go_method(const char *text, size_t len)
{
	const char *open = memmem(text, len, ".(", 2);

	return open && memmem(open, len - (size_t)(open - text), ").", 2);
}

/* Where arguments begin; the namespace without a name has parentheses too. */
static size_t arguments_cut(const char *text, size_t len)
{
	static const char nameless[] = "(anonymous namespace)";
	const char *p = text, *end = text + len;

	while ((p = memchr(p, '(', (size_t)(end - p)))) {
		size_t left = (size_t)(end - p);
		if (left < sizeof nameless - 1 || memcmp(p, nameless, sizeof nameless - 1))
			return (size_t)(p - text);
		p++;
	}
	return len;
}

/* One function's name, tidied, behind what is in @b. */
static void function_tidy(struct af_buf *b, const char *text, size_t len, bool java)
{
	if (!is_go_method(text, len))
		len = arguments_cut(text, len);
	/* In Java's signatures: Ljava/lang/String. */
	if (java && len && *text == 'L' && memchr(text, '/', len)) {
		text++;
		len--;
	}
	for (size_t i = 0; i < len; i++)
		if (text[i] != '"' && text[i] != '\'')
			af_buf_char(b, text[i] == ';' ? ':' : text[i] ? text[i] : '?');
}

/* [module], with the address if that is wanted. */
static void unknown_tidy(struct af_buf *b, const struct perf_text_frame *f, bool addresses)
{
	const char *slash = memrchr(f->module, '/', f->module_len);
	const char *name = slash ? slash + 1 : f->module;
	size_t len = f->module_len - (size_t)(name - f->module);
	bool bracketed = len > 2 && *name == '[' && name[len - 1] == ']';

	if (!len) {
		name = "unknown";
		len = strlen(name);
	}
	af_buf_char(b, '[');
	for (size_t i = bracketed; i < len - bracketed; i++)
		af_buf_char(b, name[i] == ';' ? ':' : name[i] ? name[i] : '?');
	if (addresses) {
		af_buf_str(b, " <");
		af_buf_add(b, f->address, f->address_len);
		af_buf_char(b, '>');
	}
	af_buf_char(b, ']');
}

void perf_text_functions(const struct perf_text_frame *f, bool java, bool addresses,
                         const char *place, size_t place_len, struct af_buf *b,
                         void (*take)(void *arg, const char *text, size_t len,
                                      enum perf_text_kind kind),
                         void *arg)
{
	enum perf_text_kind kind = module_kind(f->module, f->module_len);
	const char *p = f->function, *end = p + offset_cut(p, f->function_len);

	/* In parentheses stands the name of a process, and no function. */
	if (p < end && !arguments_cut(p, (size_t)(end - p)))
		return;
	for (bool inner = false; p < end; inner = true) {
		const char *arrow = memmem(p, (size_t)(end - p), "->", 2);
		const char *stop = arrow ? arrow : end;
		bool unknown = is(p, (size_t)(stop - p), "[unknown]");
		b->len = 0;
		if (unknown)
			unknown_tidy(b, f, addresses);
		else
			function_tidy(b, p, (size_t)(stop - p), java);
		if (place && !arrow && !unknown) {
			af_buf_char(b, ':');
			function_tidy(b, place, place_len, false);
		}
		if (b->len)
			take(arg, b->data, b->len,
			     inner && kind != PERF_TEXT_KERNEL     ? PERF_TEXT_INLINED
			     : unknown && kind == PERF_TEXT_NATIVE ? PERF_TEXT_UNKNOWN
			                                           : kind);
		p = arrow ? arrow + 2 : end;
	}
}
