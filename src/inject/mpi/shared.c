/* The functions of api.h in this library: libaflame.so's. */
#include "inject/api/shared.h"

#include "inject/mpi/mpi.h"

static const _Atomic uint8_t none[AF_API_KINDS];
const _Atomic uint8_t *af_api_hows = none;
const struct af_api_shared *af_mpi_shared;
__thread uint32_t af_mpi_inside;

bool af_api_enter(struct af_api_hook *c, uint16_t kind, uint8_t how, uint64_t sp)
{
	return !af_mpi_inside && af_mpi_shared->enter(c, kind, how, sp);
}

void af_api_waits(struct af_api_hook *c, const void *args, size_t size)
{
	af_mpi_shared->waits(c, args, size);
}

void af_api_before(struct af_api_hook *c, struct af_api_before *b, const void *from, uint64_t nr,
                   uint32_t size)
{
	af_mpi_shared->before(c, b, from, nr, size);
}

void af_api_before_native(struct af_api_hook *c, struct af_api_before *b, const void *from,
                          uint64_t nr, const struct af_api_native *n)
{
	af_mpi_shared->before_native(c, b, from, nr, n);
}

void *af_api_end(struct af_api_hook *c, uint16_t kind, bool failed, size_t fixed, size_t room)
{
	return af_mpi_shared->end(c, kind, failed, fixed, room);
}

void af_api_done(struct af_api_hook *c)
{
	af_mpi_shared->done(c);
}

void af_api_tally(struct af_api_hook *c, uint16_t kind, bool failed, uint64_t bytes)
{
	af_mpi_shared->tally(c, kind, failed, bytes);
}

void af_api_done_trimmed(struct af_api_hook *c)
{
	af_mpi_shared->done_trimmed(c);
}

void af_api_put_one(struct af_api_hook *c, const void *from, uint32_t size, bool skip)
{
	af_mpi_shared->put_one(c, from, size, skip);
}

void af_api_put_array(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size,
                      bool skip)
{
	af_mpi_shared->put_array(c, from, nr, size, skip);
}

void af_api_put_zero(struct af_api_hook *c, const void *from, uint32_t size, uint32_t step)
{
	af_mpi_shared->put_zero(c, from, size, step);
}

void af_api_put_string(struct af_api_hook *c, const void *from, bool skip)
{
	af_mpi_shared->put_string(c, from, skip);
}

void af_api_put_before(struct af_api_hook *c, const struct af_api_before *b, bool one,
                       uint32_t size)
{
	af_mpi_shared->put_before(c, b, one, size);
}

void af_api_put_native(struct af_api_hook *c, const void *from, const struct af_api_native *n,
                       bool skip)
{
	af_mpi_shared->put_native(c, from, n, skip);
}

void af_api_put_natives(struct af_api_hook *c, const void *from, uint64_t nr,
                        const struct af_api_native *n, bool skip)
{
	af_mpi_shared->put_natives(c, from, nr, n, skip);
}

uint64_t af_api_native_at(struct af_api_hook *c, const struct af_api_native *n, const void *from,
                          uint32_t offset, uint32_t size)
{
	return af_mpi_shared->native_at(c, n, from, offset, size);
}

uint64_t af_api_sum(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size)
{
	return af_mpi_shared->sum(c, from, nr, size);
}

uint64_t af_api_at(struct af_api_hook *c, const void *from, uint32_t size)
{
	return af_mpi_shared->at(c, from, size);
}
