/*
 * Activity records on their way to the tool. The driver says when work runs as it is enqueued; its
 * record waits here until then, goes into the buffer that the tool gave, and the buffer is
 * completed by this file's thread when it is full or a flush asks. A forced flush also delivers
 * what has not run yet, without stamps.
 */
#include "mock_cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mock_cupti_pc.h"

typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *size, size_t *nr_records_max);
typedef void (*cupti_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                  size_t valid);

enum { ACTIVITY_TICK_NS = 2000000, ACTIVITY_ALIGNMENT = 8, ACTIVITY_OVERHEAD_FLUSH = 1 << 16 };

static pthread_mutex_t activity_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t activity_changed = PTHREAD_COND_INITIALIZER;
static bool activity_is_on[CUPTI_KINDS];

/* Its clock, where the tool has given another: the tool's, and both when that was. */
static uint64_t (*activity_clock)(void);
static uint64_t activity_clock_since, activity_since;
static cupti_request_fn activity_request;
static cupti_complete_fn activity_complete;

static struct mock_record *activity_pending, **activity_last = &activity_pending;
static uint64_t activity_nr_records;
static size_t activity_dropped;

/* The buffer being filled: the thread's own. */
static uint8_t *activity_buffer;
static bool activity_zeroed; /* the client says that its buffers come so */
static size_t activity_size, activity_valid, activity_room;

static pthread_t activity_thread;
static bool activity_has_thread;
static unsigned activity_asked, activity_answered; /* flushes */
static bool activity_forced;
static bool activity_is_down; /* the process's atexit handlers have come to CUPTI's own */

static void activity_add(struct mock_record *record)
{
	struct mock_record *copy = malloc(sizeof(*copy));

	if (!copy)
		abort();
	*copy = *record;
	copy->next = NULL;
	*activity_last = copy;
	activity_last = &copy->next;
}

bool cupti_wants_graphs_whole(void)
{
	return activity_is_on[CUPTI_GRAPH_TRACE];
}

static bool activity_is_nth(const char *setting)
{
	const uint64_t every = mock_setting(setting, 0);

	return every && activity_nr_records % every == 0;
}

void cupti_work(const struct mock_work *work)
{
	struct mock_record record;
	bool is_fatal;

	cupti_pc_work(work);
	if (!activity_is_on[cupti_record_kind(work)])
		return;
	pthread_mutex_lock(&activity_lock);
	activity_nr_records++;
	is_fatal = activity_nr_records == mock_setting("MOCK_CUPTI_FATAL_AFTER", 0);
	if (activity_is_nth("MOCK_CUPTI_DROP_EVERY")) {
		activity_dropped++;
	} else {
		cupti_record_fill(&record, work, !activity_is_nth("MOCK_CUPTI_ZERO_EVERY"));
		if (activity_is_nth("MOCK_CUPTI_SWAP_EVERY"))
			cupti_record_swap(&record);
		activity_add(&record);
	}
	pthread_mutex_unlock(&activity_lock);
	if (is_fatal)
		cupti_fatal();
}

void cupti_overhead(uint32_t overhead, uint64_t start_ns, uint64_t end_ns)
{
	struct mock_record record;

	if (!activity_is_on[CUPTI_OVERHEAD])
		return;
	cupti_record_overhead(&record, overhead, start_ns, end_ns);
	pthread_mutex_lock(&activity_lock);
	activity_add(&record);
	pthread_mutex_unlock(&activity_lock);
}

/* Hands the buffer over. Like every call of the tool's without the lock. */
static void activity_deliver(void)
{
	if (!activity_buffer)
		return;
	activity_complete(NULL, 0, activity_buffer, activity_size, activity_valid);
	activity_buffer = NULL;
}

static void activity_size_check(void)
{
	unsigned long long wanted = mock_setting("MOCK_CUPTI_BUFFER_BYTES", activity_size);

	if (activity_size == wanted)
		return;
	fprintf(stderr, "mock CUPTI: a buffer of %zu bytes, not of %llu\n", activity_size, wanted);
	abort();
}

