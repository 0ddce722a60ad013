#include "serve/request.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { BAD = 400, NO_METHOD = 405, TOO_LONG = 414, TOO_LARGE = 431, NO_VERSION = 505 };
enum { DONE = 1, TARGET_BYTES = 2048 };

/* token of RFC 9110, 5.6.2 */
static bool is_token(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	                              : -1;
}

/* Decode %41 in place; false when it is no text, or would be one that ends early. */
static bool decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s != '%') {
			*to++ = *s;
			continue;
		}
		int high = hex(s[1]), low = high < 0 ? -1 : hex(s[2]);
		if (low < 0 || !(high | low))
			return false;
		*to++ = (char)(high << 4 | low);
		s += 2;
	}
	*to = 0;
	return true;
}

/* A path that leads nowhere else, whoever reads it. */
static bool path_is_plain(const char *path)
{
	for (const char *s = path; *s; s = strchrnul(s + 1, '/')) {
		size_t len = strcspn(s + 1, "/");
		if ((len == 1 && s[1] == '.') || (len == 2 && s[1] == '.' && s[2] == '.'))
			return false;
	}
	for (; *path; path++)
		if ((unsigned char)*path < ' ' || *path == 127 || *path == '\\')
			return false;
	return true;
}

static bool read_parameters(struct af_request *r, char *s)
{
	for (char *next; s && *s; s = next) {
		next = strchr(s, '&');
		if (next)
			*next++ = 0;
		char *value = strchr(s, '=');
		if (value)
			*value++ = 0;
		if (r->nr_parameters == AF_REQUEST_PARAMETERS || !decode(s) ||
		    (value && !decode(value)))
			return false;
		r->parameters[r->nr_parameters++] = (struct af_parameter){s, value ? value : ""};
	}
	return true;
}

static int read_target(struct af_request *r, char *target)
{
	if (strlen(target) > TARGET_BYTES)
		return TOO_LONG;
	if (*target != '/')
		return BAD;
	for (const char *s = target; *s; s++)
		if (*s < '!' || *s > '~' || *s == '#')
			return BAD;
	char *query = strchr(target, '?');
	if (query)
		*query++ = 0;
	r->path = target;
	return decode(target) && path_is_plain(target) && read_parameters(r, query) ? 0 : BAD;
}

/* "GET /path?query HTTP/1.1" */
static int read_line(struct af_request *r, char *line)
{
	char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version || target == line)
		return BAD;
	*target++ = 0;
	*version++ = 0;
	for (const char *s = line; *s; s++)
		if (!is_token(*s))
			return BAD;
	if (strncmp(version, "HTTP/", 5) != 0)
		return BAD;
	if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
		return NO_VERSION;
	r->head = !strcmp(line, "HEAD");
	return r->head || !strcmp(line, "GET") ? read_target(r, target) : NO_METHOD;
}

/* One that comes twice may mean one thing here and another elsewhere. */
static int once(const char **field, const char *value)
{
	if (*field)
		return BAD;
	*field = value;
	return 0;
}

static int read_header(struct af_request *r, char *line)
{
	char *value = line, *end = line + strlen(line);

	while (is_token(*value))
		value++;
	if (value == line || *value != ':')
		return BAD;
	*value++ = 0;
	while (*value == ' ' || *value == '\t')
		value++;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = 0;
	for (const char *s = value; *s; s++)
		if (((unsigned char)*s < ' ' && *s != '\t') || *s == 127)
			return BAD;
	if (!strcasecmp(line, "host"))
		return once(&r->host, value);
	if (!strcasecmp(line, "origin"))
		return once(&r->origin, value);
	if (!strcasecmp(line, "cookie"))
		return once(&r->cookie, value);
	/* Nothing that is taken has a body. */
	if (!strcasecmp(line, "transfer-encoding") ||
	    (!strcasecmp(line, "content-length") && strcmp(value, "0") != 0))
		return BAD;
	return 0;
}

int af_request_read(struct af_request *r, char *text, size_t len)
{
	static const char empty_line[] = "\r\n\r\n";
	char *end = memmem(text, len, empty_line, 4);
	unsigned nr = 0;

	if (!end)
		return len >= AF_REQUEST_BYTES ? TOO_LARGE : 0;
	if (end - text > AF_REQUEST_BYTES)
		return TOO_LARGE;
	if (memchr(text, 0, (size_t)(end - text)))
		return BAD;
	*r = (struct af_request){0};
	end[2] = 0;
	for (char *line = text, *next; *line; line = next, nr++) {
		next = strstr(line, "\r\n");
		*next = 0;
		next += 2;
		int rc = nr > AF_REQUEST_HEADERS ? TOO_LARGE
		         : nr                    ? read_header(r, line)
		                                 : read_line(r, line);
		if (rc)
			return rc;
	}
	return r->host ? DONE : BAD;
}

const char *af_request_parameter(const struct af_request *r, const char *name)
{
	for (unsigned i = 0; i < r->nr_parameters; i++)
		if (!strcmp(r->parameters[i].name, name))
			return r->parameters[i].value;
	return NULL;
}

bool af_request_time(const char *text, unsigned long long *ns)
{
	uint64_t unit = 1000000000, sum = 0, whole_ns;
	const char *s = text;

	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*s - '0'), &sum))
			return false;
	if (s == text || __builtin_mul_overflow(sum, unit, &whole_ns))
		return false;
	if (*s == '.') {
		for (s++; *s >= '0' && *s <= '9' && unit > 1; s++) {
			unit /= 10;
			if (__builtin_add_overflow(whole_ns, unit * (uint64_t)(*s - '0'),
			                           &whole_ns))
				return false;
		}
	}
	*ns = whole_ns;
	return !*s;
}
