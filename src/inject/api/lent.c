/*
 * The functions of api.h in another library than libaflame.so: those that it lends. af_api_enter()
 * is that library's own.
 */
#include "inject/api/shared.h"

static const _Atomic uint8_t none[AF_API_KINDS];
const _Atomic uint8_t *af_api_hows = none;
const struct af_api_shared *af_api_lent;

/* From libaflame.so, where it is in the process. */
extern const struct af_api_shared *aflame_calls(uint32_t version)
    __attribute__((weak, visibility("default")));

void af_api_borrow(void)
{
	if (aflame_calls)
		af_api_lent = aflame_calls(AF_API_SHARED_VERSION);
}

void af_api_attach(void)
{
	if (af_api_lent)
		af_api_hows = *af_api_lent->hows;
}

void af_api_waits(struct af_api_hook *c, const void *args, size_t size)
{
	af_api_lent->waits(c, args, size);
}

void af_api_before(struct af_api_hook *c, struct af_api_before *b, const void *from, uint64_t nr,
                   uint32_t size)
{
	af_api_lent->before(c, b, from, nr, size);
}

void af_api_before_native(struct af_api_hook *c, struct af_api_before *b, const void *from,
                          uint64_t nr, const struct af_api_native *n)
{
	af_api_lent->before_native(c, b, from, nr, n);
}

void *af_api_end(struct af_api_hook *c, uint16_t kind, bool failed, size_t fixed, size_t room)
{
	return af_api_lent->end(c, kind, failed, fixed, room);
}

void af_api_done(struct af_api_hook *c)
{
	af_api_lent->done(c);
}

void af_api_tally(struct af_api_hook *c, uint16_t kind, bool failed, uint64_t bytes)
{
	af_api_lent->tally(c, kind, failed, bytes);
}

void af_api_done_trimmed(struct af_api_hook *c)
{
	af_api_lent->done_trimmed(c);
}

void af_api_put_one(struct af_api_hook *c, const void *from, uint32_t size, bool skip)
{
	af_api_lent->put_one(c, from, size, skip);
}

void af_api_put_array(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size,
                      bool skip)
{
	af_api_lent->put_array(c, from, nr, size, skip);
}

void af_api_put_zero(struct af_api_hook *c, const void *from, uint32_t size, uint32_t step)
{
	af_api_lent->put_zero(c, from, size, step);
}

void af_api_put_string(struct af_api_hook *c, const void *from, bool skip)
{
	af_api_lent->put_string(c, from, skip);
}

void af_api_put_before(struct af_api_hook *c, const struct af_api_before *b, bool one,
                       uint32_t size)
{
	af_api_lent->put_before(c, b, one, size);
}

void af_api_put_native(struct af_api_hook *c, const void *from, const struct af_api_native *n,
                       bool skip)
{
	af_api_lent->put_native(c, from, n, skip);
}

void af_api_put_natives(struct af_api_hook *c, const void *from, uint64_t nr,
                        const struct af_api_native *n, bool skip)
{
	af_api_lent->put_natives(c, from, nr, n, skip);
}

uint64_t af_api_native_at(struct af_api_hook *c, const struct af_api_native *n, const void *from,
                          uint32_t offset, uint32_t size)
{
	return af_api_lent->native_at(c, n, from, offset, size);
}

uint64_t af_api_sum(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size)
{
	return af_api_lent->sum(c, from, nr, size);
}

uint64_t af_api_at(struct af_api_hook *c, const void *from, uint32_t size)
{
	return af_api_lent->at(c, from, size);
}
