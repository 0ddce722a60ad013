/*
 * Joins samples of device instructions to the device work that was sampled, for every pass alike.
 *
 *	{ af_attribution_event | af_attribution_work | af_attribution_host_sample }*
 *	    → af_attribution_end → read → af_attribution_free
 *
 * A sample says which instruction of which code ran, not who launched it. The device took it within
 * a window of time, so it belongs to the kernels of the code's name that the device ran in that
 * window. A function that kernels call belongs to the kernels of its object. The join is exact
 * where all of these kernels have one call path and one node of a graph, and where the driver ran
 * one kernel at a time and gave the number of its launch. Otherwise the join apportions samples by
 * the kernels' busy time within the window. Samples that find no kernel are kept and counted as
 * unattributed.
 *
 * Records of work, of code and of windows come late. Windows are held for AF_ATTRIBUTION_LATE_NS
 * before they are joined. Their samples that then find nothing wait on, for a kernel that runs that
 * long or for a definition, until the end or until AF_ATTRIBUTION_HELD samples are held.
 *
 * Where a time range is asked for (within.h), all windows are joined as usual. Of the samples of a
 * code in one window, the part counts that the kernels' time in the range is of their time in the
 * window: all samples of a window inside the range, and a part of those of a window that the range
 * cuts (`edge` adds up these parts). Samples of no work count by the window's own time. Samples
 * stay whole, so the samples of adjacent ranges add up to all, instruction by instruction. Windows
 * that no event defines are in no range.
 *
 * Samples of addresses (ADDRESS_SAMPLE) tell neither process nor code. They belong to the code of
 * any process that lay there within the window, on that device, and that ran: exactly where it is
 * one, else by busy time of all (`shared`). Code of which it is known only later that it lies there
 * has them, too: samples that find nothing wait for it until the end, in windows that become longer
 * the more of them there are. Those of no code have the address as their offset.
 *
 * Of works without times of the device, those have samples that were asked for in the window; at
 * the end, whatever their kernel was launched for. Their shares are by number (`by_launches`).
 *
 * Where samples are kept apart by intervals, each interval has sums of its own. Once there are too
 * many of them, two and two intervals become one.
 *
 * A sample is divided into AF_ATTRIBUTION_PARTS, so that sums are exact: the parts of all launch
 * groups add up to all samples of the trace, and so do the parts of each instruction.
 */
#ifndef AF_ANALYSE_ATTRIBUTION_ATTRIBUTION_H
#define AF_ANALYSE_ATTRIBUTION_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "trace/layout.h"

struct af_code_names;
struct af_event;
struct af_work;
struct af_world;

#define AF_ATTRIBUTION_LATE_NS 15000000000ull
/*
 * A kernel that ran near the window, but not in it, may have been sampled all the same: clocks are
 * off, and drivers hand over late. Near is as far as the window is long, within these limits.
 */
#define AF_ATTRIBUTION_NEAR_NS 10000000ull
#define AF_ATTRIBUTION_NEAR_MOST_NS 2000000000ull

enum {
	AF_ATTRIBUTION_PARTS = 1 << 20, /* of a sample */
	AF_ATTRIBUTION_HELD = 1 << 22,  /* counts of samples that are held at most */
	/* Works that are held; of more, the earlier ones are joined sooner */
	AF_ATTRIBUTION_WORKS = 1 << 21,
};

/*
 * Works are one launch group when all of this is equal. Indexes of the world, but for the device.
 */
struct af_launch_group_key {
	uint32_t process, device;
	uint32_t path, function, doing; /* of the call: see struct af_work */
	uint32_t node;
	uint32_t op, kernel, queue; /* of the descriptor, as the process numbers them */
	uint32_t matched;           /* 1: the call was found by time only */
};

/* The launch group that @work belongs to; its descriptor is known. */
struct af_launch_group_key af_launch_group_key(const struct af_world *w,
                                               const struct af_work *work);

struct af_launch_group {
	struct af_launch_group_key is;
	/*
	 * False for one launch group of each device, which has the samples that belong to no work.
	 * Of its key only process and device are set; 0 for the device where that is not known.
	 */
	bool recorded;
	uint32_t name;           /* of the kernel, as in the object: string of the world */
	uint64_t count, time_ns; /* of its works, since samples began */

	/* After af_attribution_end: its samples are found[first] to found[first + nr - 1]. */
	uint32_t first, nr;
	uint64_t parts;
};

/* Samples of one instruction with one reason, in the works of one launch group, and an interval. */
struct af_attributed {
	uint32_t launch_group;
	uint32_t code;   /* of w->codes, 0 not known */
	uint32_t stall;  /* of w->stalls, never one of NOT_ISSUED that has a namesake; 0 none */
	uint64_t offset; /* bytes from the code's first; of a code without name, an address */
	uint64_t parts, exact_parts; /* all of them; the part that was not apportioned */
	uint64_t samples;       /* the same as whole samples, which add up over all launch groups */
	uint64_t latency_parts; /* part of these in which nothing was issued meanwhile */
	uint64_t time_ns;       /* its share of the launch group's device time, by samples */
	uint32_t interval;      /* 0 unless they are kept apart */
};

