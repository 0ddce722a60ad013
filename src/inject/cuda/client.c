#include "inject/cuda/client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/system/clock.h"
#include "inject/core/inject.h"
#include "inject/cuda/cuda.h"

enum {
	INVALID_PARAMETER = 1,
	NOT_SUPPORTED = 27,
	KINDS = 64,
	DRIVER_RECORD = 4, /* CUPTI_ACTIVITY_KIND_DRIVER */
	PROBE_ID = 2,      /* cuDriverGetVersion */
};

_Atomic uint32_t af_client_is_there;
struct af_client_real af_client_real;

/* Calls are numbered in order: which of them a kind was on for. 0 is no bound, else above ABOVE. */
static const uint64_t ABOVE = 1ull << 32;
struct span {
	_Atomic uint64_t from, until; /* numbers of calls; stamps of CUPTI's for OVERHEAD */
};

/* CLOCK_REALTIME and the client's clock at one moment. */
struct moment {
	uint64_t ns, ticks;
};

static struct {
	_Atomic(af_cupti_callback) callback;
	void *_Atomic arg;
	_Atomic(af_cupti_request) request;
	_Atomic(af_cupti_complete) complete;
	_Atomic uint64_t kinds, had; /* on; on since none was on */
	struct span spans[KINDS];
	_Atomic uint32_t latest; /* number of a call */
	_Atomic uint32_t probe;
	_Atomic bool wants[AF_CLIENT_DOMAINS][AF_CLIENT_IDS];
	_Atomic(af_cupti_clock) now;
	struct moment since; /* when it became CUPTI's clock */
} client;

static __thread bool probing;

/* As near as a few tries come. */
static struct moment moment_now(af_cupti_clock clock)
{
	enum { TRIES = 5, NEAR_NS = 200 };
	struct moment best = {0};
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < TRIES && narrowest > NEAR_NS; i++) {
		uint64_t begin = af_clock_ns(CLOCK_REALTIME), ticks = clock(),
			 width = af_clock_ns(CLOCK_REALTIME) - begin;
		if (width < narrowest)
			best = (struct moment){begin + width / 2, ticks};
		narrowest = width < narrowest ? width : narrowest;
	}
	return best;
}

/* ---- callbacks */

bool af_client_wants(uint32_t domain, uint32_t id)
{
	return domain < AF_CLIENT_DOMAINS && id < AF_CLIENT_IDS && client.wants[domain][id];
}

bool af_client_callback(uint32_t domain, uint32_t id, const void *data)
{
	if (domain == AF_CUPTI_DRIVER_API) {
		uint32_t correlation = ((const struct af_cupti_call *)data)->correlation;
		if (probing) {
			atomic_store(&client.probe, correlation);
			return true;
		}
		if ((int32_t)(correlation - atomic_load(&client.latest)) > 0)
			atomic_store(&client.latest, correlation);
	}
	af_cupti_callback callback = atomic_load(&client.callback);
	if (callback && af_client_wants(domain, id))
		callback(client.arg, domain, id, data);
	return false;
}

/* Kinds that the client switches off stay on where we want them. */
static uint32_t callback_set(uint32_t on, uint32_t domain, uint32_t id)
{
	bool known = domain < AF_CLIENT_DOMAINS && id < AF_CLIENT_IDS;
	uint32_t rc = AF_CUPTI_SUCCESS;

	if (on || !af_cuda_wants(domain, id))
		rc = af_cupti.EnableCallback(on, af_cuda_subscriber(), domain, id);
	if (known && !rc)
		client.wants[domain][id] = on;
	return rc;
}

/* A domain at once: then those of ours again. */
static uint32_t domain_set(uint32_t on, uint32_t domain)
{
	uint32_t rc = af_client_real.EnableDomain(on, af_cuda_subscriber(), domain);

	for (uint32_t id = 0; domain < AF_CLIENT_DOMAINS && id < AF_CLIENT_IDS && !rc; id++) {
		client.wants[domain][id] = on;
		if (!on && af_cuda_wants(domain, id))
			af_cupti.EnableCallback(1, af_cuda_subscriber(), domain, id);
	}
	return rc;
}

