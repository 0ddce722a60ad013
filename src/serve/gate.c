#include "serve/gate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "serve/request.h"

enum { PATH_BYTES = 8, TOKEN_BYTES = 16 };

static void hex_add(char *to, const uint8_t *bytes, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		sprintf(to + 2 * i, "%02x", bytes[i]);
}

int af_gate_make(struct af_gate *g)
{
	uint8_t bytes[PATH_BYTES + TOKEN_BYTES];

	*g = (struct af_gate){.path = "/", .cookie = "aflame-"};
	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return -EIO;
	hex_add(g->path + 1, bytes, PATH_BYTES);
	hex_add(g->token, bytes + PATH_BYTES, TOKEN_BYTES);
	/* Cookies of one name would replace one another, whichever port set them. */
	memcpy(g->cookie + strlen(g->cookie), g->path + 1, PATH_BYTES);
	g->path[1 + 2 * PATH_BYTES] = '/';
	return 0;
}

/* A name of this machine's own, with any port: ssh -L may lead here from another one. */
static bool is_here(const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t len = strlen(names[i]);
		if (strncasecmp(host, names[i], len) != 0)
			continue;
		const char *port = host + len;
		if (!*port)
			return true;
		if (*port == ':' && port[1] && strlen(port) <= 6 &&
		    strspn(port + 1, "0123456789") == strlen(port + 1))
			return true;
	}
	return false;
}

static bool is_of_us(const char *origin, const char *host)
{
	static const char scheme[] = "http://";

	return !strncasecmp(origin, scheme, sizeof scheme - 1) &&
	       !strcasecmp(origin + sizeof scheme - 1, host);
}

/* The time that it takes tells nothing of where they differ. */
static bool is_token(const struct af_gate *g, const char *text, size_t len)
{
	volatile uint8_t differ = 0;

	if (len != 2 * TOKEN_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		differ |= (uint8_t)(g->token[i] ^ text[i]);
	return !differ;
}

/* "a=1; aflame-01234567=TOKEN" */
static bool cookie_has(const struct af_gate *g, const char *cookie)
{
	size_t len = strlen(g->cookie);

	for (const char *s = cookie; s && *s; s = strchr(s, ';')) {
		s += strspn(s, "; ");
		if (!strncmp(s, g->cookie, len) && s[len] == '=' &&
		    is_token(g, s + len + 1, strcspn(s + len + 1, "; ")))
			return true;
	}
	return false;
}

enum af_gate_answer af_gate_check(const struct af_gate *g, const struct af_request *r)
{
	const char *token = af_request_parameter(r, "token");

	if (!is_here(r->host))
		return AF_GATE_HOST;
	if (r->origin && !is_of_us(r->origin, r->host))
		return AF_GATE_ORIGIN;
	if (strncmp(r->path, g->path, strlen(g->path)) != 0)
		return AF_GATE_TOKEN;
	if (token)
		return is_token(g, token, strlen(token)) ? AF_GATE_FIRST : AF_GATE_TOKEN;
	return r->cookie && cookie_has(g, r->cookie) ? AF_GATE_OPEN : AF_GATE_TOKEN;
}
