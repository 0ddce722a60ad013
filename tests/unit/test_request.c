/* Requests as a browser sends them, and as it never would; and who may ask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/gate.h"
#include "serve/request.h"

#define HOST "Host: 127.0.0.1:8417\r\n"

/* The bytes lie in memory of their own size, so that a checker sees what is read beyond. */
static char *bytes;
static struct af_request request;

static int read_bytes(const char *text, size_t len)
{
	free(bytes);
	bytes = malloc(len + 1);
	assert_non_null(bytes);
	memcpy(bytes, text, len);
	return af_request_read(&request, bytes, len);
}

static int read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

static int free_bytes(void **state)
{
	free(bytes);
	bytes = NULL;
	return 0;
}

static void a_request_is_read_when_it_is_whole(void **state)
{
	static const char text[] = "GET /p/?from=1.5&to=%32&x&=&token=a%3Db HTTP/1.1\r\n" HOST
				   "Cookie:\ta=b; c=d \r\nORIGIN: http://127.0.0.1:8417\r\n"
				   "X-Else: y\r\n\r\n";

	for (size_t len = 0; len < sizeof text - 1; len++)
		assert_int_equal(read_bytes(text, len), 0);
	assert_int_equal(read_text(text), 1);
	assert_false(request.head);
	assert_string_equal(request.path, "/p/");
	assert_string_equal(request.host, "127.0.0.1:8417");
	assert_string_equal(request.origin, "http://127.0.0.1:8417");
	assert_string_equal(request.cookie, "a=b; c=d");
	assert_string_equal(af_request_parameter(&request, "from"), "1.5");
	assert_string_equal(af_request_parameter(&request, "to"), "2");
	assert_string_equal(af_request_parameter(&request, "x"), "");
	assert_string_equal(af_request_parameter(&request, "token"), "a=b");
	assert_null(af_request_parameter(&request, "else"));
	assert_int_equal(read_text("HEAD /%41/%e4 HTTP/1.0\r\n" HOST "\r\n"), 1);
	assert_true(request.head);
	assert_string_equal(request.path, "/A/\xe4");
}

