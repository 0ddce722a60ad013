#include "trace/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "trace/kinds.h"

#define TEMPORARY ".metadata.new" /* a dot-file: readers do not look at it */
#define SIGNATURE "/* CTF 1.8"

/* The packet header is struct af_packet, in two parts; the event header, struct af_event_header. */
static const char head[] =
    SIGNATURE " */\n"
	      "typealias integer { size = 8; align = 8; signed = false; base = 16; } := u8;\n"
	      "typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
	      "typealias integer { size = 24; align = 8; signed = false; } := u24;\n"
	      "typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
	      "typealias integer { size = 48; align = 8; signed = false; } := u48;\n"
	      "typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
	      "typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;\n"
	      "typealias integer { size = 32; align = 8; signed = true; } := i32;\n"
	      "typealias integer { size = 64; align = 8; signed = true; } := i64;\n"
	      "trace {\n"
	      "\tmajor = 1;\n"
	      "\tminor = 8;\n"
	      "\tbyte_order = le;\n"
	      "\tpacket.header := struct {\n"
	      "\t\tu32 magic;\n"
	      "\t\tu32 stream_id;\n"
	      "\t\tu64 stream_instance_id;\n"
	      "\t};\n"
	      "};\n";

static const char stream[] =
    "typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := "
    "time;\n"
    "stream {\n"
    "\tid = 0;\n"
    "\tpacket.context := struct {\n"
    "\t\tu64 packet_size;\n"
    "\t\tu64 content_size;\n"
    "\t\ttime timestamp_begin;\n"
    "\t\ttime timestamp_end;\n"
    "\t\tu64 events_discarded;\n"
    "\t\tu64 packet_seq_num;\n"
    "\t\tu32 process;\n"
    "\t\tu32 vpid;\n"
    "\t\tu32 vtid;\n"
    "\t\tu32 has;\n"
    "\t};\n"
    "\tevent.header := struct {\n"
    "\t\tu16 id;\n"
    "\t\tu16 size;\n"
    "\t\ttime timestamp;\n"
    "\t};\n"
    "};\n";

static const char *type_name(enum af_field_type type)
{
	static const char *const names[] = {
	    [AF_TYPE_u8] = "u8",   [AF_TYPE_u16] = "u16", [AF_TYPE_u24] = "u24",
	    [AF_TYPE_u32] = "u32", [AF_TYPE_u48] = "u48", [AF_TYPE_u64] = "u64",
	    [AF_TYPE_x64] = "x64", [AF_TYPE_i32] = "i32", [AF_TYPE_i64] = "i64",
	    [AF_TYPE_str] = "str",
	};
	return names[type];
}

/* Names get an underscore, which readers strip: `clock` and `string` are words of the language. */
static void metadata_field(struct af_buf *b, const struct af_field_info *f)
{
	const struct af_enum_info *e = af_field_enum(f);

	if (f->class == AF_FIELD_STR) {
		af_buf_fmt(b, "\t\tstring _%s;\n", f->name);
	} else if (f->class == AF_FIELD_SEQ) {
		af_buf_fmt(b, "\t\tu32 _nr_%s;\n\t\t%s _%s[_nr_%s];\n", f->name, type_name(f->type),
		           f->name, f->name);
	} else if (e && !e->flags) {
		af_buf_fmt(b, "\t\tenum : %s {", type_name(f->type));
		for (uint32_t i = 0; i < e->nr_values; i++)
			af_buf_fmt(b, "%s %s = %u", i ? "," : "", e->values[i].name,
			           e->values[i].value);
		af_buf_fmt(b, " } _%s;\n", f->name);
	} else {
		af_buf_fmt(b, "\t\t%s _%s;\n", type_name(f->type), f->name);
	}
}

static void metadata_kind(struct af_buf *b, const struct af_kind_info *info)
{
	af_buf_fmt(b, "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = 0;\n", info->name,
	           info->kind);
	af_buf_str(b, "\tfields := struct {\n");
	for (uint32_t i = 0; i < info->nr_fields; i++)
		metadata_field(b, &info->fields[i]);
	af_buf_str(b, "\t};\n};\n");
}

static void metadata_env(struct af_buf *b, const char *hostname)
{
	int major = 0, minor = 0;

	sscanf(AFLAME_VERSION, "%d.%d", &major, &minor);
	af_buf_str(b, "env {\n\thostname = \"");
	for (; *hostname; hostname++)
		af_buf_char(b, strchr("\"\\\n", *hostname) ? '_' : *hostname);
	af_buf_fmt(b,
	           "\";\n\ttracer_name = \"aflame\";\n\ttracer_major = %d;\n\ttracer_minor = %d;\n"
	           "\taflame_trace_version = %d;\n\taflame_version = \"%s\";\n};\n",
	           major, minor, AF_TRACE_VERSION, AFLAME_VERSION);
}

void af_metadata_text(struct af_buf *b, uint64_t mono_ns, uint64_t realtime_ns,
                      const char *hostname)
{
	uint64_t offset_ns = realtime_ns > mono_ns ? realtime_ns - mono_ns : 0;

	af_buf_str(b, head);
	metadata_env(b, hostname);
	af_buf_fmt(b,
	           "clock {\n\tname = monotonic;\n\tdescription = \"CLOCK_MONOTONIC\";\n"
	           "\tfreq = 1000000000;\n\toffset_s = %llu;\n\toffset = %llu;\n};\n",
	           (unsigned long long)(offset_ns / 1000000000),
	           (unsigned long long)(offset_ns % 1000000000));
	af_buf_str(b, stream);
	for (unsigned kind = 0; kind < AF_KIND_MAX; kind++) {
		const struct af_kind_info *info = af_kind_info(kind);
		if (info)
			metadata_kind(b, info);
	}
}