/* The client's name for the trace: the file of the code that gave us @function. */
static void client_came(void *function)
{
	Dl_info info = {0};
	char words[512];

	if (atomic_exchange(&af_client_is_there, 1))
		return;
	dladdr(function, &info);
	snprintf(words, sizeof words,
	         "the program's own profiler (%.300s) uses CUPTI, too: it is served beside aflame, "
	         "and both have its records",
	         info.dli_fname ? info.dli_fname : "unknown");
	af_inject_note("cuda.profiler", words);
}

uint32_t af_client_Subscribe(void **subscriber, af_cupti_callback callback, void *arg)
{
	if (!subscriber || !callback)
		return INVALID_PARAMETER;
	if (atomic_load(&client.callback))
		return AF_CUPTI_OTHER_SUBSCRIBER;
	client_came((void *)callback);
	client.arg = arg;
	atomic_store(&client.callback, callback);
	*subscriber = af_cuda_subscriber();
	return AF_CUPTI_SUCCESS;
}

uint32_t af_client_Subscribe_v2(void **subscriber, af_cupti_callback callback, void *arg,
                                void *params)
{
	(void)params; /* names the subscriber */
	return af_client_Subscribe(subscriber, callback, arg);
}

uint32_t af_client_Unsubscribe(void *subscriber)
{
	if (subscriber != af_cuda_subscriber() || !atomic_load(&client.callback))
		return INVALID_PARAMETER;
	for (uint32_t domain = 0; domain < AF_CLIENT_DOMAINS; domain++)
		for (uint32_t id = 0; id < AF_CLIENT_IDS; id++)
			if (client.wants[domain][id])
				callback_set(0, domain, id);
	atomic_store(&client.callback, NULL);
	return AF_CUPTI_SUCCESS;
}

uint32_t af_client_EnableCallback(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
	if (subscriber != af_cuda_subscriber())
		return INVALID_PARAMETER;
	return callback_set(on, domain, id);
}

uint32_t af_client_EnableDomain(uint32_t on, void *subscriber, uint32_t domain)
{
	if (subscriber != af_cuda_subscriber())
		return INVALID_PARAMETER;
	return domain_set(on, domain);
}

uint32_t af_client_EnableAllDomains(uint32_t on, void *subscriber)
{
	if (subscriber != af_cuda_subscriber())
		return INVALID_PARAMETER;
	for (uint32_t domain = AF_CUPTI_DRIVER_API; domain < AF_CLIENT_DOMAINS; domain++)
		domain_set(on, domain);
	return AF_CUPTI_SUCCESS;
}

/* ---- kinds of records */

bool af_client_has_kind(uint32_t kind)
{
	return kind < KINDS && atomic_load(&client.kinds) >> kind & 1;
}

bool af_client_records_now(void)
{
	return atomic_load(&client.kinds);
}

/*
 * The number of a call of our own: those before it were made before the client asked. 0 where the
 * driver tells of none, as before it has started.
 */
static uint64_t call_number(void)
{
	uint32_t (*get)(int *) = af_cuda_driver("cuDriverGetVersion");
	bool wanted = af_client_wants(AF_CUPTI_DRIVER_API, PROBE_ID);
	int version;

	atomic_store(&client.probe, 0);
	if (!get)
		return 0;
	af_cupti.EnableCallback(1, af_cuda_subscriber(), AF_CUPTI_DRIVER_API, PROBE_ID);
	probing = true;
	get(&version);
	probing = false;
	if (!wanted)
		af_cupti.EnableCallback(0, af_cuda_subscriber(), AF_CUPTI_DRIVER_API, PROBE_ID);
	uint32_t number = atomic_load(&client.probe);
	return number ? ABOVE | number : 0;
}

static uint64_t stamp_now(void)
{
	uint64_t now = 0;

	return af_cupti.GetTimestamp(&now) ? 0 : now;
}

/* Kinds that are on for us are on already; the client's records begin with the next calls. */
static uint32_t kind_on(uint32_t kind, uint32_t (*enable)(uint32_t))
{
	uint64_t bit = 1ull << kind;

	client_came((void *)atomic_load(&client.complete));
	if (!atomic_load(&client.kinds)) {
		atomic_store(&client.had, 0);
		af_cupti.ActivityFlushAll(0);
	}
	if (!af_cuda_activity_wants(kind)) {
		uint32_t rc = enable(kind);
		if (rc)
			return rc;
	}
	struct span *s = &client.spans[kind];
	atomic_store(&s->from, kind == AF_CUPTI_OVERHEAD ? stamp_now() : call_number());
	atomic_store(&s->until, 0);
	atomic_fetch_or(&client.had, bit);
	atomic_fetch_or(&client.kinds, bit);
	af_client_hold();
	return AF_CUPTI_SUCCESS;
}

