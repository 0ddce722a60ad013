#include "batch/batch.h"

#include <stdbool.h>

#define AF_BATCH_READ(reader, address, to, bytes)                                                  \
	(reader)->read((reader)->arg, (address), (to), (bytes))

#include "batch/walk.h"

uint32_t af_batch_walk(struct af_batch_walk *walk, uint32_t version, uint64_t address,
                       struct af_batch_reader *reader, const struct af_batch_taker *taker)
{
	af_batch_begin(walk, version, address);
	bool goes_on = true;
	while (goes_on) {
		goes_on = af_batch_next(walk, reader);
		for (uint32_t i = 0; taker && i < walk->nr_kernels; i++)
			taker->take(taker->arg, &walk->kernels[i]);
	}
	return walk->stop;
}

const char *af_batch_stop_name(uint32_t stop)
{
	static const char *const names[] = {
	    [AF_BATCH_END] = "end",
	    [AF_BATCH_LOOP] = "loop",
	    [AF_BATCH_UNREADABLE] = "unreadable",
	    [AF_BATCH_UNWRITTEN] = "unwritten",
	    [AF_BATCH_UNKNOWN] = "unknown command",
	    [AF_BATCH_TOO_LONG] = "too long",
	    [AF_BATCH_GLOBAL] = "global address",
	    [AF_BATCH_INDIRECT] = "indirect address",
	};

	return stop < sizeof names / sizeof *names && names[stop] ? names[stop] : "?";
}

const char *af_batch_kind_name(uint32_t kind)
{
	static const char *const names[] = {
	    [AF_BATCH_COMPUTE] = "compute",   [AF_BATCH_VERTEX] = "vertex",
	    [AF_BATCH_HULL] = "hull",         [AF_BATCH_DOMAIN] = "domain",
	    [AF_BATCH_GEOMETRY] = "geometry", [AF_BATCH_PIXEL] = "pixel",
	    [AF_BATCH_SYSTEM] = "system",
	};

	return kind < sizeof names / sizeof *names && names[kind] ? names[kind] : "?";
}
