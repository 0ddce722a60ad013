/* The gate lets requests in by a server's own path, its token, and the names that it goes by. */
#ifndef AF_SERVE_GATE_H
#define AF_SERVE_GATE_H

#include <stddef.h>

struct af_request;

enum { AF_GATE_TEXT = 40 };

struct af_gate {
	char path[AF_GATE_TEXT];   /* "/0123456789abcdef/": all that is served lies below it */
	char token[AF_GATE_TEXT];  /* 128 random bits in hexadecimal */
	char cookie[AF_GATE_TEXT]; /* the name of the cookie that has the token */
};

enum af_gate_answer {
	AF_GATE_OPEN,   /* it may */
	AF_GATE_FIRST,  /* it may, by the token in the address: to be kept in a cookie */
	AF_GATE_HOST,   /* it came by a name that is not ours */
	AF_GATE_ORIGIN, /* a page of another site sent it */
	AF_GATE_TOKEN,  /* it has no token, or another one */
};

/* Make a gate that nobody can guess: 0, or -errno when the system has no random bytes. */
int af_gate_make(struct af_gate *g);

/* May this request be answered? Takes the same time whichever part of the token is wrong. */
enum af_gate_answer af_gate_check(const struct af_gate *g, const struct af_request *r);

#endif