uint32_t af_client_ActivityEnable(uint32_t kind)
{
	return kind < KINDS ? kind_on(kind, af_cupti.ActivityEnable)
	                    : af_cupti.ActivityEnable(kind);
}

uint32_t af_client_ActivityEnableAndDump(uint32_t kind)
{
	return kind < KINDS ? kind_on(kind, af_client_real.ActivityEnableAndDump)
	                    : af_client_real.ActivityEnableAndDump(kind);
}

uint32_t af_client_ActivityDisable(uint32_t kind)
{
	uint64_t bit = kind < KINDS ? 1ull << kind : 0;

	if (atomic_load(&client.kinds) & bit) {
		uint32_t latest = atomic_load(&client.latest);
		atomic_store(&client.spans[kind].until, kind == AF_CUPTI_OVERHEAD ? stamp_now()
		                                        : latest                  ? ABOVE | latest
		                                                                  : 0);
		atomic_fetch_and(&client.kinds, ~bit);
	}
	return bit && af_cuda_activity_wants(kind) ? AF_CUPTI_SUCCESS
	                                           : af_cupti.ActivityDisable(kind);
}

/* The call that asked for it; false: the record does not say. */
static bool correlation_of(const struct af_cupti_record *record, uint32_t *correlation)
{
	const void *r = record;

	switch (record->kind) {
	case AF_CUPTI_CONCURRENT_KERNEL:
		*correlation = ((const struct af_cupti_kernel *)r)->correlation;
		return true;
	case AF_CUPTI_MEMCPY:
		*correlation = ((const struct af_cupti_memcpy *)r)->correlation;
		return true;
	case AF_CUPTI_MEMSET:
		*correlation = ((const struct af_cupti_memset *)r)->correlation;
		return true;
	case AF_CUPTI_MEMCPY_PEER:
		*correlation = ((const struct af_cupti_memcpy_peer *)r)->correlation;
		return true;
	case AF_CUPTI_GRAPH_TRACE:
		*correlation = ((const struct af_cupti_graph_trace *)r)->correlation;
		return true;
	default:
		return false;
	}
}

bool af_client_is_its(const struct af_cupti_record *record)
{
	uint32_t kind = record->kind, correlation;

	if (kind >= KINDS || !(atomic_load(&client.had) >> kind & 1))
		return false;
	uint64_t from = atomic_load(&client.spans[kind].from);
	uint64_t until = atomic_load(&client.spans[kind].until);
	if (kind == AF_CUPTI_OVERHEAD) {
		uint64_t start = ((const struct af_cupti_overhead *)(const void *)record)->start;
		return start >= from && (!until || start <= until);
	}
	/*
	 * Our own question, which it would not have made: CUpti_ActivityAPI has its id and number.
	 */
	const uint32_t *words = (const uint32_t *)(const void *)record;
	if (kind == DRIVER_RECORD && words[1] == PROBE_ID && words[8] == atomic_load(&client.probe))
		return false;
	if (!correlation_of(record, &correlation))
		return true;
	return (!from || (int32_t)(correlation - (uint32_t)from) > 0) &&
	       (!until || (int32_t)(correlation - (uint32_t)until) <= 0);
}

uint32_t af_client_ActivityRegisterCallbacks(af_cupti_request request, af_cupti_complete complete)
{
	if (!request || !complete)
		return INVALID_PARAMETER;
	atomic_store(&client.request, request);
	atomic_store(&client.complete, complete);
	return AF_CUPTI_SUCCESS;
}

bool af_client_buffers(af_cupti_request *request, af_cupti_complete *complete)
{
	*request = atomic_load(&client.request);
	*complete = atomic_load(&client.complete);
	return *request && *complete;
}

bool af_client_had_kinds(void)
{
	return atomic_load_explicit(&client.had, memory_order_relaxed);
}