/* The sample counts of a device, and how they were joined; in whole samples. */
struct af_sampled_device {
	uint32_t process, device;
	uint64_t windows, full_windows, serialized_windows;
	uint64_t period_cycles; /* of the latest window */
	/* all, by the device's count: the next four, and those that the trace lost */
	uint64_t samples;
	uint64_t exact, apportioned, unattributed;
	uint64_t by_launches; /* apportioned by launches: the driver gave no times of the kernels */
	uint64_t shared;      /* apportioned: at addresses where code of several processes lies */
	/* Part of these three: from windows that cross the ends of the time range */
	uint64_t edge;
	uint64_t dropped; /* by the device: its buffer was full */
	uint64_t other;   /* in the driver's own code */
	/*
	 * In the sum of all devices, for a time range: the time that kernels ran in it, and the
	 * part of it without samples.
	 */
	uint64_t ran_ns, bare_ns;
};

/* A sample of a CPU that runs kernels, because the device is the host. */
struct af_host_sample {
	uint32_t process, device;
	uint32_t code;   /* of w->codes: see af_world_code_make() */
	uint32_t kernel; /* its name, a string of the world; 0: the kernel that ran then */
	uint64_t offset;
	uint64_t time_ns;
};

enum { AF_SAMPLED_TEXT = 512 };

/* A sentence on how the samples of @d were joined; false when there are none. */
bool af_sampled_text(char text[AF_SAMPLED_TEXT], const struct af_sampled_device *d);

/*
 * Is the device numbered @device of @process the one that the recorder numbers @sampled? By PCI
 * address, else by UUID; where these do not tell, if only one GPU was sampled.
 */
bool af_sampled_device_is(const struct af_world *w, uint32_t sampled, uint32_t process,
                          uint32_t device);

/* The interval of @apart_ns since the trace began in which a window that ends at @time_ns is. */
uint32_t af_attribution_interval(const struct af_world *w, uint64_t time_ns, uint64_t apart_ns);

struct af_attribution {
	/* Tells which functions a kernel may call. Set it before anything else; NULL: not known. */
	struct af_code_names *names;
	/*
	 * Not 0: samples are kept apart by intervals since the trace began, a window's in the one
	 * in which it ended. Set it before anything else. At the end it may have been doubled.
	 */
	uint64_t apart_ns;

	/* Read after af_attribution_end. */
	struct af_launch_group *launch_groups;
	struct af_attributed *found; /* by launch group, code, interval, offset, stall */
	struct af_sampled_device *devices;
	uint32_t nr_launch_groups, nr_found, nr_devices;
	/* Works whose times cannot be converted: their samples are unattributed */
	uint64_t unplaced;

	/* private */
	struct attribution_private *private_;
};

#define AF_ATTRIBUTION_WANTS                                                                       \
	(1ull << AF_KIND_STALL | 1ull << AF_KIND_CODE | 1ull << AF_KIND_GPU_WINDOW |               \
	 1ull << AF_KIND_GPU_SAMPLE | 1ull << AF_KIND_LATE_BIT | 1ull << AF_KIND_MOMENT_BIT)

/* Events in order of time, after the world has seen them. */
void af_attribution_event(struct af_attribution *a, const struct af_world *w,
                          const struct af_event *ev);

/* Samples will come, perhaps later than their work. */
void af_attribution_expect(struct af_attribution *a);

/* Has any event of samples come? Until then it need not be given work. */
static inline bool af_attribution_active(const struct af_attribution *a)
{
	return a->private_ != NULL;
}

/* A work as launches.h hands it over; needs w->clocks. */
void af_attribution_work(struct af_attribution *a, const struct af_world *w,
                         const struct af_work *work);

/* A sample of a CPU that ran device code; @s is copied. */
void af_attribution_host_sample(struct af_attribution *a, const struct af_world *w,
                                const struct af_host_sample *s);

/* No more will come: joins everything, and sorts the results. */
void af_attribution_end(struct af_attribution *a, const struct af_world *w);

/* A zeroed struct is empty. */
void af_attribution_free(struct af_attribution *a);

/* The index of the launch group, -1 when it had no work since samples began. */
int64_t af_attribution_group(const struct af_attribution *a, const struct af_launch_group_key *is);

/*
 * The share of @whole for @parts of @all, when @before parts had theirs: consecutive shares add up
 * to @whole exactly.
 */
static inline uint64_t af_attribution_share(uint64_t whole, uint64_t before, uint64_t parts,
                                            uint64_t all)
{
	if (!all || before >= all)
		return 0;
	uint64_t end = parts < all - before ? before + parts : all;
	return (uint64_t)((unsigned __int128)whole * end / all) -
	       (uint64_t)((unsigned __int128)whole * before / all);
}

#endif
