#include "collect/session/control.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/clock.h"
#include "base/system/proc.h"
#include "collect/session/session.h"
#include "trace/layout.h"
#include "trace/write/recorder.h"

/* The part before the words that others wait on; these change too often to be compared. */
enum { OWN_BYTES = offsetof(struct af_session, sampled) };

int af_control_make(struct af_recording *r, const struct af_session_options *o, struct af_err *err)
{
	struct af_session *own = &r->own;
	struct stat st;

	if (fstat(r->place.dir_fd, &st))
		return af_fail(err, -errno, "cannot look at %s", r->place.dir);
	*own = (struct af_session){
	    .magic = AF_SESSION_MAGIC,
	    .nonce = af_recorder_nonce(),
	    .version = AF_TRACE_VERSION,
	    .flags = o->flags | (o->steps.first ? AF_SESSION_STEPS : 0),
	    .cpu_mode = o->cpu_mode,
	    .recorder_pid = (uint32_t)getpid(),
	    .recorder_uid = (uint32_t)geteuid(),
	    .time_namespace = af_time_namespace(),
	    .time_namespace_ns = af_time_namespace_ns(),
	    .sample_period_ns = o->sample_period_ns,
	    .samples_most = o->samples_most,
	    .stack_depth = o->stack_depth,
	    .gpu_samples_second = o->gpu_samples_second,
	    .ring_bytes = o->ring_bytes,
	    .trace_device = st.st_dev,
	    .trace_inode = st.st_ino,
	};
	snprintf(own->trace_dir, sizeof own->trace_dir, "%s", r->place.dir);
	own->launch_metrics_every = o->launch_metrics_every;
	own->launches_every = o->launches_every;
	own->cuda_buffer_bytes = o->cuda_buffer_bytes;
	snprintf(own->launch_metrics, sizeof own->launch_metrics, "%s", o->launch_metrics);
	own->steps_first = o->steps.first;
	own->steps_last = o->steps.last;
	snprintf(own->steps_name, sizeof own->steps_name, "%s", o->steps.name);
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

/* Two readings of CLOCK_MONOTONIC around one of the counter; of some the closest. */
static void ticks_read(uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = af_clock_ns(CLOCK_MONOTONIC), at = af_clock_ticks();
		uint64_t after = af_clock_ns(CLOCK_MONOTONIC);
		if (after - before >= best)
			continue;
		best = after - before;
		*ticks = at;
		*ns = before + best / 2;
	}
}

static bool ticks_are_trusted(void)
{
	char source[32];

	af_read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
	             sizeof source);
	return !strncmp(source, "tsc", 3);
}

enum { TICKS_LEAST_NS = 5000000 };

void af_control_poll_ticks(struct af_recording *r)
{
	_Atomic uint32_t *mult = &r->control->tsc_mult;
	uint64_t ticks = 0, ns = 0, taken = 0;

	if (r->options->system_clock || r->no_ticks)
		return;
	ticks_read(&ticks, &ns);
	if (r->ticks && ns - r->ticks_ns < TICKS_LEAST_NS)
		return;
	if (!ticks_are_trusted()) {
		r->no_ticks = true;
		atomic_store_explicit(mult, 0, memory_order_relaxed);
		af_session_note(r, "call_clock", "the system's: its clock source is not tsc");
		return;
	}
	if (r->ticks && ticks > r->ticks)
		taken = ((ns - r->ticks_ns) << 32) / (ticks - r->ticks);
	atomic_store_explicit(mult, taken > UINT32_MAX ? 0 : (uint32_t)taken, memory_order_relaxed);
	r->ticks = ticks;
	r->ticks_ns = ns;
}

void af_control_put_how(struct af_recording *r, uint16_t kind, uint8_t how)
{
	r->own.how[kind - AF_KIND_API] = how;
	atomic_store_explicit(&r->control->how[kind - AF_KIND_API], how, memory_order_relaxed);
	atomic_fetch_add_explicit(&r->control->how_changes, 1, memory_order_release);
}
