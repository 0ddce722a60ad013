#include "inject/core/keep.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/core/inject.h"
#include "inject/core/thread.h"
#include "trace/write/objects.h"

enum { OPTIONS_BYTES = 8192 };

/* Another directory may be called so by now, and be anybody's. */
static bool is_trace(int dir, const struct af_session *session)
{
	struct stat st;

	return !fstat(dir, &st) && st.st_dev == session->trace_device &&
	       st.st_ino == session->trace_inode;
}

static void object_keep(const void *data, size_t size, char name[AF_SHA256_HEX])
{
	const struct af_session *session = af_inject_session();
	struct af_session_place place = {0};
	int dir = session ? af_session_dir_open(session->trace_dir, &place) : -1;

	if (dir < 0 || !is_trace(dir, session) || af_object_put(dir, data, size, name))
		name[0] = 0;
	if (dir >= 0)
		close(dir);
}

void af_program_define(uint32_t id, uint32_t device, enum af_object_form form, const void *data,
                       size_t size, const char *options)
{
	char object[AF_SHA256_HEX] = "";

	if (data && size)
		object_keep(data, size, object);
	struct af_thread_context *t = af_thread_enter();
	if (!t)
		return;
	struct af_ev_program ev = {.program = id, .device = device, .form = form, .size = size};
	struct af_tail tail[] = {
	    {object, (uint32_t)strlen(object), 0},
	    {options, (uint32_t)strnlen(options, OPTIONS_BYTES), 0},
	};
	af_stream_put_tail(&t->stream, AF_KIND_PROGRAM, af_now_ns(), &ev, sizeof ev, tail, 2);
	af_thread_leave(t);
}
