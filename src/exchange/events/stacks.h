/*
 * Samples of a file in the Trace Event Format: `samples`, a list with the time, the thread and the
 * innermost frame of each, and `stackFrames`, which has the name and the parent of each frame. The
 * file has them in either order.
 *
 *	{ import_stacks_frames | import_stacks_samples }* → import_stacks_finish
 */
#ifndef AF_EXCHANGE_EVENTS_STACKS_H
#define AF_EXCHANGE_EVENTS_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/strtab.h"
#include "exchange/source/json.h"

struct af_builder;

struct import_stacks {
	struct af_strtab ids; /* of frames, as text */
	struct import_stack_frame {
		uint32_t name, parent,
		    node; /* name of the builder; parent of ids; node 0: not made */
	} * frames;
	struct import_stack_sample {
		uint64_t ns, weight;
		uint32_t tid, cpu, frame; /* frame of ids */
	} * samples;
	uint64_t nr, cap;
	uint32_t nr_frames, cap_frames;
	struct af_map by_id; /* of ids → index in frames */
};

/*
 * Read the value that follows in @j. False: an error of @j. Entries without necessary members are
 * counted.
 */
bool import_stacks_frames(struct import_stacks *s, struct af_json *j, struct af_builder *d);
bool import_stacks_samples(struct import_stacks *s, struct af_json *j, struct af_builder *d);

/*
 * Turn the samples into samples of the threads of @space with their tids, and forget them; a tid
 * that no thread has gets a process of its own. A sample weighs the usual distance between two
 * samples of its thread. Returns whether there were any.
 */
bool import_stacks_finish(struct import_stacks *s, struct af_builder *d, uint32_t space);

#endif