static void what_is_none_is_refused_with_its_status(void **state)
{
	static const struct {
		int status;
		const char *text;
	} refused[] = {
	    {400, "GET / HTTP/1.1\r\n\r\n"},
	    {400, "\r\n\r\n"},
	    {400, "GET /\r\n" HOST "\r\n"},
	    {400, " / HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET  / HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET x HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET http://127.0.0.1/ HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET /%4 HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET /%g0 HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET /?a=%00 HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET /a/../b HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET /a/%2e%2E HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET /./a HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET /%5c HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET /\x80 HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET /?1&2&3&4&5&6&7&8&9 HTTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET / FTP/1.1\r\n" HOST "\r\n"},
	    {400, "GET / HTTP/1.1\r\n" HOST HOST "\r\n"},
	    {400, "GET / HTTP/1.1\r\n" HOST "Cookie: a\r\nCookie: b\r\n\r\n"},
	    {400, "GET / HTTP/1.1\r\n" HOST "Origin: a\r\nOrigin: a\r\n\r\n"},
	    {400, "GET / HTTP/1.1\r\n" HOST "Bad name: x\r\n\r\n"},
	    {400, "GET / HTTP/1.1\r\n" HOST ": x\r\n\r\n"},
	    {400, "GET / HTTP/1.1\r\n" HOST "X: a\nb\r\n\r\n"},
	    {400, "GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n"},
	    {400, "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx"},
	    {400, "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"},
	    {405, "POST / HTTP/1.1\r\n" HOST "\r\n"},
	    {405, "get / HTTP/1.1\r\n" HOST "\r\n"},
	    {505, "GET / HTTP/1.2\r\n" HOST "\r\n"},
	    {505, "GET / HTTP/11\r\n" HOST "\r\n"},
	};

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		int rc = read_text(refused[i].text);
		if (rc != refused[i].status)
			print_error("%d of: %s\n", rc, refused[i].text);
		assert_int_equal(rc, refused[i].status);
	}
	assert_int_equal(read_bytes("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 30), 400);
	assert_int_equal(read_text("GET / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n"), 1);
}

static void a_request_has_its_bounds(void **state)
{
	static char text[AF_REQUEST_BYTES + 100];
	int n = sprintf(text, "GET / HTTP/1.1\r\n" HOST "X: ");

	memset(text + n, 'y', sizeof text - (size_t)n);
	assert_int_equal(read_bytes(text, AF_REQUEST_BYTES - 1), 0);
	assert_int_equal(read_bytes(text, AF_REQUEST_BYTES), 431);
	memcpy(text + n + 100, "\r\n\r\n", 4);
	assert_int_equal(read_bytes(text, sizeof text), 1);
	n = sprintf(text, "GET / HTTP/1.1\r\n" HOST);
	for (int i = 0; i < AF_REQUEST_HEADERS; i++)
		n += sprintf(text + n, "X: y\r\n");
	memcpy(text + n, "\r\n", 3);
	assert_int_equal(read_text(text), 431);
	n = sprintf(text, "GET /");
	memset(text + n, 'y', 2100);
	sprintf(text + n + 2100, " HTTP/1.1\r\n" HOST "\r\n");
	assert_int_equal(read_text(text), 414);
}

static void times_are_seconds_to_the_nanosecond(void **state)
{
	unsigned long long ns = 7;

	assert_true(af_request_time("0", &ns));
	assert_int_equal(ns, 0);
	assert_true(af_request_time("12.000000345", &ns));
	assert_int_equal(ns, 12000000345);
	assert_true(af_request_time("1.5", &ns));
	assert_int_equal(ns, 1500000000);
	assert_true(af_request_time("18446744073.709551615", &ns));
	assert_true(ns == UINT64_MAX);
	static const char *const bad[] = {"",
	                                  ".5",
	                                  "-1",
	                                  "+1",
	                                  "1e3",
	                                  "1,5",
	                                  "1.5s",
	                                  " 1",
	                                  "0x1",
	                                  "1..2",
	                                  "18446744073.709551616",
	                                  "18446744074",
	                                  "1.0000000001",
	                                  "99999999999999999999999"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (af_request_time(bad[i], &ns))
			fail_msg("%s is a time", bad[i]);
}

/* The answer of the gate to a request of these. */
static enum af_gate_answer gate_says(const struct af_gate *g, const char *target, const char *host,
                                     const char *more)
{
	char text[1024];

	snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", target, host, more);
	assert_int_equal(read_text(text), 1);
	return af_gate_check(g, &request);
}

static void only_the_token_opens_and_only_by_our_names(void **state)
{
	struct af_gate g, other;
	char first[200], near[200], cookie[200];

	assert_int_equal(af_gate_make(&g), 0);
	assert_int_equal(af_gate_make(&other), 0);
	assert_int_equal(strlen(g.token), 32);
	assert_string_not_equal(g.token, other.token);
	assert_string_not_equal(g.path, other.path);
	snprintf(first, sizeof first, "%s?token=%s", g.path, g.token);
	snprintf(near, sizeof near, "%s?token=%.31s", g.path, g.token);
	snprintf(cookie, sizeof cookie, "Cookie: x=y;%s=%s\r\n", g.cookie, g.token);
	assert_int_equal(gate_says(&g, first, "127.0.0.1:1", ""), AF_GATE_FIRST);
	assert_int_equal(gate_says(&g, first, "127.0.0.2", ""), AF_GATE_HOST);
	assert_int_equal(gate_says(&g, first, "localhost.example", ""), AF_GATE_HOST);
	assert_int_equal(gate_says(&g, first, "localhost:", ""), AF_GATE_HOST);
	assert_int_equal(gate_says(&g, first, "localhost:123456", ""), AF_GATE_HOST);
	assert_int_equal(gate_says(&g, first, "user@localhost", ""), AF_GATE_HOST);
	assert_int_equal(gate_says(&g, first, "[::1]:8417", ""), AF_GATE_FIRST);
	assert_int_equal(gate_says(&g, near, "localhost", cookie), AF_GATE_TOKEN);
	assert_int_equal(gate_says(&g, first, "localhost", "Origin: http://localhost:1\r\n"),
	                 AF_GATE_ORIGIN);
	assert_int_equal(gate_says(&g, first, "localhost", "Origin: https://localhost\r\n"),
	                 AF_GATE_ORIGIN);
	assert_int_equal(gate_says(&g, g.path, "localhost", cookie), AF_GATE_OPEN);
	assert_int_equal(gate_says(&g, "/", "localhost", cookie), AF_GATE_TOKEN);
	assert_int_equal(gate_says(&g, other.path, "localhost", cookie), AF_GATE_TOKEN);
	assert_int_equal(gate_says(&g, g.path, "localhost", ""), AF_GATE_TOKEN);
	snprintf(cookie, sizeof cookie, "Cookie: %s=%s\r\n", g.cookie, other.token);
	assert_int_equal(gate_says(&g, g.path, "localhost", cookie), AF_GATE_TOKEN);
	snprintf(cookie, sizeof cookie, "Cookie: %s=%.31s\r\n", g.cookie, g.token);
	assert_int_equal(gate_says(&g, g.path, "localhost", cookie), AF_GATE_TOKEN);
	snprintf(cookie, sizeof cookie, "Cookie: x%s=%s\r\n", g.cookie, g.token);
	assert_int_equal(gate_says(&g, g.path, "localhost", cookie), AF_GATE_TOKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(a_request_is_read_when_it_is_whole, free_bytes),
	    cmocka_unit_test_teardown(what_is_none_is_refused_with_its_status, free_bytes),
	    cmocka_unit_test_teardown(a_request_has_its_bounds, free_bytes),
	    cmocka_unit_test(times_are_seconds_to_the_nanosecond),
	    cmocka_unit_test_teardown(only_the_token_opens_and_only_by_our_names, free_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
