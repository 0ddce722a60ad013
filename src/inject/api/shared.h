/*
 * libaflame.so lends the functions of api.h to our other libraries in the same process, such as
 * libaflame-mpi.so. They are reached through one exported function, as libaflame.so hides its
 * symbols from the programs it is loaded into.
 */
#ifndef AF_INJECT_API_SHARED_H
#define AF_INJECT_API_SHARED_H

#include "inject/api/api.h"

struct af_annotation;

/* Another number, another layout of the two structs. */
enum { AF_API_SHARED_VERSION = 3 };

/*
 * The function that stands in for the function @name of a loader, which the program has looked up
 * and found at @found; NULL: there is none. With @found NULL nothing was looked up yet.
 */
typedef void *af_api_stand_in(const char *name, void *found);

/* libaflame-ze.so has set it, where that is in the process; else it is NULL. */
extern _Atomic(af_api_stand_in *) af_api_stands_in;

/* Each member does what the function of api.h does that has its name. */
struct af_api_shared {
	const _Atomic uint8_t *const *hows; /* what af_api_how() looks at */
	bool (*enter)(struct af_api_hook *c, uint16_t kind, uint8_t how, uint64_t sp);
	void (*waits)(struct af_api_hook *c, const void *args, size_t size);
	void (*before)(struct af_api_hook *c, struct af_api_before *b, const void *from,
	               uint64_t nr, uint32_t size);
	void (*before_native)(struct af_api_hook *c, struct af_api_before *b, const void *from,
	                      uint64_t nr, const struct af_api_native *n);
	void *(*end)(struct af_api_hook *c, uint16_t kind, bool failed, size_t fixed, size_t room);
	void (*done)(struct af_api_hook *c);
	void (*done_trimmed)(struct af_api_hook *c);
	void (*tally)(struct af_api_hook *c, uint16_t kind, bool failed, uint64_t bytes);
	void (*put_one)(struct af_api_hook *c, const void *from, uint32_t size, bool skip);
	void (*put_array)(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size,
	                  bool skip);
	void (*put_zero)(struct af_api_hook *c, const void *from, uint32_t size, uint32_t step);
	void (*put_string)(struct af_api_hook *c, const void *from, bool skip);
	void (*put_before)(struct af_api_hook *c, const struct af_api_before *b, bool one,
	                   uint32_t size);
	void (*put_native)(struct af_api_hook *c, const void *from, const struct af_api_native *n,
	                   bool skip);
	void (*put_natives)(struct af_api_hook *c, const void *from, uint64_t nr,
	                    const struct af_api_native *n, bool skip);
	uint64_t (*native_at)(struct af_api_hook *c, const struct af_api_native *n,
	                      const void *from, uint32_t offset, uint32_t size);
	uint64_t (*sum)(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size);
	uint64_t (*at)(struct af_api_hook *c, const void *from, uint32_t size);
	void (*note)(const char *key, const char *value); /* af_inject_note() */
	_Atomic(af_api_stand_in *) *stand_in;             /* af_api_stands_in */
	bool (*range)(const struct af_annotation *a);     /* af_range_put() */
};

/* The functions that are lent, for good; NULL where libaflame.so has another version. */
const struct af_api_shared *aflame_calls(uint32_t version);

/*
 * In the library that borrows (lent.c): what is lent, NULL before af_api_borrow() or where
 * libaflame.so is not in the process. Called only where af_api_begin() was true.
 */
extern const struct af_api_shared *af_api_lent;
void af_api_borrow(void);

/* Look at what is recorded now: once libaflame.so has attached to the session. */
void af_api_attach(void);

#endif
