/*
 * libaflame.so lends the functions of api.h to our other libraries in the same process, such as
 * libaflame-mpi.so. They are reached through one exported function, as libaflame.so hides its
 * symbols from the programs it is loaded into.
 */
#ifndef AF_INJECT_API_SHARED_H
#define AF_INJECT_API_SHARED_H

#include "inject/api/api.h"

/* Another number, another layout of the two structs. */
enum { AF_API_SHARED_VERSION = 1 };

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
};

/* The functions that are lent, for good; NULL where libaflame.so has another version. */
const struct af_api_shared *aflame_calls(uint32_t version);

#endif
