/* A line of perf script in parts, and what its functions are called. */
#include <string.h>

#include "exchange/perf_text.h"

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

/* Seconds with a fraction and a colon behind: where it ends, or NULL. */
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

/*
 * A name may have blanks and numbers: the ids are the last word of their form that is not the
 * first word and before the time. Then, where there is one, the CPU.
 */
static bool front_parse(struct span *rest, struct perf_text_sample *s)
{
	struct span w;
	const char *comm = NULL;
	bool found = false;

	while (word_next(rest, &w)) {
		if (!comm) {
			comm = w.at;
		} else if (time_parse(w.at, w.end, &s->time_ns) == w.end) {
			s->comm = comm;
			return found;
		} else if (ids_parse(w.at, w.end, s)) {
			found = true;
			s->comm_len = (size_t)(w.at - comm);
			s->cpu = 0;
		} else if (found && *w.at == '[') {
			w.at++;
			s->cpu = (uint32_t)digits(&w.at, w.end);
		}
	}
	return false;
}

bool perf_text_header(const char *line, size_t len, struct perf_text_sample *s, const char **event,
                      size_t *event_len, const char **rest)
{
	struct span all = {line, line + len}, w;

	*s = (struct perf_text_sample){.period = 1};
	if (!front_parse(&all, s))
		return false;
	while (s->comm_len && is_blank(s->comm[s->comm_len - 1]))
		s->comm_len--;
	if (!word_next(&all, &w))
		return false;
	const char *p = w.at;
	uint64_t period = digits(&p, w.end);
	if (p == w.end) {
		s->period = period;
		if (!word_next(&all, &w))
			return false;
	}
	const char *end = w.end;
	while (end > w.at && end[-1] == ':')
		end--;
	*event = w.at;
	*event_len = (size_t)(end - w.at);
	*rest = all.at;
	return end > w.at && end < w.end;
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
	if (!f->address_len || p == end || !is_blank(*p) || end[-1] != ')')
		return false;
	/* The module is in the last parentheses with a blank before; it may have some in it. */
	const char *open = end - 1;
	for (int depth = 0; open > p; open--) {
		depth += *open == ')' ? 1 : *open == '(' ? -1 : 0;
		if (!depth)
			break;
	}
	if (open == p || !is_blank(open[-1]))
		return false;
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
	static const char *const not_kernel[] = {"[unknown]", "[vdso]",  "[vsyscall]",
	                                         "[heap]",    "[stack]", "[anon]"};

	if (is(module, len, "inlined"))
		return PERF_TEXT_INLINED;
	if (is_jit(module, len))
		return PERF_TEXT_JIT;
	for (unsigned i = 0; i < sizeof not_kernel / sizeof *not_kernel; i++)
		if (is(module, len, not_kernel[i]))
			return PERF_TEXT_NATIVE;
	return (len && *module == '[') || ends_in(module, len, "vmlinux") ||
	               ends_in(module, len, ".ko")
	           ? PERF_TEXT_KERNEL
	           : PERF_TEXT_NATIVE;
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
	/* Of Java's signatures: Ljava/lang/String. */
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
