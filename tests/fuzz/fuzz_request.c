/* A request of HTTP of any bytes: all that is read of it lies in it, and no path leads up. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/gate.h"
#include "serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *s, const char *text, size_t size)
{
	if (s && (s < text || s + strlen(s) > text + size))
		abort();
}

static void check(const struct af_request *r, const char *text, size_t size)
{
	static const struct af_gate gate = {.path = "/0123456789abcdef/",
	                                    .token = "0123456789abcdef0123456789abcdef",
	                                    .cookie = "aflame-01234567"};
	unsigned long long ns;

	check_text(r->path, text, size);
	check_text(r->host, text, size);
	check_text(r->origin, text, size);
	check_text(r->cookie, text, size);
	for (unsigned i = 0; i < r->nr_parameters; i++) {
		check_text(r->parameters[i].name, text, size);
		if (*r->parameters[i].value)
			check_text(r->parameters[i].value, text, size);
		af_request_time(r->parameters[i].value, &ns);
	}
	if (*r->path != '/' || strstr(r->path, "/../") || !r->host)
		abort();
	/* Only who knows the token gets in. */
	enum af_gate_answer answer = af_gate_check(&gate, r);
	const char *token = af_request_parameter(r, "token");
	if (answer == AF_GATE_FIRST && (!token || strcmp(token, gate.token) != 0))
		abort();
	if (answer == AF_GATE_OPEN && (!r->cookie || !strstr(r->cookie, gate.token)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct af_request whole = {0}, r = {0};
	int rc = 0;

	if (!text)
		return 0;
	/* Bytes may come one by one: the answer is that of all that were there. */
	for (size_t have = 1; have <= size && !rc; have += 1 + size / 8) {
		memcpy(text, data, have);
		rc = af_request_read(&r, text, have);
		if (rc == 1)
			check(&r, text, have);
	}
	memcpy(text, data, size);
	if (af_request_read(&whole, text, size) == 1)
		check(&whole, text, size);
	free(text);
	return 0;
}
