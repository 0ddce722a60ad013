/*
 * A static part of ITT of the tests' own, by the layouts that Intel's has published
 * (ittnotify_config.h, build 20180723) and without its headers: it opens the library that
 * INTEL_LIBITTNOTIFY64 names, has it fill the table, and makes domains, strings and counters
 * itself where the library does not. A function is called through its pointer, unless it is NULL:
 *
 *	itt_begin();
 *	ITT(task_begin, domain, none, none, name);
 */
#ifndef ITT_SAY_H
#define ITT_SAY_H

#include <stddef.h>

struct domain {
	volatile int flags;
	const char *name;
	void *wide;
	int extra1;
	void *extra2;
	struct domain *next;
};

struct string {
	const char *text;
	void *wide;
	int extra1;
	void *extra2;
	struct string *next;
};

struct id {
	unsigned long long d1, d2, d3;
};

struct counter {
	const char *name;
	void *name_wide;
	const char *domain;
	void *domain_wide;
	int type;
	long index;
	int extra1;
	void *extra2;
	struct counter *next;
};

enum { U64 = 1, S64, U32, S32, U16, S16, FLOAT, DOUBLE };

#define ITT_FUNCTIONS(F)                                                                           \
	F(void, task_begin, (const struct domain *, struct id, struct id, struct string *))        \
	F(void, task_begin_fn, (const struct domain *, struct id, struct id, void *))              \
	F(void, task_end, (const struct domain *))                                                 \
	F(void, task_begin_ex,                                                                     \
	  (const struct domain *, void *, unsigned long long, struct id, struct id,                \
	   struct string *))                                                                       \
	F(void, task_end_ex, (const struct domain *, void *, unsigned long long))                  \
	F(void, task_begin_overlapped,                                                             \
	  (const struct domain *, struct id, struct id, struct string *))                          \
	F(void, task_end_overlapped, (const struct domain *, struct id))                           \
	F(void, region_begin, (const struct domain *, struct id, struct id, struct string *))      \
	F(void, region_end, (const struct domain *, struct id))                                    \
	F(void, frame_begin_v3, (const struct domain *, struct id *))                              \
	F(void, frame_end_v3, (const struct domain *, struct id *))                                \
	F(void, frame_submit_v3,                                                                   \
	  (const struct domain *, struct id *, unsigned long long, unsigned long long))            \
	F(unsigned long long, get_timestamp, (void))                                               \
	F(int, event_create, (const char *, int))                                                  \
	F(int, event_start, (int))                                                                 \
	F(int, event_end, (int))                                                                   \
	F(void, marker, (const struct domain *, struct id, struct string *, int))                  \
	F(void, metadata_add,                                                                      \
	  (const struct domain *, struct id, struct string *, int, size_t, void *))                \
	F(void, metadata_str_add,                                                                  \
	  (const struct domain *, struct id, struct string *, const char *, size_t))               \
	F(void, counter_inc, (void *))                                                             \
	F(void, counter_dec, (void *))                                                             \
	F(void, counter_inc_delta, (void *, unsigned long long))                                   \
	F(void, counter_dec_delta, (void *, unsigned long long))                                   \
	F(void, counter_set_value, (void *, void *))                                               \
	F(void, counter_inc_v3, (const struct domain *, struct string *))                          \
	F(void, sync_create, (void *, const char *, const char *, int))                            \
	F(void, detach, (void))

/* Functions that do something also where no library is named. */
#define ITT_STATIC_FUNCTIONS(F)                                                                    \
	F(struct domain *, domain_create, (const char *))                                          \
	F(struct string *, string_handle_create, (const char *))                                   \
	F(void *, counter_create, (const char *, const char *))                                    \
	F(void *, counter_create_typed, (const char *, const char *, int))                         \
	F(void, thread_set_name, (const char *))                                                   \
	F(void, pause, (void))                                                                     \
	F(void, resume, (void))

#define ITT_POINTER(result, name, parameters) extern result(*itt_##name) parameters;
ITT_FUNCTIONS(ITT_POINTER)
ITT_STATIC_FUNCTIONS(ITT_POINTER)
#undef ITT_POINTER

#define ITT(name, ...)                                                                             \
	(itt_##name ? itt_##name(__VA_ARGS__) : (__typeof__(itt_##name(__VA_ARGS__)))0)

/* Open the library; true where there is one that has put a function into the table. */
int itt_begin(void);

/* No calls any more. */
void itt_end(void);

/* Whether the program is paused, as far as the static part knows: a library may know better. */
extern int itt_is_paused;

#endif
