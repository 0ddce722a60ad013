/*
 * Serves the program's own profiler (PyTorch's Kineto, XLA's, Triton's Proton) beside ours. CUPTI
 * has room for one profiler: one subscriber and one pair of functions that hand out buffers. Those
 * are ours for the whole run, and we serve the program's profiler, the *client*, behind them:
 *
 *	client_interposers.c  the client's calls come here instead of to CUPTI
 *	client.c        the client's requests: callbacks, kinds of records, its clock
 *	client_copy.c   the client's records, copied out of our buffers into its own
 *
 * The client gets the records that it would have had without us, and so do we. It does not get
 * records that it did not ask for, or of work that was launched before it asked.
 *
 * A client may replace CUPTI's clock for the whole process. We then turn its stamps into those of
 * CLOCK_REALTIME, CUPTI's own clock, before we read them.
 *
 * Any thread may call these functions. The client puts its own calls in order, as with CUPTI.
 */
#ifndef AF_INJECT_CUDA_CLIENT_H
#define AF_INJECT_CUDA_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/cuda/cupti.h"

/* The client's calls that do not go to CUPTI: P(name, parameters, arguments). */
#define AF_CLIENT_FUNCTIONS(P)                                                                     \
	P(Subscribe, (void **subscriber, af_cupti_callback callback, void *arg),                   \
	  (subscriber, callback, arg))                                                             \
	P(Subscribe_v2, (void **subscriber, af_cupti_callback callback, void *arg, void *params),  \
	  (subscriber, callback, arg, params))                                                     \
	P(Unsubscribe, (void *subscriber), (subscriber))                                           \
	P(EnableCallback, (uint32_t on, void *subscriber, uint32_t domain, uint32_t id),           \
	  (on, subscriber, domain, id))                                                            \
	P(EnableDomain, (uint32_t on, void *subscriber, uint32_t domain),                          \
	  (on, subscriber, domain))                                                                \
	P(EnableAllDomains, (uint32_t on, void *subscriber), (on, subscriber))                     \
	P(ActivityRegisterCallbacks, (af_cupti_request request, af_cupti_complete complete),       \
	  (request, complete))                                                                     \
	P(ActivityRegisterTimestampCallback, (af_cupti_clock now), (now))                          \
	P(ActivityEnable, (uint32_t kind), (kind))                                                 \
	P(ActivityEnableAndDump, (uint32_t kind), (kind))                                          \
	P(ActivityDisable, (uint32_t kind), (kind))                                                \
	P(ActivityFlushAll, (uint32_t flags), (flags))                                             \
	P(Finalize, (void), ())

enum { AF_CLIENT_DOMAINS = 8, AF_CLIENT_IDS = 1024 };

/* CUPTI's own functions of these names; NULL for those that it lacks. Set by af_client_open(). */
struct af_client_real {
#define AF_P(name, params, words) uint32_t(*name) params;
	AF_CLIENT_FUNCTIONS(AF_P)
#undef AF_P
};
extern struct af_client_real af_client_real;

/* Our versions, which serve the client: an enum af_cupti_result, as CUPTI would return. */
#define AF_P(name, params, words) uint32_t af_client_##name params;
AF_CLIENT_FUNCTIONS(AF_P)
#undef AF_P

/*
 * We hold CUPTI: from now on we serve calls of these functions of @library, also those that a
 * client looks up by dlsym. After af_cuda_resolve(), once.
 */
void af_client_open(void *library);
bool af_client_is_open(void);

/* Is there a client? */
extern _Atomic uint32_t af_client_is_there;

/*
 * Pass a callback on to the client that asked for it. True: the callback belongs to a probe of
 * ours, and nobody else gets it.
 */
bool af_client_callback(uint32_t domain, uint32_t id, const void *data);

/* Does the client want this callback, this kind of records? */
bool af_client_wants(uint32_t domain, uint32_t id);
bool af_client_has_kind(uint32_t kind);

/* Does it record now? */
bool af_client_records_now(void);

/* Copy the client's records out of a completed buffer, before we read it. */
void af_client_copy(const uint8_t *buffer, size_t valid);

/* Turn the stamps of a completed buffer into those of our clock. */
void af_client_stamps(uint8_t *buffer, size_t valid);

/* Has the client replaced CUPTI's clock? Then CLOCK_REALTIME stands for it. */
bool af_client_has_clock(void);

/*
 * Between the client's files: does this record belong to the client; were kinds enabled since it
 * last asked for all; the client's two buffer functions (false: it has not registered them). _hold
 * gets a buffer from the client; _deliver hands the buffer over, and gets another one where the
 * client @records on.
 */
bool af_client_is_its(const struct af_cupti_record *record);
bool af_client_had_kinds(void);
bool af_client_buffers(af_cupti_request *request, af_cupti_complete *complete);
void af_client_hold(void);
void af_client_deliver(bool records);

#endif