int af_metadata_write(int dirfd, uint64_t mono_ns, uint64_t realtime_ns, const char *more,
                      struct af_err *err)
{
	struct af_buf b = {0};
	char hostname[256] = "";

	gethostname(hostname, sizeof hostname - 1);
	af_metadata_text(&b, mono_ns, realtime_ns, hostname);
	if (more)
		af_buf_str(&b, more);

	scope_close int fd = af_create_private(dirfd, TEMPORARY);
	int rc = fd < 0 ? fd : af_buf_flush(&b, fd);
	af_buf_free(&b);
	if (!rc && renameat(dirfd, TEMPORARY, dirfd, AF_METADATA_FILE))
		rc = -errno;
	if (!rc)
		return 0;
	if (fd >= 0)
		unlinkat(dirfd, TEMPORARY, 0);
	return af_fail(err, rc, "cannot write the trace's metadata");
}

void af_env_free(struct af_env *env)
{
	free(env->text);
	*env = (struct af_env){0};
}

const char *af_env_get(const struct af_env *env, const char *key)
{
	for (uint32_t i = 0; i < env->nr; i++)
		if (!strcmp(env->keys[i], key))
			return env->values[i];
	return NULL;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-';
}

/*
 * The next token of NUL-terminated TSDL at *@p, cut out in place: a word, the inside of a string
 * (*@quoted), or one character of punctuation in @one. NULL at the end.
 */
static char *tsdl_token(char **p, bool *quoted, char one[2])
{
	char *s = *p;

	*quoted = false;
	for (;;) {
		s += strspn(s, " \t\r\n");
		if (strncmp(s, "/*", 2))
			break;
		char *end = strstr(s + 2, "*/");
		s = end ? end + 2 : s + strlen(s);
	}
	if (!*s)
		return NULL;

	char *token = s;
	if (*s == '"') {
		*quoted = true;
		token = ++s;
		while (*s && *s != '"')
			s += s[0] == '\\' && s[1] ? 2 : 1;
		*p = *s ? s + 1 : s;
		*s = 0;
		return token;
	}
	if (!is_word(*s)) {
		one[0] = *s;
		one[1] = 0;
		*p = s + 1;
		return one;
	}
	while (is_word(*s))
		s++;
	/* The end of a word is also the start of the next token: hand out a moved copy. */
	memmove(token - 1, token, (size_t)(s - token));
	s[-1] = 0;
	*p = s;
	return token - 1;
}

enum { ENV_BYTES = 8192 };

/* Find `env {` and take its `key = value;` pairs. Is the end of the block there? */
static bool env_parse(struct af_env *env, char *p)
{
	char one[2];
	bool quoted, after_env = false;
	char *token;

	while ((token = tsdl_token(&p, &quoted, one))) {
		if (after_env && !quoted && !strcmp(token, "{"))
			break;
		after_env = !quoted && !strcmp(token, "env");
	}
	while (token && env->nr < AF_ENV_MAX) {
		char *key = tsdl_token(&p, &quoted, one);
		if (!key || key == one)
			return key && *key == '}';
		char *equals = tsdl_token(&p, &quoted, one);
		if (!equals || strcmp(equals, "="))
			return false;
		token = tsdl_token(&p, &quoted, one);
		if (!token || token == one)
			return false;
		env->keys[env->nr] = key;
		env->values[env->nr++] = token;
		token = tsdl_token(&p, &quoted, one);
		if (!token || strcmp(token, ";"))
			return false;
	}
	return false;
}

/* Parse the first @len bytes of @text. Is the end of the block among them? -ENOMEM. */
static int env_read(struct af_env *env, const char *text, size_t len)
{
	af_env_free(env);
	/* One byte in front, for the token that starts at the first character. */
	env->text = malloc(len + 2);
	if (!env->text)
		return -ENOMEM;
	env->text[0] = ' ';
	memcpy(env->text + 1, text, len);
	env->text[len + 1] = 0;
	return env_parse(env, env->text + 1);
}

int af_metadata_read(struct af_env *env, const char *text, size_t len, const char *dir,
                     struct af_err *err)
{
	*env = (struct af_env){0};
	if (len < strlen(SIGNATURE) || memcmp(text, SIGNATURE, strlen(SIGNATURE)))
		return af_fail_plain(err, -EINVAL,
		                     "%s is not an aflame trace: its metadata is not CTF 1.8 text",
		                     dir);

	/* The block stands at the beginning, and events of APIs are hundreds of kilobytes. */
	int found = len > ENV_BYTES ? env_read(env, text, ENV_BYTES) : 0;
	if (!found)
		found = env_read(env, text, len);
	if (found < 0)
		return af_fail(err, found, "cannot read the metadata of %s", dir);

	const char *version = af_env_get(env, "aflame_trace_version");
	const char *tool = af_env_get(env, "aflame_version");
	int rc = 0;
	if (!version)
		rc = af_fail_plain(err, -EINVAL,
		                   "%s is a CTF trace, but not of aflame: read it with babeltrace2",
		                   dir);
	else if (strtoul(version, NULL, 10) > AF_TRACE_VERSION)
		rc = af_fail_plain(err, -EPROTONOSUPPORT,
		                   "%s is a trace of version %.20s (written by aflame %.20s), and "
		                   "aflame " AFLAME_VERSION
		                   " reads up to version %d: upgrade aflame",
		                   dir, version, tool ? tool : "unknown", AF_TRACE_VERSION);
	if (rc)
		af_env_free(env);
	return rc;
}
