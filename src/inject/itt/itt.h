/*
 * The ITT collector inside of libaflame.so, and the collector of somebody else that is called
 * behind it. A program's static part opens the library that INTEL_LIBITTNOTIFY64 names and calls
 * __itt_api_init(), which puts functions of ours (af_itt_…) in its table.
 *
 *	const struct af_itt_next *next = af_itt_next();
 *	if (next->task_begin)
 *		next->task_begin(domain, id, parent, name);
 *	af_itt_put(AF_RANGE_PUSH, domain, text, 0, depth);
 */
#ifndef AF_INJECT_ITT_ITT_H
#define AF_INJECT_ITT_ITT_H

#include <stdbool.h>

#include "inject/core/inject.h"
#include "inject/itt/abi.h"
#include "inject/nvtx/ranges.h"

/* The domain of marks of what belongs to none; those of programs have "ITT: " before them. */
#define AF_ITT_DOMAIN "ITT"

struct itt_clock; /* __itt_clock_domain, never looked into */

/* F(result, name, parameters): functions of ITT that are recorded, without "__itt_". */
#define AF_ITT_FUNCTIONS(F)                                                                        \
	F(struct itt_domain *, domain_create, (const char *))                                      \
	F(struct itt_string *, string_handle_create, (const char *))                               \
	F(void, task_begin,                                                                        \
	  (const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *))          \
	F(void, task_begin_fn, (const struct itt_domain *, struct itt_id, struct itt_id, void *))  \
	F(void, task_end, (const struct itt_domain *))                                             \
	F(void, task_begin_ex,                                                                     \
	  (const struct itt_domain *, struct itt_clock *, unsigned long long, struct itt_id,       \
	   struct itt_id, struct itt_string *))                                                    \
	F(void, task_end_ex, (const struct itt_domain *, struct itt_clock *, unsigned long long))  \
	F(void, task_begin_overlapped,                                                             \
	  (const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *))          \
	F(void, task_end_overlapped, (const struct itt_domain *, struct itt_id))                   \
	F(void, task_begin_overlapped_ex,                                                          \
	  (const struct itt_domain *, struct itt_clock *, unsigned long long, struct itt_id,       \
	   struct itt_id, struct itt_string *))                                                    \
	F(void, task_end_overlapped_ex,                                                            \
	  (const struct itt_domain *, struct itt_clock *, unsigned long long, struct itt_id))      \
	F(void, region_begin,                                                                      \
	  (const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *))          \
	F(void, region_end, (const struct itt_domain *, struct itt_id))                            \
	F(void, frame_begin_v3, (const struct itt_domain *, struct itt_id *))                      \
	F(void, frame_end_v3, (const struct itt_domain *, struct itt_id *))                        \
	F(void, frame_submit_v3,                                                                   \
	  (const struct itt_domain *, struct itt_id *, unsigned long long, unsigned long long))    \
	F(unsigned long long, get_timestamp, (void))                                               \
	F(int, event_create, (const char *, int))                                                  \
	F(int, event_start, (int))                                                                 \
	F(int, event_end, (int))                                                                   \
	F(void, marker, (const struct itt_domain *, struct itt_id, struct itt_string *, int))      \
	F(void, marker_ex,                                                                         \
	  (const struct itt_domain *, struct itt_clock *, unsigned long long, struct itt_id,       \
	   struct itt_string *, int))                                                              \
	F(void, metadata_add,                                                                      \
	  (const struct itt_domain *, struct itt_id, struct itt_string *, int, size_t, void *))    \
	F(void, metadata_str_add,                                                                  \
	  (const struct itt_domain *, struct itt_id, struct itt_string *, const char *, size_t))   \
	F(void, metadata_add_with_scope,                                                           \
	  (const struct itt_domain *, int, struct itt_string *, int, size_t, void *))              \
	F(void, metadata_str_add_with_scope,                                                       \
	  (const struct itt_domain *, int, struct itt_string *, const char *, size_t))             \
	F(void, thread_set_name, (const char *))                                                   \
	F(void, pause, (void))                                                                     \
	F(void, resume, (void))                                                                    \
	F(void, pause_scoped, (unsigned))                                                          \
	F(void, resume_scoped, (unsigned))                                                         \
	F(void, detach, (void))                                                                    \
	F(void *, counter_create, (const char *, const char *))                                    \
	F(void *, counter_create_typed, (const char *, const char *, int))                         \
	F(void *, counter_create_v3, (const struct itt_domain *, const char *, int))               \
	F(void, counter_destroy, (void *))                                                         \
	F(void, counter_inc, (void *))                                                             \
	F(void, counter_inc_delta, (void *, unsigned long long))                                   \
	F(void, counter_dec, (void *))                                                             \
	F(void, counter_dec_delta, (void *, unsigned long long))                                   \
	F(void, counter_set_value, (void *, void *))                                               \
	F(void, counter_set_value_v3, (void *, void *))                                            \
	F(void, counter_set_value_ex, (void *, struct itt_clock *, unsigned long long, void *))    \
	F(void, counter_inc_v3, (const struct itt_domain *, struct itt_string *))                  \
	F(void, counter_inc_delta_v3,                                                              \
	  (const struct itt_domain *, struct itt_string *, unsigned long long))                    \
	F(void, counter_dec_v3, (const struct itt_domain *, struct itt_string *))                  \
	F(void, counter_dec_delta_v3,                                                              \
	  (const struct itt_domain *, struct itt_string *, unsigned long long))

