/*
 * The thread of the CUDA collector: flushes CUPTI's buffers, reads the clocks, samples, and handles
 * the end.
 */
#include "inject/cuda/cuda.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "inject/api/api.h"
#include "inject/core/inject.h"
#include "inject/cuda/autograd.h"
#include "inject/cuda/client.h"
#include "inject/cuda/pc.h"
#include "inject/sampler/exec.h"
#include "inject/sampler/signals.h"
#include "inject/sampler/starts.h"

/*
 * CUPTI hands a buffer over when it is full. So that what is in half-full ones is in the trace
 * within a second, whatever ends the program, a thread of our own asks for them: it must not be
 * done from a callback (CUPTI locks up) nor before there is a context (it does, too). The thread is
 * there only where CUDA is, which has threads of its own.
 */
enum { LAST_MS = 1000, CLOCK_TRIES = 3 };

static struct {
	_Atomic uint32_t started;
	_Atomic uint32_t epoch;        /* of the process whose thread it is */
	_Atomic uint32_t bell, ending; /* a flush is wanted (a futex that counts); the last one */
	_Atomic uint32_t answered,
	    done; /* futexes: the bell as it was heard; the last one is over */
} flusher;

static void futex_wait(_Atomic uint32_t *word, uint32_t value, long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* CUPTI's own clock, also where the program's profiler has given it another. */
static bool cupti_clock(uint64_t *ns)
{
	if (!af_client_has_clock())
		return !af_cupti.GetTimestamp(ns);
	return af_clock_read(CLOCK_REALTIME, ns);
}

/* The narrowest of a few readings: CUPTI's stamps are all on one clock. */
static bool clock_read(struct af_ev_clock *best)
{
	best->uncertainty_ns = UINT64_MAX;
	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t foreign, begin = af_now_ns();
		if (!cupti_clock(&foreign))
			return false;
		uint64_t width = af_now_ns() - begin;
		if (width >= best->uncertainty_ns)
			continue;
		best->mono_ns = begin + width / 2;
		best->foreign = foreign;
		best->uncertainty_ns = width;
	}
	return true;
}

static void clocks_write(void)
{
	uint64_t devices = atomic_load(&af_cuda_devices);
	struct af_ev_clock pair = {.clock = AF_CLOCK_DEVICE};

	if (!clock_read(&pair))
		return;
	struct af_thread_context *t = af_thread_enter();
	if (!t)
		return;
	for (; devices; devices &= devices - 1) {
		pair.device = af_cuda_device((uint32_t)__builtin_ctzll(devices));
		void *at = af_stream_begin(&t->stream, AF_KIND_CLOCK, af_now_ns(), sizeof pair);
		if (!at)
			continue;
		memcpy(at, &pair, sizeof pair);
		af_stream_end(&t->stream);
	}
	af_thread_leave(t);
}

/* Until it is rung for, or time to flush; samples are read more often. True: rung for. */
static bool flusher_wait(uint32_t heard)
{
	uint64_t until_ns = af_now_ns() + AF_SESSION_FLUSH_MS * 1000000ull, now_ns;

	while (af_cuda_on() && atomic_load(&flusher.bell) == heard &&
	       (now_ns = af_now_ns()) < until_ns) {
		uint32_t ms = (uint32_t)((until_ns - now_ns) / 1000000) + 1;
		uint32_t read_ms = af_cuda_pc_interval_ms();
		futex_wait(&flusher.bell, heard, read_ms && read_ms < ms ? read_ms : ms);
		if (atomic_load(&flusher.bell) == heard)
			af_cuda_pc_read();
	}
	return atomic_load(&flusher.bell) != heard;
}

static void *flusher_run(void *arg)
{
	uint32_t heard = 0, ending = 0;
	struct af_session *session = af_inject_session();
	(void)arg;

	af_api_mute();
	prctl(PR_SET_NAME, "aflame");
	af_cuda_devices_define();
	clocks_write();
	if (session)
		atomic_fetch_add(&session->nr_flushers, 1);
	while (af_cuda_on() && !ending) {
		bool rung = flusher_wait(heard);
		heard = atomic_load(&flusher.bell);
		ending = atomic_load(&flusher.ending);
		/* While the program's own profiler records, its flushes are ours: it sees no
		 * others. */
		if (ending || rung || !af_client_records_now())
			af_cupti.ActivityFlushAll(ending ? AF_CUPTI_FLUSH_FORCED : 0);
		if (rung && !ending)
			af_cuda_pc_read_now();
		clocks_write();
		atomic_store(&flusher.answered, heard);
		futex_wake(&flusher.answered);
		af_cuda_graphs_poll(af_now_ns());
		af_autograd_poll();
		af_cuda_trace_poll();
	}
	af_autograd_end();
	af_cuda_pc_last();
	if (!ending) {
		af_cuda_pc_off();
		af_cuda_stop();
	} else if (session)
		atomic_fetch_sub(&session->nr_flushers, 1);
	/* CUPTI is taken down after the last time, and must not be asked again. */
	atomic_store(&flusher.epoch, 0);
	atomic_store(&flusher.done, 1);
	futex_wake(&flusher.done);
	return NULL;
}

bool af_cuda_ending(void)
{
	return atomic_load_explicit(&flusher.ending, memory_order_relaxed);
}

static bool flusher_is_there(void)
{
	return af_cuda_on() && atomic_load(&flusher.epoch) == af_inject_fork_epoch();
}

/* Wake it, and wait a second at most until it has answered, or with @end until it has ended. */
static void flusher_ring(bool end)
{
	uint64_t until = af_now_ns() + (uint64_t)LAST_MS * 1000000, now;
	_Atomic uint32_t *word = end ? &flusher.done : &flusher.answered;
	int saved = errno;
	uint32_t mine = atomic_fetch_add(&flusher.bell, 1) + 1, want = end ? 1 : mine, seen;

	futex_wake(&flusher.bell);
	while ((int32_t)((seen = atomic_load(word)) - want) < 0 && (now = af_now_ns()) < until)
		futex_wait(word, seen, (long)((until - now) / 1000000) + 1);
	errno = saved;
}

void af_cuda_last(void)
{
	if (!flusher_is_there())
		return;
	atomic_store(&flusher.ending, 1);
	flusher_ring(true);
}

/*
 * The program is about to run another one, or to fail at it: wait, at most a second, until the
 * thread has written what is done by now.
 */
static void flush_before_exec(void)
{
	if (af_inject_session() && !af_inject_in_vfork_child() && flusher_is_there())
		flusher_ring(false);
}

void af_cuda_thread_start(void)
{
	uint32_t first = 0;

	if (!atomic_compare_exchange_strong(&flusher.started, &first, 1) ||
	    !af_starts_own(flusher_run))
		return;
	atomic_store(&flusher.epoch, af_inject_fork_epoch());
	/* Registered after CUPTI's own, so it runs before CUPTI is taken down. */
	atexit(af_cuda_last);
	(void)!at_quick_exit(af_cuda_last);
	af_exit_await(af_cuda_last);
	af_signals_ending(af_cuda_last);
	af_exec_await(flush_before_exec);
}
