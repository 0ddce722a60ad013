#include "trace/write/recorder.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/system/clock.h"
#include "trace/write/stream.h"

uint64_t af_recorder_nonce(void)
{
	uint64_t nonce = 0;

	/* It tells recordings apart; the owner of the directory decides who may believe it. */
	if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != sizeof nonce)
		nonce = af_clock_ns(CLOCK_MONOTONIC) ^ af_clock_ns(CLOCK_REALTIME) << 20;
	return nonce;
}

void af_recorder_note(struct af_stream *s, const char *key, const char *value)
{
	struct af_tail tail[] = {
	    {key, (uint32_t)strlen(key), 0},
	    {value, (uint32_t)strlen(value), 0},
	};

	af_stream_put_tail(s, AF_KIND_NOTE, af_now_ns(), "", 0, tail, 2);
}

void af_recorder_anchor(struct af_stream *s)
{
	uint64_t before = af_clock_ns(CLOCK_MONOTONIC);
	uint64_t real = af_clock_ns(CLOCK_REALTIME);
	uint64_t after = af_clock_ns(CLOCK_MONOTONIC);

	af_stream_put(s, clock, after, .clock = AF_CLOCK_REALTIME,
	              .mono_ns = before + (after - before) / 2, .foreign = real,
	              .uncertainty_ns = after - before);
}