/* Those of ours. Any thread; pointers may be NULL. */
#define AF_ITT_DECLARE(result, name, parameters) result af_itt_##name parameters;
AF_ITT_FUNCTIONS(AF_ITT_DECLARE)
#undef AF_ITT_DECLARE

/* Functions of the collector behind ours; NULL where it has none. */
struct af_itt_next {
#define AF_ITT_MEMBER(result, name, parameters) result(*name) parameters;
	AF_ITT_FUNCTIONS(AF_ITT_MEMBER)
#undef AF_ITT_MEMBER
};

/* Any thread; its members are set as static parts begin. Never NULL. */
const struct af_itt_next *af_itt_next(void);

/* True where static parts make counters themselves (itt_counter_info), if nobody else does. */
bool af_itt_makes_counters(void);

/* Is what the program says recorded now? False while it has paused ITT. Ends are, all the same. */
bool af_itt_recording(void);
void af_itt_set_paused(bool paused);

/*
 * Write an edge of a range or a mark. @depth: ranges of the domain around it in this thread;
 * @domain and @text may be NULL. False: not written.
 */
bool af_itt_put(enum af_range_edge edge, const char *domain, const char *text, uint64_t range,
                int32_t depth);

/* A mark of @domain, with @text, within the thread's tasks. */
void af_itt_mark(const struct itt_domain *domain, const char *text);

/* The texts of a handle and of a domain, never NULL. */
static inline const char *af_itt_text(const struct itt_string *s)
{
	return s && s->text ? s->text : "";
}

static inline const char *af_itt_domain(const struct itt_domain *d)
{
	return d && d->name ? d->name : "";
}

/* Note @text under @key once in this process; @noted is the caller's own. */
void af_itt_note_once(_Atomic uint32_t *noted, const char *key, const char *text);

/* Times of the program's own clock are not used: note it, once, where there is one. */
void af_itt_note_clock(const struct itt_clock *clock);

/* Ranges that may end in any order and thread, by what the program knows them by. */
enum af_itt_open {
	AF_ITT_OVERLAPPED = 1,
	AF_ITT_REGION,
	AF_ITT_FRAME,
	AF_ITT_FRAME_UNNAMED, /* of a domain: the one frame without an id */
	AF_ITT_EVENT,
};

struct af_itt_key {
	uint64_t kind;   /* enum af_itt_open */
	uint64_t domain; /* af_itt_domain_key() */
	struct itt_id id;
};

/* Domains of one name are one domain, whichever static part or collector made them. */
uint64_t af_itt_domain_key(const struct itt_domain *domain);

/*
 * A range of that key begins: its number in the trace; 0: too many are open. @was gets the number
 * of one of that key that is open already, which is forgotten, or 0.
 */
uint64_t af_itt_open(const struct af_itt_key *key, uint64_t *was);

/* Is one of that key open? */
bool af_itt_is_open(const struct af_itt_key *key);

/* It ends: its number, or 0. */
uint64_t af_itt_close(const struct af_itt_key *key);

/*
 * The range of @key begins, or ends: START and END of @domain, which may be NULL. One that is open
 * already ends, unless it is @kept: then it goes on.
 */
void af_itt_range_start(const struct af_itt_key *key, const char *domain, const char *text,
                        bool kept);
void af_itt_range_end(const struct af_itt_key *key, const char *domain);

/* A frame of @domain took @ns and ended now: a reading of the domain's counter "frame". */
void af_itt_frame(const struct itt_domain *domain, uint64_t ns);

#endif