static bool activity_open(size_t needed)
{
	size_t nr_max = 0;

	if (activity_buffer && (activity_valid + needed > activity_size || !activity_room))
		activity_deliver();
	if (activity_buffer)
		return true;
	activity_size = activity_valid = 0;
	activity_request(&activity_buffer, &activity_size, &nr_max);
	activity_room = nr_max ? nr_max : SIZE_MAX;
	activity_size_check();
	if ((uintptr_t)activity_buffer % ACTIVITY_ALIGNMENT) {
		fprintf(stderr, "mock CUPTI: a buffer at %p\n", (void *)activity_buffer);
		abort();
	}
	for (size_t i = 0; activity_zeroed && i < activity_size; i++)
		if (activity_buffer[i]) {
			fprintf(stderr,
			        "mock CUPTI: a buffer that is not zeroed, as was reported\n");
			abort();
		}
	if (activity_buffer && activity_size < needed)
		activity_deliver();
	return activity_buffer;
}

/* Both clocks at one moment: nothing came between the readings. */
static void activity_pair(uint64_t (*clock)(void), uint64_t *now_ns, uint64_t *now)
{
	do {
		*now_ns = mock_now();
		*now = clock();
	} while (mock_now() - *now_ns > 1000);
}

/* On the tool's clock, of two readings of which one is now. */
static uint64_t activity_time(uint64_t stamp)
{
	uint64_t now_ns, now;

	activity_pair(activity_clock, &now_ns, &now);
	const double rate =
	    (double)(now - activity_clock_since) / (double)(now_ns - activity_since);

	return now - (uint64_t)((double)(now_ns - stamp) * rate);
}

/* The first record that is done, or with @all any, out of the list; NULL when there is none. */
static struct mock_record *activity_take(bool all)
{
	struct mock_record **link = &activity_pending, *r;
	const uint64_t now_ns = mock_now();

	pthread_mutex_lock(&activity_lock);
	while (*link && (*link)->end_ns > now_ns && !all)
		link = &(*link)->next;
	r = *link;
	if (r) {
		*link = r->next;
		if (activity_last == &r->next)
			activity_last = link;
		if (r->end_ns > now_ns)
			cupti_record_unstamp(r);
		else if (activity_clock)
			cupti_record_restamp(r, activity_time);
	}
	pthread_mutex_unlock(&activity_lock);
	return r;
}

static void activity_move(bool all)
{
	struct mock_record *r;

	while ((r = activity_take(all))) {
		if (activity_open(r->size)) {
			memcpy(activity_buffer + activity_valid, r->bytes, r->size);
			activity_valid += r->size;
			activity_room--;
		} else {
			pthread_mutex_lock(&activity_lock);
			activity_dropped++;
			pthread_mutex_unlock(&activity_lock);
		}
		free(r);
	}
}

static void *activity_run(void *arg)
{
	(void)arg;
	for (;;) {
		struct timespec until;
		unsigned asked;
		bool is_forced;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += ACTIVITY_TICK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&activity_lock);
		if (activity_asked == activity_answered)
			pthread_cond_timedwait(&activity_changed, &activity_lock, &until);
		asked = activity_asked;
		is_forced = activity_forced;
		activity_forced = false;
		pthread_mutex_unlock(&activity_lock);
		activity_move(is_forced);
		if (asked == activity_answered)
			continue;
		usleep((useconds_t)(1000 * mock_setting("MOCK_CUPTI_FLUSH_MS", 0)));
		activity_deliver();
		pthread_mutex_lock(&activity_lock);
		activity_answered = asked;
		pthread_cond_broadcast(&activity_changed);
		pthread_mutex_unlock(&activity_lock);
	}
	return NULL;
}

/* From here on the real one waits for ever for its thread. */
static void activity_go_down(void)
{
	activity_is_down = true;
}

CUDA_API uint32_t cuptiActivityRegisterCallbacks(cupti_request_fn request,
                                                 cupti_complete_fn complete)
{
	if (!request || !complete)
		return CUPTI_INVALID_PARAMETER;
	cupti_attach();
	pthread_mutex_lock(&activity_lock);
	activity_request = request;
	activity_complete = complete;
	if (!activity_has_thread) {
		activity_has_thread = !pthread_create(&activity_thread, NULL, activity_run, NULL);
		atexit(activity_go_down);
	}
	pthread_mutex_unlock(&activity_lock);
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void))
{
	if (!clock)
		return CUPTI_INVALID_PARAMETER;
	pthread_mutex_lock(&activity_lock);
	/* Records that it holds lose their stamps (13.0, H200). */
	for (struct mock_record *r = activity_pending; r; r = r->next)
		if (r->end_ns <= mock_now())
			cupti_record_unstamp(r);
	activity_pair(clock, &activity_since, &activity_clock_since);
	activity_clock = clock;
	pthread_mutex_unlock(&activity_lock);
	return CUPTI_OK;
}

