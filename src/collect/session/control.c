#include "collect/session/control.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/clock.h"
#include "collect/session/session.h"
#include "trace/layout.h"

/* The part before the words that others wait on; these change too often to be compared. */
enum { OWN_BYTES = offsetof(struct af_session, sampled) };

static uint64_t nonce_make(void)
{
	uint64_t nonce = 0;

	/* It tells recordings apart; the owner of the directory decides who may believe it. */
	if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != sizeof nonce)
		nonce = af_clock_ns(CLOCK_MONOTONIC) ^ af_clock_ns(CLOCK_REALTIME) << 20;
	return nonce;
}

int af_control_make(struct af_recording *r, const struct af_session_options *o, struct af_err *err)
{
	struct af_session *own = &r->own;
	struct stat st;

	if (fstat(r->place.dir_fd, &st))
		return af_fail(err, -errno, "cannot look at %s", r->place.dir);
	*own = (struct af_session){
	    .magic = AF_SESSION_MAGIC,
	    .nonce = nonce_make(),
	    .version = AF_TRACE_VERSION,
	    .flags = o->flags,
	    .cpu_mode = o->cpu_mode,
	    .recorder_pid = (uint32_t)getpid(),
	    .recorder_uid = (uint32_t)geteuid(),
	    .sample_period_ns = o->sample_period_ns,
	    .gpu_samples_second = o->gpu_samples_second,
	    .ring_bytes = o->ring_bytes,
	    .trace_device = st.st_dev,
	    .trace_inode = st.st_ino,
	};
	snprintf(own->trace_dir, sizeof own->trace_dir, "%s", r->place.dir);
	for (uint32_t i = 0; o->how && i < AF_API_KINDS; i++)
		own->how[i] = o->how[i];
	int rc = af_session_make(r->drain.shm_fd, own, &r->control);
	if (rc == -ENOSPC)
		return af_fail(err, rc, "no room in /dev/shm: free some, or mount it larger");
	return rc ? af_fail(err, rc, "cannot make the files in %s", r->shm) : 0;
}

enum af_session_state af_control_state(const struct af_recording *r)
{
	return r->own.state;
}

void af_control_put_state(struct af_recording *r, enum af_session_state state)
{
	r->own.state = state;
	r->control->state = state;
}

void af_control_poll(struct af_recording *r)
{
	if (!memcmp(r->control, &r->own, OWN_BYTES))
		return;
	memcpy(r->control, &r->own, OWN_BYTES);
	af_stream_put(&r->stream, lost, af_now_ns(), .reason = AF_LOST_MEDDLED, .count = 1);
	if (!r->meddled++ && r->options->tell)
		r->options->tell("another process wrote over what belongs to the recorder: it was "
		                 "put back, but what was recorded meanwhile may be missing");
}
