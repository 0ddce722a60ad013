/*
 * The annotation context of threads, from NVTX (RANGE): which ranges are open on a thread, so that
 * its events can be told apart by them, and to which forward operation autograd's backward
 * functions go back (OPERATION).
 *
 *	{ af_annotations_event | af_annotations_follow | af_annotations_now }*
 *	→ af_annotations_names, af_annotations_forward → af_annotations_free
 *
 * Only ranges that nest on a thread count (PUSH and POP); a POP ends the latest of its domain.
 * Ranges beyond the bounds below are left out.
 *
 * PyTorch's emit_nvtx() makes a range "NAME, seq = N" for every operation in a forward pass. The
 * operation of a backward function is the latest with its N, a number of the process's thread. The
 * function runs inside "autograd::engine::evaluate_function: F", as "F, seq = N", and everything in
 * there belongs to it. The names here are without the numbers, which would make a frame of each
 * call.
 */
#ifndef AF_ANALYSE_WORLD_ANNOTATIONS_H
#define AF_ANALYSE_WORLD_ANNOTATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/strtab.h"

struct af_event;
struct af_world;

enum {
	AF_ANNOTATIONS_DEEP = 64,      /* frames of ranges, the outermost */
	AF_ANNOTATIONS_OPEN = 1 << 10, /* of a thread, that are followed to their end */
	/* Ranges within ranges, by name, and with what they go back to */
	AF_ANNOTATIONS_NESTS = 1 << 20,
	AF_ANNOTATIONS_SEQUENCES = 1 << 17, /* of a process: the latest ones */
	AF_ANNOTATIONS_PROCESSES = 1 << 10, /* with sequences */
};

/* A range within ranges, by names. */
struct af_nest {
	uint32_t parent, name; /* name: of af_ranges.names */
	uint32_t depth;
	bool inside; /* of a range called af_ranges.only */
};

/* The context of a thread: 0 is none. */
struct af_doing {
	uint32_t nest;    /* 0 when ranges are not told apart */
	uint32_t forward; /* call path of the world: of the forward operation, or 0 */
};

struct af_annotations {
	bool apart;       /* set before the first event by a caller that wants ranges told apart */
	const char *only; /* only events inside a range of this name; NULL: anywhere */
	/* Set before the first event: every context is kept, for parts of the trace. */
	bool keeps;
	/*
	 * In a part of the trace, whose other members are those of the whole: by thread, how many
	 * contexts it has reached. NULL: threads are in their latest ones.
	 */
	uint32_t *reached;

	/* private */
	struct af_strtab names;
	struct af_nest *nests;
	struct af_doing *annotations;
	struct annotations_thread *threads;
	struct annotations_sequences *sequences;
	uint32_t nr_nests, cap_nests, nr_annotations, cap_annotations, nr_threads, cap_threads,
	    nr_sequences, cap_sequences;
	struct af_map by_nest, by_doing, by_thread, by_process;
};

/* A zeroed struct is empty. */
void af_annotations_free(struct af_annotations *r);

/* RANGE and OPERATION, in order of time; @w has seen all before. */
void af_annotations_event(struct af_annotations *r, const struct af_world *w,
                          const struct af_event *ev);

/*
 * The number of contexts of each thread so far, for a reader that begins here; the caller frees it.
 * @nr gets the number of threads; later ones have none.
 */
uint32_t *af_annotations_reached(const struct af_annotations *r, uint32_t *nr);

/* The same for a part, whose r->reached is set: @ev, a RANGE, is known from the whole trace. */
void af_annotations_follow(struct af_annotations *r, const struct af_event *ev);

/* The thread's current context, as a number; in most traces no thread has one. */
uint32_t af_annotations_of(const struct af_annotations *r, uint32_t process, uint32_t tid);
static inline uint32_t af_annotations_now(const struct af_annotations *r, uint32_t process,
                                          uint32_t tid)
{
	return r->nr_threads ? af_annotations_of(r, process, tid) : 0;
}

/* The nest and the call path of such a number. */
struct af_doing af_annotations_get(const struct af_annotations *r, uint32_t doing);

/* Is it inside the requested range? */
bool af_annotations_inside(const struct af_annotations *r, uint32_t doing);

/* The names of a nest, outermost first; returns their number. */
uint32_t af_annotations_names(const struct af_annotations *r, uint32_t nest,
                              const char *names[AF_ANNOTATIONS_DEEP]);

#endif