/* After the last of what it had on nothing more is its. */
uint32_t af_client_ActivityFlushAll(uint32_t flags)
{
	uint32_t rc = af_cupti.ActivityFlushAll(flags);
	bool records = af_client_records_now();

	af_client_deliver(records);
	if (!records && flags & AF_CUPTI_FLUSH_FORCED)
		atomic_store(&client.had, 0);
	return rc;
}

/* It goes, CUPTI stays: it is ours. */
uint32_t af_client_Finalize(void)
{
	for (uint32_t kind = 0; kind < KINDS; kind++)
		if (af_client_has_kind(kind))
			af_client_ActivityDisable(kind);
	af_client_ActivityFlushAll(AF_CUPTI_FLUSH_FORCED);
	af_client_Unsubscribe(af_cuda_subscriber());
	return AF_CUPTI_SUCCESS;
}

/* ---- its clock */

bool af_client_has_clock(void)
{
	return atomic_load(&client.now);
}

/*
 * The same one again would cost the stamps of what CUPTI holds (13.0), and so does what is not read
 * before another comes.
 */
uint32_t af_client_ActivityRegisterTimestampCallback(af_cupti_clock now)
{
	if (now && now == atomic_load(&client.now))
		return AF_CUPTI_SUCCESS;
	af_cupti.ActivityFlushAll(0);
	uint32_t rc = af_client_real.ActivityRegisterTimestampCallback(now);
	if (rc || !now)
		return rc;
	client.since = moment_now(now);
	atomic_store(&client.now, now);
	return rc;
}

/* From the client's clock to ours, by the moment of the change and now. */
struct scale {
	struct moment now;
	double ns; /* of a tick */
};

/* Stamps near CLOCK_REALTIME are on it: from before the change, or by a clock that agrees. */
static void stamp_turn(const struct scale *s, uint64_t *stamp)
{
	enum { YEAR_S = 31556952 };
	int64_t off = (int64_t)(*stamp - s->now.ns);

	if (!*stamp || (off > -YEAR_S * 1000000000ll && off < YEAR_S * 1000000000ll))
		return;
	*stamp = s->now.ns + (uint64_t)(int64_t)((double)(int64_t)(*stamp - s->now.ticks) * s->ns);
}

static void record_turn(const struct scale *s, struct af_cupti_record *record)
{
	void *r = record;
	struct af_cupti_graph_trace *graph = r;
	struct af_cupti_overhead *overhead = r;
	struct af_cupti_memset *work = r; /* start and end lie alike in all pieces of work */

	switch (record->kind) {
	case AF_CUPTI_CONCURRENT_KERNEL:
	case AF_CUPTI_MEMCPY:
	case AF_CUPTI_MEMCPY_PEER:
	case AF_CUPTI_MEMSET:
		stamp_turn(s, &work->start);
		stamp_turn(s, &work->end);
		break;
	case AF_CUPTI_GRAPH_TRACE:
		stamp_turn(s, &graph->start);
		stamp_turn(s, &graph->end);
		break;
	case AF_CUPTI_OVERHEAD:
		stamp_turn(s, &overhead->start);
		stamp_turn(s, &overhead->end);
		break;
	default:
		break;
	}
}

_Static_assert(offsetof(struct af_cupti_kernel, start) == offsetof(struct af_cupti_memset, start) &&
                   offsetof(struct af_cupti_memcpy, start) ==
                       offsetof(struct af_cupti_memset, start) &&
                   offsetof(struct af_cupti_memcpy_peer, start) ==
                       offsetof(struct af_cupti_memset, start),
               "pieces of work have their stamps at one place");

void af_client_stamps(uint8_t *buffer, size_t valid)
{
	af_cupti_clock now = atomic_load(&client.now);
	const struct af_cupti_record *record = NULL;

	if (!now)
		return;
	struct scale s = {.now = moment_now(now), .ns = 1};
	if (s.now.ticks != client.since.ticks)
		s.ns = (double)(int64_t)(s.now.ns - client.since.ns) /
		       (double)(int64_t)(s.now.ticks - client.since.ticks);
	while (!af_cupti.ActivityGetNextRecord(buffer, valid, &record))
		record_turn(
		    &s, (struct af_cupti_record *)(buffer + ((const uint8_t *)record - buffer)));
}
