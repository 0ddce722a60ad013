/*
 * A request of HTTP/1.1 (RFC 9112), as far as aflame serve answers any: GET and HEAD, without a
 * body. Needs nothing but the bytes, which it changes in place: a zeroed struct, then
 * af_request_read() each time more bytes have come.
 */
#ifndef AF_SERVE_REQUEST_H
#define AF_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum {
	AF_REQUEST_BYTES = 16 << 10, /* of a request line with all its headers */
	AF_REQUEST_HEADERS = 100,
	AF_REQUEST_PARAMETERS = 8,
};

struct af_parameter {
	const char *name, *value; /* decoded; value "" where there is no `=` */
};

/* Texts lie in the bytes that were read, NUL-terminated. */
struct af_request {
	bool head;        /* HEAD, else GET */
	const char *path; /* decoded, begins with a slash, has no segments "." or ".." */
	const char *host, *origin, *cookie; /* NULL: not there */
	struct af_parameter parameters[AF_REQUEST_PARAMETERS];
	unsigned nr_parameters;
};

/*
 * Read the request in the @len bytes at @text, which has room for one more. 0: its end has not come
 * yet, and @text is as it was. 1: *@r is filled. Else the status to refuse it with, such as 400: it
 * is no request, or none that is taken. Never looks at bytes behind the first empty line.
 */
int af_request_read(struct af_request *r, char *text, size_t len);

/* The value of the parameter @name, or NULL. */
const char *af_request_parameter(const struct af_request *r, const char *name);

/*
 * Seconds as an address has them, "1.25", in ns. False for anything else, such as a sign, an
 * exponent, or what does not fit.
 */
bool af_request_time(const char *text, unsigned long long *ns);

#endif