uint64_t cupti_now(void)
{
	return activity_clock ? activity_clock() : mock_now();
}

static uint32_t activity_enable_error(uint32_t kind)
{
	const uint64_t only = mock_setting("MOCK_CUPTI_ENABLE_KIND", kind);

	return only == kind ? (uint32_t)mock_setting("MOCK_CUPTI_ENABLE_ERROR", 0) : CUPTI_OK;
}

CUDA_API uint32_t cuptiActivityEnable(uint32_t kind)
{
	const uint32_t error = activity_enable_error(kind);

	if (!cupti_record_size(kind))
		return CUPTI_INVALID_KIND;
	if (error)
		return error;
	if (kind == CUPTI_GRAPH_TRACE && activity_nr_records) {
		fputs("mock CUPTI: graphs are to be timed otherwise while they run\n", stderr);
		abort(); /* the real one (13.0, H200) ends the program, too */
	}
	cupti_attach();
	activity_is_on[kind] = true;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiActivityDisable(uint32_t kind)
{
	if (!cupti_record_size(kind))
		return CUPTI_INVALID_KIND;
	activity_is_on[kind] = false;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiActivityFlushAll(uint32_t flags)
{
	const uint64_t start_ns = mock_now();
	unsigned mine;

	if (!activity_has_thread || pthread_equal(pthread_self(), activity_thread))
		return CUPTI_INVALID_OPERATION;
	if (activity_is_down) {
		fputs("mock CUPTI: a flush after its end\n", stderr);
		abort();
	}
	if (activity_is_on[CUPTI_GRAPH_TRACE] && activity_is_on[CUPTI_MEMCPY] &&
	    activity_is_on[CUPTI_MEMCPY_PEER] && !(flags & 1)) {
		fputs("mock CUPTI: a flush while graphs are timed as a whole with MEMCPY and "
		      "MEMCPY2\n",
		      stderr);
		abort(); /* the real one (13.0, H200) breaks programs that replay graphs */
	}
	pthread_mutex_lock(&activity_lock);
	mine = ++activity_asked;
	if (mine == 1)
		cupti_recorded(activity_add);
	activity_forced |= flags & 1;
	pthread_cond_broadcast(&activity_changed);
	while ((int)(activity_answered - mine) < 0)
		pthread_cond_wait(&activity_changed, &activity_lock);
	pthread_mutex_unlock(&activity_lock);
	cupti_overhead(ACTIVITY_OVERHEAD_FLUSH, start_ns, mock_now());
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiActivityFlushPeriod(uint32_t ms)
{
	(void)ms; /* full buffers are delivered at once anyway */
	return CUPTI_OK;
}

enum { ATTRIBUTE_ZEROED = 5 };

CUDA_API uint32_t cuptiActivitySetAttribute(uint32_t attribute, size_t *size, void *value)
{
	if (!size || !value)
		return CUPTI_INVALID_PARAMETER;
	if (attribute == ATTRIBUTE_ZEROED)
		activity_zeroed = *(const uint8_t *)value;
	return attribute <= (cupti_is_13() ? 9 : 8) ? CUPTI_OK : CUPTI_INVALID_PARAMETER;
}

CUDA_API uint32_t cuptiActivityGetNextRecord(const uint8_t *buffer, size_t valid,
                                             const uint8_t **record)
{
	const uint8_t *next = buffer;
	uint32_t kind;

	if (!buffer || !record)
		return CUPTI_INVALID_PARAMETER;
	if (*record) {
		memcpy(&kind, *record, sizeof(kind));
		next = *record + cupti_record_size(kind);
	}
	if (next >= buffer + valid)
		return CUPTI_MAX_LIMIT_REACHED;
	*record = next;
	return CUPTI_OK;
}

/* Since it was last asked. */
CUDA_API uint32_t cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
	if (!dropped)
		return CUPTI_INVALID_PARAMETER;
	pthread_mutex_lock(&activity_lock);
	*dropped = activity_dropped;
	activity_dropped = 0;
	pthread_mutex_unlock(&activity_lock);
	return CUPTI_OK;
}

void cupti_activity_end(void)
{
	memset(activity_is_on, 0, sizeof(activity_is_on));
}
