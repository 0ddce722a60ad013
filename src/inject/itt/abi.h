/*
 * ITT (Intel's Instrumentation and Tracing Technology), as far as it is used: the layouts that a
 * program's static part and its collector share (ittnotify_config.h and ittnotify.h of
 * intel/ittapi 3.18 to 3.26). No header of Intel's is needed.
 */
#ifndef AF_INJECT_ITT_ABI_H
#define AF_INJECT_ITT_ABI_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* __itt_domain and __itt_string_handle: a static part or a collector makes them. */
struct itt_domain {
	volatile int flags; /* 0: the static part makes no calls */
	const char *name;
	void *wide;
	int extra1;
	void *extra2;
	struct itt_domain *next;
};

struct itt_string {
	const char *text;
	void *wide;
	int extra1;
	void *extra2;
	struct itt_string *next;
};

/* __itt_id: by value. */
struct itt_id {
	unsigned long long d1, d2, d3;
};

/* __itt_counter_info_t: what a handle of a counter points to, where a static part made it. */
struct itt_counter_info {
	const char *name;
	void *name_wide;
	const char *domain;
	void *domain_wide;
	int type; /* enum itt_type */
	long index;
	int extra1;
	void *extra2;
	struct itt_counter_info *next;
};

/* __itt_metadata_type */
enum itt_type {
	ITT_U64 = 1,
	ITT_S64,
	ITT_U32,
	ITT_S32,
	ITT_U16,
	ITT_S16,
	ITT_FLOAT,
	ITT_DOUBLE,
};

/* __itt_collection_scope: bits */
enum { ITT_SCOPE_HOST = 1 };

#define ITT_TIME_NONE UINT64_MAX /* __itt_timestamp_none */

/* __itt_api_info of builds after 20110111. */
struct itt_api {
	const char *name;
	void **function; /* the program calls it, unless it is NULL */
	void *init;      /* its first value: begins ITT */
	void *null;      /* its value without a collector; NULL where nothing is to be called */
	unsigned group;
};

/* The beginning of __itt_global: later builds have more behind it. */
struct itt_global {
	unsigned char magic[8];
	unsigned long major, minor, build;
	volatile long begun, has_mutex, count;
	pthread_mutex_t mutex;
	void *library;
	void *error_handler;
	const char **path;
	struct itt_api *apis; /* one without a name ends them */
};

#define ITT_MAGIC "\xED\xAB\xAB\xEC\x0D\xEE\xDA\x30"

#endif
